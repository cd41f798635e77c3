"""Graphs made node by node: names, attributes that follow, shapes, and what is refused."""

import numpy as np
import pytest
from graph_nodes import X, run

import compiler
from compiler.graph import BY_NAME, PartialShape
from compiler.tf2xla import lower
from compiler.tf2xla.builder import Builder


def placeholder(builder, *dims, kind="float32", name="x"):
    return builder.add("Placeholder", name=name, dtype=kind, shape=dims).output


def test_names_are_unique_within_scopes():
    builder = Builder()
    x = placeholder(builder, 2)
    names = [x.op("Neg").built.node.name, x.op("Neg").built.node.name, x.op("Neg", name="neg").built.node.name]
    assert names == ["Neg", "Neg_1", "neg_2"]
    with builder.scope("a") as first:
        assert (first, x.op("Neg").name) == ("a/", "a/Neg:0")
        with builder.scope("b"):
            assert x.op("Neg").name == "a/b/Neg:0"
    with builder.scope("a") as second:
        assert second == "a_1/"
    with builder.scope(first):
        assert x.op("Neg").name == "a/Neg_1:0"


def test_attributes_follow_from_inputs_and_defaults():
    builder = Builder()
    x = placeholder(builder, 2, 3)
    joined = builder.add("ConcatV2", [x, x, x], -1)
    assert joined.node.attributes == {"N": 3, "T": BY_NAME["float32"], "Tidx": BY_NAME["int32"]}
    assert joined.node.inputs == ("x", "x", "x", "ConcatV2/axis")
    total = x.op("Sum", [0])
    assert total.built.node.attributes["keep_dims"] is False
    assert str(total) == "Sum:0: float32[3]"


def test_defaults_of_where_and_with_what_nodes_are_made():
    builder = Builder()
    x = placeholder(builder, 2)
    with builder.within(device="/device:CPU:0", control=[x.built.node], attributes={"_XlaCompile": True}):
        node = builder.add("Neg", x).node
    assert (node.device, node.inputs, node.attributes["_XlaCompile"]) == ("/device:CPU:0", ("x", "^x"), True)
    assert "_XlaCompile" not in builder.add("Neg", x).node.attributes


SHAPES = [
    (lambda b, x: x.op("MatMul", placeholder(b, 784, 10, name="w")), "[?,10]"),
    (lambda b, x: x.op("MatMul", placeholder(b, None, 10, name="w")), "[?,10]"),
    (lambda b, x: x + placeholder(b, 1, name="w"), "[?,784]"),
    (lambda b, x: placeholder(b, None, name="v") + placeholder(b, 5, name="w"), "[5]"),
    (lambda b, x: x.op("Reshape", [-1, 28, 28, 1]), "[?,28,28,1]"),
    (lambda b, x: x.op("Sum", [0], keep_dims=True), "[1,784]"),
    (lambda b, x: x.op("Transpose", [1, 0]), "[784,?]"),
    (lambda b, x: placeholder(b, 784, None, name="w").op("Reshape", x.op("Shape")), "[?,784]"),
    (lambda b, x: b.add("Fill", x.op("Shape"), 0.5).output, "[?,784]"),
    (lambda b, x: x.op("Reshape", placeholder(b, 2, kind="int32", name="w")), "<unknown>"),
    (lambda b, x: b.add("Placeholder", dtype="float32").output.op("Neg"), "<unknown>"),
    (lambda b, x: b.add("ConcatV2", [x, x], 0).output + x, "[?,784]"),
]


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_shapes_follow_from_lowerings(number):
    make, shape = SHAPES[number]
    builder = Builder()
    assert str(make(builder, placeholder(builder, None, 784)).shape) == shape


REFUSED = [
    (
        lambda b, x: x + placeholder(b, 2, kind="int32", name="y"),
        "Input 'y' of 'AddV2' Op has type int32 that does not match type float32 of argument 'x'.",
    ),
    (lambda b, x: x.op("LogicalNot"), "Input 'x' of 'LogicalNot' Op has type float32 that does not match expected"),
    (lambda b, x: x.op("Invert"), "Value passed to parameter 'x' has DataType float32 not in list of allowed values"),
    (lambda b, x: b.add("Pack", x), "Expected list for 'values' argument to 'Pack' Op, not a single Tensor."),
    (
        lambda b, x: b.add("Pack", [x, placeholder(b, 2, kind="int32", name="y")]),
        r"Tensors in list passed to 'values' of 'Pack' Op have types \[float32, int32\] that don't all match",
    ),
    (lambda b, x: x.op("MatMul", x), r"node 'MatMul' \(MatMul\): matrices of the sizes \[2, 3\] and \[2, 3\] do not"),
    (lambda b, x: x.op("Neg", x), r"Neg takes 1 inputs \(x\), 2 are given"),
    (lambda b, x: x.op("Sum", [0], keepdims=True), "Sum got an unexpected attribute 'keepdims'.*did you mean"),
    (lambda b, x: x.op("Nag"), "op Nag is not supported .*no record has it"),
    (lambda b, x: b.output("y:0"), "no output 'y:0' in the graph"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_refused_is_refused_in_words_of_tensorflow(number):
    make, said = REFUSED[number]
    builder = Builder()
    with pytest.raises(compiler.CompilerError, match=said):
        make(builder, placeholder(builder, 2, 3))


def test_a_graph_is_gone_on_with():
    builder = Builder()
    x = placeholder(builder, 2, 3)
    y = x.op("MatMul", x, transpose_b=True)
    again = Builder(builder.graph)
    assert str(again.output(y.name)) == str(y)
    negative = again.output(y.name).op("Neg")
    np.testing.assert_array_equal(run(lower(again.graph, {"x": X}, [negative.name]))[0], -X @ X.T)
    assert again.add("MatMul", negative, negative).node.name == "MatMul_1"


def test_variables_say_what_they_hold():
    builder = Builder()
    handle = builder.add("VarHandleOp", dtype="float32", shape=[None, 3], shared_name="v").output
    assert (str(handle), str(handle.held_shape)) == ("VarHandleOp:0: resource[]", "[?,3]")
    assert str(handle.op("ReadVariableOp", dtype="float32").shape) == "[?,3]"
    assert str(handle.op("ResourceGather", np.array([0, 1]), dtype="float32").shape) == "[2,3]"
    reference = builder.add("VariableV2", dtype="float32", shape=[2]).output
    assert str(reference.op("Assign", [1.0, 2.0])) == "Assign:0: float32_ref[2]"
    assert str(reference + reference) == "AddV2:0: float32[2]"
    assert reference.shape == PartialShape((2,))
