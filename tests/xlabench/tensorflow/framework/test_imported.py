"""Graphs of files in graphs that are being built: as TensorFlow 1 writes them, in scopes, with other inputs."""

import numpy as np
import pytest
from graph_nodes import FLOAT, INT, const, node, placeholder

import xlabench.tensorflow as tf
from compiler.graph import AttributeList, Graph, PartialShape, to_binary

pytest.importorskip("google.protobuf", reason="protobuf is not installed")
pytestmark = pytest.mark.usefixtures("graph")
PLAIN = [placeholder("x"), const("two", 2, np.float32), node("y", "Mul", "x", "two", T=FLOAT)]
_LOOP = {"T": INT, "frame_name": b"loop"}
LOOP = [
    const("zero", 0),
    node("enter", "Enter", "zero", **_LOOP),
    node("merge", "Merge", "enter", "next", T=INT, N=2),
    const("limit", 5),
    node("limit/Enter", "Enter", "limit", is_constant=True, **_LOOP),
    node("less", "Less", "merge", "limit/Enter", T=INT),
    node("test", "LoopCond", "less"),
    node("switch", "Switch", "merge", "test", T=INT),
    node("step", "Add", "switch:1", "switch:1", T=INT),
    const("one", 1),
    node("one/Enter", "Enter", "one", is_constant=True, **_LOOP),
    node("sum", "Add", "step", "one/Enter", T=INT),
    node("next", "NextIteration", "sum", T=INT),
    node("exit", "Exit", "switch", T=INT),
]


def definition(nodes):
    return tf.GraphDef.FromString(to_binary(Graph(list(nodes))))


def test_nodes_stand_in_the_scope_import_and_give_what_is_asked():
    y, op = tf.import_graph_def(definition(PLAIN), return_elements=["y:0", "x"])
    assert (y.name, op.name) == ("import/y:0", "import/x")
    with tf.Session() as session:
        assert session.run(y, {"import/x:0": 4}) == 8


def test_what_is_given_takes_the_place_of_an_input():
    given = tf.constant(5.0)
    [y] = tf.import_graph_def(definition(PLAIN), {"x": given}, ["y:0"], name="")
    assert (y.name, y.op.inputs[0]) == ("y:0", given)
    with tf.Session() as session:
        assert session.run(y) == 10


def test_loops_of_frames_run():
    [found] = tf.import_graph_def(definition(LOOP), return_elements=["exit:0"])
    with tf.Session() as session:
        assert session.run(found) == 7


def test_an_op_without_a_record_is_in_the_way_of_those_only_who_need_it():
    nodes = [node("image", "DecodeJpeg", "file"), placeholder("file"), node("y", "Neg", "image", T=FLOAT)]
    tf.import_graph_def(definition(nodes), name="")
    with tf.Session() as session:
        assert session.run("y:0", {"image:0": np.float32(3)}) == -3
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="No OpKernel was registered to support Op 'DecodeJpeg'"
        ):
            session.run("y:0", {"file:0": np.float32(3)})


def test_what_is_beside_moves_with_it():
    nodes = [*PLAIN, node("z", "Neg", "x", "^y", T=FLOAT, _class=AttributeList("s", (b"loc:@x",)))]
    [z] = tf.import_graph_def(definition(nodes), return_elements=["z"], name="a")
    assert [one.name for one in z.control_inputs] == ["a/y"]
    assert z.get_attr("_class") == [b"loc:@a/x"]


def test_a_graph_is_the_same_after_it_was_written_and_imported():
    tf.import_graph_def(definition([*PLAIN, *LOOP]), name="")
    written = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default() as again:
        tf.import_graph_def(written, name="")
        assert {one.name: one for one in again.as_graph_def().node} == {one.name: one for one in written.node}


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"graph_def": 5}, TypeError, "must be a GraphDef proto, not int"),
        ({"input_map": {"nothing": 1}}, TypeError, "Can not convert a int into a Tensor"),
        ({"return_elements": ["nothing"]}, ValueError, "return_elements names 'nothing', which is not in graph_def"),
        ({"graph_def": [node("y", "Neg", "x", T=FLOAT)]}, ValueError, "'x'"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, error, said):
    given = arguments.get("graph_def", PLAIN)
    given = definition(given) if isinstance(given, list) else given
    with pytest.raises(error, match=said):
        tf.import_graph_def(**{**arguments, "graph_def": given})


def test_a_name_that_is_taken_is_refused():
    tf.import_graph_def(definition(PLAIN), name="")
    with pytest.raises(ValueError, match="Node name 'x' already exists in the Graph"):
        tf.import_graph_def(definition(PLAIN), name="")


def test_shapes_follow_from_placeholders():
    nodes = [node("x", "Placeholder", dtype=FLOAT, shape=PartialShape((None, 3))), node("y", "Neg", "x", T=FLOAT)]
    [y] = tf.import_graph_def(definition(nodes), return_elements=["y:0"])
    assert y.shape.as_list() == [None, 3]
