"""Slices of clusters get static shapes: the cases of TensorFlow's increase_dynamism_for_auto_jit_pass_test."""

import numpy as np
import pytest
from cluster_graphs import SETTLED, graph_of

import xlabench.tensorflow as tf
from compiler.graph import parse_graph, tensor_of, to_binary, to_text, verify
from compiler.jit import Options, cluster_of, optimize, parse_flags
from compiler.jit.increase_dynamism import increase_dynamism

INSIDE = "{_XlaCluster=cluster_0}"
HOST = "/job:localhost/replica:0/task:0/device:CPU:0"
GRAPH = f"""
    x = Placeholder() on /gpu:0
    go = Placeholder()
    size = Const(^go) {{dtype=INDEX}}
    known = Const() {{dtype=INDEX, value=[1 1]}}
    begin = Placeholder() {{dtype=INDEX}}
    other = Placeholder() {{dtype=INDEX}}
    s = Slice(x, begin, size, ^go) {{Index=INDEX, _XlaCluster=cluster_0}} on /gpu:0
    u = Neg(s) {INSIDE}
    w = NoOp(^s)
    end = Stop(u)
"""
PREFIX = "s/static_shaped_slice/"


def _graph(sizes, index="int32", *changes):
    text = GRAPH.replace("INDEX", index)
    for before, after in changes:
        text = text.replace(before, after)
    graph = graph_of(text)
    graph.node("size").attributes["value"] = tensor_of(np.array(sizes, index))
    return graph


def _rewritten(*of):
    graph = _graph(*of)
    increase_dynamism(graph, Options())
    verify(graph)
    return {node.name: node for node in graph.nodes}


def test_what_is_left_is_computed_on_the_host():
    nodes = _rewritten([-1, 500])
    made = {name.removeprefix(PREFIX): node for name, node in nodes.items() if name.startswith(PREFIX)}
    assert {name: (node.op, *(text.removeprefix(PREFIX) for text in node.inputs)) for name, node in made.items()} == {
        "begin_s64": ("Cast", "begin"),
        "input_shape": ("Shape", "x"),
        "const_0": ("Const", "^go"),
        "const_1": ("Const", "^go"),
        "const_500": ("Const", "^go"),
        "begin_0": ("Slice", "begin_s64", "const_0", "const_1"),
        "input_shape_0": ("Slice", "input_shape", "const_0", "const_1"),
        "slice_size_0": ("Sub", "input_shape_0", "begin_0"),
        "concat_axis": ("Const", "^go"),
        "slice_size": ("ConcatV2", "slice_size_0", "const_500", "concat_axis"),
        "static_shaped_slice": ("Slice", "x", "begin_s64", "slice_size", "^go"),
    }
    assert {node.device for name, node in made.items() if name != "static_shaped_slice"} == {HOST}
    assert made["static_shaped_slice"].device == "/gpu:0"
    assert {cluster_of(node) for node in made.values()} == {"cluster_0"}
    assert made["static_shaped_slice"].attributes["_XlaCompileTimeConstantInputs"].values == (b"size",)
    assert (nodes["u"].inputs, nodes["w"].inputs) == (
        (f"{PREFIX}{'static_shaped_slice'}",),
        (f"^{PREFIX}static_shaped_slice",),
    )


@pytest.mark.parametrize(
    ("sizes", "index", "without"),
    [([-1], "int32", "ConcatV2"), ([-1, 500], "int64", "Cast"), ([2, 500], "int64", "Sub"), ([], "int64", "Shape")],
)
def test_only_what_is_needed_is_made(sizes, index, without):
    nodes = _rewritten(sizes, index)
    assert f"{PREFIX}static_shaped_slice" in nodes
    assert without not in {node.op for name, node in nodes.items() if name.startswith(PREFIX)}


@pytest.mark.parametrize(
    ("sizes", "change"),
    [
        ([-8, 500], ("", "")),
        ([[-1], [500]], ("", "")),
        ([-1, 500], ("INDEX, _XlaCluster=cluster_0", "INDEX")),
        ([-1, 500], ("begin, size", "begin, other")),
        ([-1, 500], ("begin, size", "known, size")),
    ],
    ids=["InvalidSlice", "IndicesNotVector", "UnclusteredSlice", "NonConstSize", "ConstBegin"],
)
def test_other_slices_stay(sizes, change):
    change = tuple(one.replace("INDEX", "int32") for one in change)
    assert "s" in _rewritten(sizes, "int32", change)


def test_slices_of_slices_take_what_those_became():
    more = "    t = Slice(s, begin, size) {Index=int32, _XlaCluster=cluster_0}\n"
    nodes = _rewritten([-1, 2], "int32", ("    u =", f"{more}    u ="))
    assert nodes["t/static_shaped_slice/static_shaped_slice"].inputs[0] == f"{PREFIX}static_shaped_slice"
    assert nodes["t/static_shaped_slice/input_shape"].inputs == (f"{PREFIX}static_shaped_slice",)


def test_the_beginning_is_part_of_a_signature():
    graph = _graph([-1, 2], "int32", (", _XlaCluster=cluster_0", ""), (f" {INSIDE}", ""), (" on /gpu:0", ""))
    built = optimize(graph, parse_flags(SETTLED), Options()).graph
    (call,) = (node for node in built.nodes if node.op == "_XlaCompile")
    assert [str(one) for one in call.attributes["Tconstants"].values] == ["int64", "int64"]
    assert {text.removeprefix(PREFIX) for text in call.inputs[:2]} == {"begin_s64", "input_shape"}


def test_a_slice_to_the_end_begins_anywhere():
    with tf.Graph().as_default():
        x, begin = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int32, [2])
        y = tf.exp(tf.slice(x, begin, [-1, 1]))
        config = tf.ConfigProto()
        config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
        with tf.Session(config=config) as session:
            value = np.arange(8, dtype=np.float32).reshape(4, 2)
            for at in ([0, 1], [3, 0], [2, 1]):
                found = session.run(y, {x: value, begin: at})
                np.testing.assert_allclose(found, np.exp(value[at[0] :, at[1] : at[1] + 1]), rtol=1e-6)


@pytest.mark.parametrize("index", ["int32", "int64"])
def test_what_is_made_can_be_written(index):
    """Dumps are written of it, and whoever reads them reads the same graph."""
    graph = _graph([-1, 2], index)
    assert increase_dynamism(graph, Options())
    binary = to_binary(graph)
    assert to_binary(parse_graph(binary)) == to_binary(parse_graph(to_text(graph))) == binary
