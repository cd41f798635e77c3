"""HLO's ops that take functions: reductions, windows, scatters, sorts, branches and loops.

A reducer is a function of the library on scalars, which uses no variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.expansion.expression import Expression, element
from compiler.graph import FunctionReference
from compiler.ir.attributes import WindowDimension
from compiler.ir.module import Computation
from compiler.ir.shape import ArrayShape
from compiler.ir.types import ElementType
from compiler.ops.build import build, parameter
from compiler.tf2xla.dimension_numbers import gather_numbers
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.calls import one_of_two
from compiler.tf2xla.ops.loops import lower_while
from compiler.tf2xla.ops.xla import made, pairs
from compiler.tf2xla.record import Record, Trait, record, table
from compiler.tf2xla.values import Value, no_handle


def _reducer(operation: Operation, name: str, kinds: Sequence[ElementType]) -> Computation:
    """A function on scalars of these types as a computation."""
    function: FunctionReference = operation.attribute(name)
    computation = operation.module.add_computation(Computation(function.name))
    given = [Expression(parameter(computation, n, ArrayShape(kind, ()))) for n, kind in enumerate(kinds)]
    inner = Operation(operation.node, operation.signature, (), computation, operation.library, checked=False)
    with operation.library.variables.inside((), ()):
        results = operation.library.inline(function, given, inner)
    arrays = [no_handle(one, f"a result of function {function.name!r}").instruction for one in results]
    computation.root = arrays[0] if len(arrays) == 1 else build(computation, "tuple", arrays)
    return computation


def _reduced(operation: Operation, arrays: Sequence[Expression], starts: Sequence[Expression]) -> list[Expression]:
    kinds = [one.type for one in arrays]
    axes = operation.attribute("dimensions_to_reduce")
    to_apply = _reducer(operation, "reducer", [*kinds, *kinds])
    operands = [one.instruction for one in (*arrays, *starts)]
    result = build(operation.computation, "reduce", operands, dimensions=tuple(axes), to_apply=to_apply)
    count = len(arrays)
    return [Expression(result)] if count == 1 else [Expression(element(result, n)) for n in range(count)]


def _reduce(operation: Operation) -> Expression:
    return _reduced(operation, [operation["input"]], [operation["init_value"]])[0]


def _reduce_several(operation: Operation) -> list[list[Expression]]:
    ports = [port.name for port in operation.signature.inputs]
    return [_reduced(operation, *(operation.list(name) for name in ports))]


def _windowed(operation: Operation) -> Expression:
    x = operation["input"]
    count = len(x.dims)
    names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    rows = zip(*(operation.integers(name, count) for name in names), pairs(operation, "padding", count), strict=True)
    window = tuple(
        WindowDimension(size, stride, low, high, lhs_dilate=base, rhs_dilate=own)
        for size, stride, base, own, (low, high) in rows
    )
    to_apply = _reducer(operation, "computation", [x.type, x.type])
    return made(operation, "reduce-window", x, operation["init_value"], window=window, to_apply=to_apply)


def _selected(operation: Operation) -> Expression:
    x = operation["operand"]
    count, kinds = len(x.dims), [x.type, x.type]
    sizes, strides = (operation.integers(f"window_{name}", count) for name in ("dimensions", "strides"))
    window = tuple(
        WindowDimension(size, stride, low, high)
        for size, stride, (low, high) in zip(sizes, strides, pairs(operation, "padding", count), strict=True)
    )
    given = [operation[name] for name in ("operand", "source", "init_value")]
    functions: dict[str, Any] = {name: _reducer(operation, name, kinds) for name in ("select", "scatter")}
    return made(operation, "select-and-scatter", *given, window=window, **functions)


def _scattered(operation: Operation) -> Expression:
    given = [operation[name] for name in ("operand", "scatter_indices", "updates")]
    to_apply = _reducer(operation, "update_computation", [given[0].type] * 2)
    return made(operation, "scatter", *given, to_apply=to_apply, **gather_numbers(operation, is_scatter=True))


def _ordered(
    operation: Operation, arrays: Sequence[Expression], along: int, order: Computation, *, is_stable: bool
) -> list[Expression]:
    operands = [one.instruction for one in arrays]
    stated: dict[str, Any] = {"is_stable": True} if is_stable else {}
    result = build(operation.computation, "sort", operands, dimensions=(along,), to_apply=order, **stated)
    count = len(arrays)
    return [Expression(result)] if count == 1 else [Expression(element(result, n)) for n in range(count)]


def _ascending(operation: Operation, kinds: Sequence[ElementType]) -> Computation:
    """By the first array; NaN with its sign at the ends, and -0 before 0."""
    order = operation.module.add_computation(Computation("ascending"))
    pairs_of = [kind for kind in kinds for _ in range(2)]
    left, right, *_ = [Expression(parameter(order, n, ArrayShape(kind, ()))) for n, kind in enumerate(pairs_of)]
    stated: dict[str, Any] = {"type": "TOTALORDER"} if left.type.is_float else {}
    order.root = build(order, "compare", [left.instruction, right.instruction], direction="LT", **stated)
    return order


def _sorted(operation: Operation) -> list[Expression]:
    arrays = [operation[port.name] for port in operation.signature.inputs]
    operation.require(arrays[0].dims, "it orders rows, not scalars")
    order = _ascending(operation, [one.type for one in arrays])
    return _ordered(operation, arrays, len(arrays[0].dims) - 1, order, is_stable=False)


def _sorted_by(operation: Operation) -> list[list[Expression]]:
    arrays = operation.list("inputs")
    dimension = operation.integer("dimension")
    order = _reducer(operation, "comparator", [one.type for one in arrays for _ in range(2)])
    along = operation.axis(dimension, len(arrays[0].dims))
    return [_ordered(operation, arrays, along, order, is_stable=operation.attribute("is_stable"))]


def _if(operation: Operation) -> list[list[Value]]:
    return one_of_two(operation, "inputs")


_NUMBERS = "numbers bool"
_SEVERAL = "dimensions_to_reduce: list(int); reducer: func"
_CALLED = Trait.CALLS | Trait.STATEFUL
_WINDOW = ("window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding")
_SELECTED = ("window_dimensions", "window_strides", "padding")


def _indices(names: Sequence[str]) -> str:
    return ", ".join(f"{name}: Tindices" for name in names)


def _row(name: str, text: str, lower: Any, doc: str, *constants: str, traits: Trait = Trait.NONE) -> Record:
    return record(f"Xla{name}", text, lower, doc, constants, traits)


RECORDS = table(
    _row(
        "Reduce",
        f"input: T, init_value: T -> output: T; T: {{{_NUMBERS}}}; {_SEVERAL}",
        _reduce,
        "Elements combined by a function.",
    ),
    _row(
        "VariadicReduce",
        f"input: N*T, init_value: N*T -> output: N*T; N: int; T: {{{_NUMBERS}}}; {_SEVERAL}",
        _reduce_several,
        "Elements of several arrays combined by a function.",
    ),
    _row(
        "VariadicReduceV2",
        f"inputs: T[], init_values: T[] -> outputs: T[]; T: list(type); {_SEVERAL}",
        _reduce_several,
        "Elements of several arrays combined by a function.",
    ),
    _row(
        "ReduceWindow",
        f"input: T, init_value: T, {_indices(_WINDOW)} -> output: T; T: {{{_NUMBERS}}}; Tindices: {{index}}; "
        "computation: func",
        _windowed,
        "Elements of windows combined by a function.",
        *_WINDOW,
    ),
    _row(
        "SelectAndScatter",
        f"operand: T, {_indices(_SELECTED)}, source: T, init_value: T -> output: T; T: {{numbers}}; "
        "Tindices: {index}; select: func; scatter: func",
        _selected,
        "What goes back to the elements that windows chose.",
        *_SELECTED,
    ),
    _row(
        "Scatter",
        "operand: T, scatter_indices: Tindices, updates: T -> output: T; update_computation: func; "
        f"dimension_numbers: string; indices_are_sorted: bool; T: {{{_NUMBERS}}}; Tindices: {{index}}",
        _scattered,
        "Slices combined with others at places.",
    ),
    _row("Sort", "input: T -> output: T; T: {any}", _sorted, "The last dimension in order."),
    _row(
        "KeyValueSort",
        "keys: K, values: V -> sorted_keys: K, sorted_values: V; K: {reals}; V: {any}",
        _sorted,
        "The last dimension in the order of keys.",
    ),
    _row(
        "VariadicSort",
        "inputs: T[], dimension: int32 -> outputs: T[]; T: list(type); comparator: func; is_stable: bool",
        _sorted_by,
        "Arrays in an order that a function says.",
        "dimension",
    ),
    _row(
        "If",
        "cond: Tcond, inputs: Tin[] -> output: Tout[]; Tcond: {any}; then_branch: func; else_branch: func; "
        "Tin: list(type); Tout: list(type)",
        _if,
        "One of two functions, by a condition.",
        traits=_CALLED,
    ),
    _row(
        "While",
        "input: T[] -> output: T[]; T: list(type); cond: func; body: func",
        lower_while,
        "A function again and again, as long as another says so.",
        traits=_CALLED,
    ),
)
