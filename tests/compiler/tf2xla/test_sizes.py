"""Sizes that values decide: an op gives what it gives on the array that is left, whichever dimension ends early."""

import numpy as np
import op_cases
import pytest
from graph_nodes import FLOAT, INT, function, node, placeholder
from op_results import recorded

import compiler
from compiler.expansion.expression import Expression, concatenate, size_of, with_size
from compiler.graph import Graph, Node, tensor_of
from compiler.ir.module import Computation, Module
from compiler.ir.shape import ArrayShape
from compiler.ir.types import F32, S32, S64, of_dtype
from compiler.ops.build import parameter
from compiler.tf2xla import RECORDS, Trait, lower, lower_function
from compiler.tf2xla.sizes import element_of, is_sized

SIZED = [name for name, one in RECORDS.items() if Trait.SIZED in one.traits]
DIMS, LEFT = (5, 4), 3


def _called(op, axis):
    """The op on arrays of which a dimension ends early, its feeds, and the same on what is left."""
    case = op_cases.CASES_OF[op][0]
    taken, nodes, feeds, plain = [], [], {"left": np.int32(LEFT)}, []
    nodes += [placeholder("left", INT), _const("axis", np.int32(axis))]
    for number, array in enumerate(case.inputs):
        name, kind = f"in{number}", tensor_of(array).type
        if number in case.known:
            value = np.array([axis], array.dtype) if array.ndim == 1 else array
            nodes.append(_const(name, value))
            plain.append(value)
            taken.append(name)
            continue
        value = np.resize(array if array.size else np.ones(1, array.dtype), DIMS)
        nodes += [
            placeholder(name, kind),
            node(f"s{number}", "XlaSetDynamicDimensionSize", name, "axis", "left", T=kind),
        ]
        feeds[name] = value
        plain.append(value[(slice(None),) * axis + (slice(LEFT),)])
        taken.append(f"s{number}")
    if op == "XlaSetDynamicDimensionSize":
        plain[2], taken[1:], nodes = np.int32(LEFT), ["axis", "left"], [one for one in nodes if one.name != "s1"]
    return case, Graph([*nodes, Node("op", op, tuple(taken), "", case.attributes)]), feeds, plain


def _const(name, value):
    return Node(name, "Const", (), "", {"dtype": tensor_of(value).type, "value": tensor_of(value)})


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("op", [op for op in SIZED if op_cases.CASES_OF.get(op) and op != "XlaSetDynamicDimensionSize"])
def test_what_ends_early_is_computed_as_what_is_left(op, axis):
    case, graph, feeds, plain = _called(op, axis)
    lowered = lower(graph, feeds, case.fetches)
    given = [feeds[name] for name in lowered.inputs]
    found = compiler.interpret(lowered.module, *given)
    fed = {f"in{number}": one for number, one in enumerate(plain) if number not in case.known}
    nodes = [
        _const(f"in{number}", one) if number in case.known else placeholder(f"in{number}", tensor_of(one).type)
        for number, one in enumerate(plain)
    ]
    takes = tuple(f"in{number}" for number in range(len(plain)))
    alone = lower(Graph([*nodes, Node("op", op, takes, "", case.attributes)]), fed, case.fetches)
    expected = compiler.interpret(alone.module, *(fed[name] for name in alone.inputs))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("op", ["Tanh", "AddV2", "Sum", "Mean", "Max", "Shape", "Size"])
def test_compiled_programs_compute_what_the_reference_does(op):
    case, graph, feeds, _ = _called(op, 0)
    lowered = lower(graph, feeds, case.fetches)
    given = [feeds[name] for name in lowered.inputs]
    for one, other in zip(
        compiler.compile(lowered.module)(*given), compiler.interpret(lowered.module, *given), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize("op", sorted(set(RECORDS) - set(SIZED)))
def test_whatever_has_sizes_in_its_lowering_refuses_them_by_its_name(op):
    case = next((one for one in op_cases.CASES_OF.get(op, ()) if _takes_an_array(one)), None)
    if case is None:
        return
    number = next(n for n in range(len(case.inputs)) if n not in {*case.known, *case.variables})
    array = case.inputs[number]
    graph = case.graph()
    kind = tensor_of(array).type
    nodes = [placeholder("left", INT), _const("axis", np.int32(0))]
    nodes.append(node("sized", "XlaSetDynamicDimensionSize", f"in{number}", "axis", "left", T=kind))
    called = graph.node("op")
    called.inputs = tuple("sized" if text == f"in{number}" else text for text in called.inputs)
    graph.nodes = [*graph.nodes, *nodes]
    with pytest.raises(compiler.UnsupportedError, match=rf"op {op} \(node 'op'\).*values decide a size"):
        lower(graph, {**case.feeds(), "left": np.int32(0)}, case.fetches)


def _takes_an_array(case):
    free = [n for n in range(len(case.inputs)) if n not in {*case.known, *case.variables}]
    return bool(free and case.inputs[free[0]].ndim and not case.takes and Trait.CALLS not in RECORDS[case.op].traits)


@pytest.mark.parametrize("case", op_cases.CASES_OF["Slice"], ids=lambda one: one.name)
def test_slices_whose_sizes_values_decide_are_those_of_tensorflows_kernel(case):
    expected = recorded()[case.name]
    assert expected is not None
    kinds = [tensor_of(one).type for one in case.inputs]
    body = [Node("op", "Slice", ("a", "b", "c"), "", case.attributes)]
    called = function("f", dict(zip("abc", kinds, strict=True)), {"y": kinds[0]}, body, {"y": "op:output:0"})
    shapes = [ArrayShape(of_dtype(one.dtype), one.shape) for one in case.inputs]
    lowered = lower_function(Graph([], [called]), "f", shapes, is_bounded=True)
    np.testing.assert_array_equal(compiler.interpret(lowered.module, *case.inputs)[0], expected[0])


def _vector(text):
    module, entry = Module("m"), Computation("main")
    module.entry = module.add_computation(entry)
    return Expression(parameter(entry, 0, text))


def test_a_number_of_a_vector_is_the_piece_that_it_was_made_of():
    vector = _vector(ArrayShape(S32, (2,)))
    joined = concatenate([vector, vector.slice((0, 1))], 0).to(S64)
    assert element_of(joined, 2).instruction.operands[0].opcode == "reshape"
    assert element_of(joined, 2).type is S64


def test_only_dimensions_that_end_early_have_a_size_that_is_asked_for():
    x = _vector(ArrayShape(F32, (2, 3)))
    assert not is_sized(x)
    sized = with_size(x, 1, size_of(x, 0))
    assert is_sized(sized)
    assert [size_of(sized, axis).instruction.opcode for axis in (0, 1)] == ["constant", "get-dimension-size"]


@pytest.mark.parametrize("dims", [(6,), (3, 2), (2, 3, 2)])
def test_elements_of_such_a_dimension_are_not_put_into_others(dims):
    x = _vector(ArrayShape(F32, (2, 3)))
    with pytest.raises(compiler.CompilerError, match="has sizes that values decide"):
        with_size(x, 1, size_of(x, 0)).reshape(*dims)


def test_programs_that_are_to_have_known_sizes_have_no_others():
    called = function(
        "f",
        {"a": FLOAT, "n": INT},
        {"y": FLOAT},
        [node("op", "Slice", "a", "n", "n", T=FLOAT, Index=INT)],
        {"y": "op:output:0"},
    )
    shapes = [ArrayShape(F32, (4,)), ArrayShape(S32, (1,))]
    with pytest.raises(compiler.InputError, match="must be a compile-time constant"):
        lower_function(Graph([], [called]), "f", shapes)
