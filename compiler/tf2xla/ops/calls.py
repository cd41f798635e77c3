"""Ops that run functions of the library: calls, branches, loops.

A call is written where it stands.  A branch whose condition is known is one of its functions, written where it stands;
else both become computations.  Constants that a branch is given, or a loop hands on unchanged, stay constants inside,
so that sizes may follow from them there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from compiler.expansion.expression import Expression
from compiler.graph import FunctionReference
from compiler.ir.types import PRED, S32
from compiler.ops.build import build
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.branches import begin_before, known_of, state_of, taken, true, with_all_there
from compiler.tf2xla.ops.loops import lower_while
from compiler.tf2xla.record import Lower, Record, Trait, record, table, with_shapes
from compiler.tf2xla.values import TensorList, Value, checked_same, common_kind, same_each


def _call(operation: Operation) -> list[list[Value]]:
    return [operation.library.inline(operation.attribute("f"), operation.items("args"), operation)]


def _if(operation: Operation) -> list[list[Value]]:
    return one_of_two(operation, "input")


def one_of_two(operation: Operation, port: str) -> list[list[Value]]:
    """One of two functions on the inputs of a port, by the condition."""
    condition = true(operation, operation["cond"])
    branches = [operation.attribute("then_branch"), operation.attribute("else_branch")]
    value = operation.library.value(condition)
    if value is not None:
        return [operation.library.inline(branches[0 if value else 1], operation.items(port), operation)]
    return [_chosen(operation, condition, branches, port)]


def _case(operation: Operation) -> list[list[Value]]:
    index, branches = operation["branch_index"], list(operation.attribute("branches"))
    operation.require(branches, "it has no branches")
    operation.require(not index.dims, "its index must be a scalar")
    value = operation.library.value(index)
    if value is not None:
        number = int(value) if 0 <= int(value) < len(branches) else len(branches) - 1
        return [operation.library.inline(branches[number], operation.items("input"), operation)]
    return [_chosen(operation, index, branches)]


def _chosen(
    operation: Operation, selector: Expression, branches: Sequence[FunctionReference], port: str = "input"
) -> list[Value]:
    """One of several computations, chosen at run time."""
    inputs, tracer = operation.items(port), operation.library.tracer
    known = known_of(operation, inputs, range(len(inputs)))
    carried = tracer.carried(branches, inputs)
    made = [tracer.traced(branch, inputs, operation, known, carried) for branch in branches]
    if begin_before(operation, inputs):
        return _chosen(operation, selector, branches, port)
    made = with_all_there(operation, made)
    for traced in made:
        operation.library.variables.push(traced.pushed)
    for branch, traced in zip(branches[1:], made[1:], strict=True):
        if not checked_same(traced.results, made[0].results):
            names = f"its branches {branches[0].name!r} and {branch.name!r}"
            raise operation.unsupported(f"{names} give different types or sizes: which one runs must be a constant")
    state = state_of(operation, inputs, known, carried)
    computations = [traced.computation for traced in made]
    operands = [selector.instruction, *[state] * len(made)]
    if selector.type is PRED:
        then, otherwise = computations
        result = build(
            operation.computation, "conditional", operands, true_computation=then, false_computation=otherwise
        )
    else:
        index = selector if selector.type is S32 else selector.to(S32)
        operands[0] = index.instruction
        result = build(operation.computation, "conditional", operands, branch_computations=tuple(computations))
    changed = frozenset().union(*(traced.changed for traced in made))
    results = [_common(results_) for results_ in zip(*(traced.results for traced in made), strict=True)]
    return taken(operation, result, results, carried, changed)


def _common(values: Sequence[Value]) -> Value:
    """What is known of a value that is one of several."""
    first = values[0]
    if not isinstance(first, TensorList):
        return first
    lists = [one for one in values if isinstance(one, TensorList)]
    each = reduce(same_each, [one.each for one in lists])
    element = reduce(common_kind, [one.element for one in lists])
    return replace(first, is_full=all(one.is_full for one in lists), each=each, element=element)


_FUNCTION = (
    "args: Tin[] -> output: Tout[]; Tin: list(type); Tout: list(type); f: func; config: string = ''; "
    "config_proto: string = ''; executor_type: string = ''"
)
_IF = (
    "cond: Tcond, input: Tin[] -> output: Tout[]; Tcond: {any}; Tin: list(type); Tout: list(type); "
    "then_branch: func; else_branch: func; output_shapes: list(shape) = []"
)
_CASE = (
    "branch_index: int32, input: Tin[] -> output: Tout[]; Tin: list(type); Tout: list(type); branches: list(func); "
    "output_shapes: list(shape) = []"
)
_WHILE = (
    "input: T[] -> output: T[]; T: list(type); cond: func; body: func; output_shapes: list(shape) = []; "
    "parallel_iterations: int = 10"
)


def _calls(name: str, signature: str, lower: Lower, doc: str, *, is_stateful: bool) -> Record:
    return record(name, signature, lower, doc, traits=Trait.CALLS | (Trait.STATEFUL if is_stateful else Trait.NONE))


def _both(name: str, signature: str, lower: Lower, doc: str) -> tuple[Record, Record]:
    """The op whose functions may have effects, and the one whose functions have none."""
    return (
        _calls(name, signature, lower, doc, is_stateful=True),
        _calls(f"Stateless{name}", signature, lower, doc, is_stateful=False),
    )


RECORDS = table(
    _calls("PartitionedCall", _FUNCTION, _call, "A function.", is_stateful=False),
    _calls("StatefulPartitionedCall", _FUNCTION, _call, "A function, which may have effects.", is_stateful=True),
    *_both("If", _IF, _if, "One of two functions, by a condition."),
    *_both("Case", _CASE, _case, "One of several functions, the last for an index out of range."),
    *(
        with_shapes(row, lambda node: [one.shape for one in node.inputs])  # sizes must stay
        for row in _both("While", _WHILE, lower_while, "A function again and again, as long as another says so.")
    ),
)
