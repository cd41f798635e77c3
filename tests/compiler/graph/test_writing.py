"""SavedModels written back: what was read is there again, to the byte, and variables may have other values."""

import numpy as np
import pytest
from graphs import FIRST, SECOND, VALUE, meta, write_model

import compiler
from compiler import graph as tf

pytest.importorskip("google.protobuf", reason="protobuf is not installed")


@pytest.mark.parametrize("graph", [FIRST, SECOND], ids=["first", "second"])
def test_what_is_written_is_what_was_read(tmp_path, graph):
    folder = write_model(tmp_path / "m", meta(graph), tf.MODEL_FILES[0])
    model = tf.read_saved_model(folder)
    tf.write_saved_model(model, tmp_path / "again")
    again = tf.read_saved_model(tmp_path / "again")
    assert again.graph.nodes == model.graph.nodes
    assert again.graph.functions == model.graph.functions
    assert (again.signatures, again.tags, again.made_by) == (model.signatures, model.tags, model.made_by)
    assert (again.keys, again.rest, again.info_rest) == (model.keys, model.rest, model.info_rest)
    data = "variables/variables.data-00000-of-00001"
    assert (tmp_path / "again" / data).read_bytes() == (folder / data).read_bytes()


def test_inputs_that_are_several_tensors_are_written_as_they_were_read(tmp_path):
    text = meta(FIRST).replace('name: "x:0"', 'coo_sparse { values_tensor_name: "v:0" }')
    model = tf.read_saved_model(write_model(tmp_path / "m", text))
    tf.write_saved_model(model, tmp_path / "again")
    assert tf.read_saved_model(tmp_path / "again").signatures == model.signatures
    assert model.signatures["serving_default"].several == ("x",)


def test_variables_have_the_values_that_are_given(tmp_path):
    model = tf.read_saved_model(write_model(tmp_path / "m", meta(FIRST)))
    tf.write_saved_model(model, tmp_path / "again", {"w": VALUE + 1})
    np.testing.assert_array_equal(tf.read_saved_model(tmp_path / "again").variable("w"), VALUE + 1)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"v": VALUE}, "for a variable 'v'"),
        ({"w": VALUE[:1]}, "variable 'w' is"),
        ({"w": VALUE.astype("i4")}, "not int32"),
    ],
)
def test_values_that_do_not_fit_are_said(tmp_path, values, said):
    model = tf.read_saved_model(write_model(tmp_path / "m", meta(FIRST)))
    with pytest.raises(compiler.InputError, match=said):
        tf.write_saved_model(model, tmp_path / "again", values)


def test_what_is_there_is_not_written_over(tmp_path):
    folder = write_model(tmp_path / "m", meta(FIRST))
    with pytest.raises(compiler.InputError, match="it is there already"):
        tf.write_saved_model(tf.read_saved_model(folder), folder)
