"""Gradients of whole graphs: how they add up, where they end, and what is refused."""

import numpy as np
import pytest
from graph_gradients import AT, agrees, started, values
from graph_nodes import X

import compiler
from compiler.graph import BY_NAME
from compiler.tf2xla import lower
from compiler.tf2xla.builder import Builder
from compiler.tf2xla.differentiation import dense, gradients, is_continuous
from compiler.tf2xla.errors import NoGradientError
from compiler.tf2xla.terms import IndexedSlices


def test_gradients_add_up():
    builder, x = started()
    y = x.op("Square") + x.op("Exp") + x
    assert agrees(builder, y, x, X.astype(float) / 8)
    assert [one.node.name for one in builder.built.values() if one.node.op == "AddN"] == ["gradients/AddN"]


def test_what_nothing_leads_to_has_no_gradient():
    builder, x = started()
    other = builder.add("Placeholder", name="i", dtype="int32", shape=[2]).output
    y = x.op("StopGradient") * x
    assert gradients(builder, [y], [other]) == [None]
    held = x.op("Identity")
    [stopped] = gradients(builder, [held * x], [x], stop_gradients=[held])
    assert values(builder, [stopped], x=AT)[0].tolist() == AT.tolist()
    inner = x.op("Square")
    assert gradients(builder, [inner.op("Neg")], [x], stop_gradients=[inner]) == [None]


def test_an_op_without_a_gradient_is_named():
    builder, x = started()
    y = builder.add("TruncateMod", x, x, name="here").output.op("TruncateMod", x)
    said = r"No gradient defined for operation 'TruncateMod' \(op type: TruncateMod\)"
    with pytest.raises(NoGradientError, match=said):
        gradients(builder, [y], [x])
    with pytest.raises(compiler.InputError, match="only floats have gradients"):
        gradients(builder, [x.op("Shape")], [x])


def test_a_formula_that_needs_a_rank_says_so():
    builder = Builder()
    x = builder.add("Placeholder", name="x", dtype="float32").output
    with pytest.raises(
        compiler.UnsupportedError, match=r"the gradient of 'Prod' \(Prod\) .*number of dimensions of x:0"
    ):
        gradients(builder, [x.op("Prod", [0])], [x])


def test_rows_of_a_variable_have_gradients_of_rows():
    builder = Builder()
    v = builder.add("VarHandleOp", dtype="float64", shape=[4, 2], shared_name="v").output
    rows = v.op("ResourceGather", np.array([3, 1, 3]), dtype="float64")
    [found] = gradients(builder, [rows * 2.0], [v])
    assert isinstance(found, IndexedSlices)
    lowered = lower(builder.graph, {}, [found.dense().name])
    given = {"v": np.zeros((4, 2))}
    (dense,) = compiler.interpret(lowered.module, *(given[name] for name in lowered.reads))
    assert dense.tolist() == [[0, 0], [2, 2], [0, 0], [4, 4]]


def test_what_is_to_be_compiled_passes_to_gradients():
    builder, x = started()
    with builder.within(attributes={"_XlaCompile": True, "_XlaScope": b"s"}):
        y = x.op("Square")
    [gradient] = gradients(builder, [y], [x])
    assert gradient.built.node.attributes["_XlaScope"] == b"s"


@pytest.mark.parametrize("is_true", [True, False])
def test_sides_of_a_switch_are_differentiated(is_true):
    builder, x = started()
    predicate = builder.add("Placeholder", name="p", dtype="bool", shape=[]).output
    false, true = builder.add("Switch", x.op("Exp"), predicate).outputs
    y = builder.add("Merge", [false.op("Square"), true.op("Sin")]).output
    assert agrees(builder, y, x, AT, p=np.array(is_true))


def test_a_gradient_begins_with_ones_or_with_what_is_given_of_the_same_type():
    builder, x = started()
    y = x.op("Square")
    start = builder.constant(np.full((2, 3), 5.0))
    [plain], [scaled] = gradients(builder, [y], [x]), gradients(builder, [y], [x], [start])
    found = values(builder, [plain, scaled], x=AT)
    np.testing.assert_array_equal(found[0], 2 * AT)
    np.testing.assert_array_equal(found[1], 10 * AT)
    with pytest.raises(compiler.InputError, match=r"Gradient type .* does not match its type"):
        gradients(builder, [y], [x], [builder.constant(np.ones((2, 3), np.float32))])


def test_of_several_results_the_sum_is_differentiated():
    builder, x = started()
    [found] = gradients(builder, [x.op("Square"), x * 3.0], [x])
    np.testing.assert_array_equal(values(builder, [found], x=AT)[0], 2 * AT + 3)


def test_rows_from_several_uses_stay_rows_until_somebody_wants_an_array():
    builder = Builder()
    v = builder.add("VarHandleOp", dtype="float64", shape=[4, 2], shared_name="v").output
    first, second = (v.op("ResourceGather", np.array(rows), dtype="float64") for rows in ([3, 1], [1]))
    [found] = gradients(builder, [first, second], [v])
    assert isinstance(found, IndexedSlices)
    assert str(dense(found).type) == "float64"
    assert dense(None) is None


def test_gated_gradients_of_a_node_wait_for_each_other():
    builder, x = started()
    y = x.op("Exp") * x.op("Sin")
    [found] = gradients(builder, [y], [x], gated=True)
    held = [one for one in builder.built.values() if one.node.op == "Identity"]
    assert held
    assert all(any(text.startswith("^") for text in one.node.inputs) for one in held)
    np.testing.assert_allclose(values(builder, [found], x=AT)[0], np.exp(AT) * (np.sin(AT) + np.cos(AT)))


@pytest.mark.parametrize(
    ("kind", "expected"), [("float16", True), ("complex64", True), ("int32", False), ("bool", False)]
)
def test_gradients_go_through_what_is_continuous_only(kind, expected):
    builder = Builder()
    assert is_continuous(builder.add("Placeholder", dtype=BY_NAME[kind], shape=[2]).output) is expected
