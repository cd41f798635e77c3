"""SavedModels: graph, signatures, and which tensor of the checkpoint is whose value, as both releases write it."""

import numpy as np
import pytest
from graphs import FIRST, SECOND, VALUE, meta, write_model

import compiler
from compiler import graph as tf

pytest.importorskip("google.protobuf", reason="protobuf is not installed")


@pytest.mark.parametrize("name", tf.MODEL_FILES)
@pytest.mark.parametrize("graph", [FIRST, SECOND], ids=["first", "second"])
def test_a_model_is_read_with_its_signatures_and_variables(tmp_path, graph, name):
    folder = write_model(tmp_path / "m", meta(graph), name)
    for path in (folder, folder / name):
        assert tf.is_saved_model(path)
        model = tf.read_saved_model(path)
        assert (model.tags, model.made_by, dict(model.keys)) == (("serve",), "2.21.0", {"w": "kernel"})
        np.testing.assert_array_equal(model.variable("w"), VALUE)
        signature = model.signatures["serving_default"]
        assert signature.method == "predict"
        assert str(signature.inputs["x"]) == str(signature.inputs["x"])
        port = signature.inputs["x"]
        assert (port.name, str(port.type), str(port.shape)) == ("x:0", "float32", "[?,2]")
        assert signature.outputs["y"].shape.dims is None
        assert model.graph.node("x").op == "Placeholder"


def test_a_variable_that_nothing_restores_is_said(tmp_path):
    model = tf.read_saved_model(write_model(tmp_path / "m", meta(FIRST)))
    with pytest.raises(compiler.InputError, match="no value is restored for a variable 'v'"):
        model.variable("v")


def test_what_is_several_tensors_does_not_keep_a_model_from_being_read(tmp_path):
    for kind in ('coo_sparse { values_tensor_name: "v:0" }', 'composite_tensor { components { name: "v:0" } }'):
        text = meta(FIRST).replace('name: "x:0"', kind)
        signature = tf.read_saved_model(write_model(tmp_path / kind[:3], text)).signatures["serving_default"]
        assert (signature.several, list(signature.inputs), list(signature.outputs)) == (("x",), [], ["y"])
        assert b"v:0" in signature.rest


def test_of_several_graphs_the_tags_choose(tmp_path):
    both = meta(FIRST) + meta(SECOND, "tags: 'serve' tags: 'tpu'")
    folder = write_model(tmp_path / "m", both)
    assert tf.read_saved_model(folder, ["tpu", "serve"]).graph.functions
    assert not tf.read_saved_model(folder, ["serve"]).graph.functions
    for tags in ([], ["tpu"]):
        with pytest.raises(compiler.InputError, match=r"no graph has exactly the tags .*there are: serve; serve,tpu"):
            tf.read_saved_model(folder, tags)


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("", compiler.InputError, "it holds no graph"),
        (meta('node { name: "a" op: "B" input: "c" }'), compiler.VerifyError, "no node is named 'c'"),
        (meta("").replace("size: 2", "size: -3"), compiler.InputError, "'x': a shape has the size -3"),
    ],
)
def test_what_makes_no_sense_is_said(tmp_path, text, error, said):
    with pytest.raises(error, match=f"(?s)saved_model.pb.*{said}"):
        tf.read_saved_model(write_model(tmp_path / "m", text))


def test_a_folder_without_a_model_is_said(tmp_path):
    with pytest.raises(compiler.InputError, match=r"the folder has none of saved_model\.pb and"):
        tf.read_saved_model(tmp_path)


def test_identities_around_each_other_end():
    graph = tf.Graph(
        [
            tf.Node("a", "Identity", ("b",)),
            tf.Node("b", "Identity", ("a",)),
            tf.Node("assign", "Assign", ("a", "b")),
        ]
    )
    savedmodel = pytest.importorskip("compiler.graph.savedmodel")
    assert not dict(savedmodel.restored(graph))
