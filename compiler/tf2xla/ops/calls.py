"""Ops that run functions of the library: calls, branches, loops.

A call is written where it stands.  A branch whose condition is known is one of its functions, written where it stands;
else both become computations.  Constants that a branch is given, or a loop hands on unchanged, stay constants inside,
so that sizes may follow from them there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from compiler.expansion.expression import Expression, element
from compiler.graph import FunctionReference
from compiler.ir.module import Computation, Instruction
from compiler.ir.shape import ArrayShape, leaves
from compiler.ir.types import PRED, S32
from compiler.ops.build import build
from compiler.tf2xla.operation import Array, Operation
from compiler.tf2xla.record import Lower, Record, Trait, record, table

_LARGEST_CONSTANT = 1 << 12  # elements of what is written into a computation again


def _call(operation: Operation) -> list[list[Expression]]:
    return [operation.library.inline(operation.attribute("f"), operation.list("args"), operation)]


def _known(operation: Operation, inputs: Sequence[Expression], among: Collection[int]) -> dict[int, Array]:
    """The inputs that are known when the graph is compiled."""
    known: dict[int, Array] = {}
    for number in among:
        value = operation.library.value(inputs[number])
        if value is not None and value.size <= _LARGEST_CONSTANT:
            known[number] = value
    return known


def _state(operation: Operation, inputs: Sequence[Expression], known: Mapping[int, Array]) -> Instruction:
    parts = [one.instruction for number, one in enumerate(inputs) if number not in known]
    return build(operation.computation, "tuple", parts)


def _true(operation: Operation, condition: Expression) -> Expression:
    """A condition as a pred: of a number whether it is not 0, of an array whether it has elements."""
    if condition.dims:
        return operation.constant(0 not in condition.dims, PRED)
    return condition if condition.type is PRED else condition.compare("NE", 0)


def _if(operation: Operation) -> list[list[Expression]]:
    condition = _true(operation, operation["cond"])
    branches = [operation.attribute("then_branch"), operation.attribute("else_branch")]
    value = operation.library.value(condition)
    if value is not None:
        return [operation.library.inline(branches[0 if value else 1], operation.list("input"), operation)]
    return [_chosen(operation, condition, branches)]


def _case(operation: Operation) -> list[list[Expression]]:
    index, branches = operation["branch_index"], list(operation.attribute("branches"))
    operation.require(branches, "it has no branches")
    operation.require(not index.dims, "its index must be a scalar")
    value = operation.library.value(index)
    if value is not None:
        number = int(value) if 0 <= int(value) < len(branches) else len(branches) - 1
        return [operation.library.inline(branches[number], operation.list("input"), operation)]
    return [_chosen(operation, index, branches)]


def _chosen(operation: Operation, selector: Expression, branches: Sequence[FunctionReference]) -> list[Expression]:
    """One of several computations, chosen at run time."""
    inputs = operation.list("input")
    known = _known(operation, inputs, range(len(inputs)))
    made = [operation.library.computation(branch, inputs, operation, known) for branch in branches]
    for branch, computation in zip(branches[1:], made[1:], strict=True):
        same = [str(shape) for shape in leaves(computation.root.shape)] == [str(s) for s in leaves(made[0].root.shape)]
        operation.require(same, f"its branches {branches[0].name!r} and {branch.name!r} give different types or sizes")
    state = _state(operation, inputs, known)
    operands = [selector.instruction, *[state] * len(made)]
    if selector.type is PRED:
        then, otherwise = made
        result = build(
            operation.computation, "conditional", operands, true_computation=then, false_computation=otherwise
        )
    else:
        index = selector if selector.type is S32 else selector.to(S32)
        operands[0] = index.instruction
        result = build(operation.computation, "conditional", operands, branch_computations=tuple(made))
    return [Expression(element(result, number)) for number in range(len(made[0].root.operands))]


def _while(operation: Operation) -> list[list[Expression]]:
    inputs = operation.list("input")
    condition, body = operation.attribute("cond"), operation.attribute("body")
    known = _known(operation, inputs, operation.library.passed_on(body, operation))
    varying = [number for number in range(len(inputs)) if number not in known]
    step = operation.library.computation(body, inputs, operation, known, varying)
    shapes = [one.instruction.shape for number, one in enumerate(inputs) if number in varying]
    for number, (before, after) in enumerate(zip(shapes, leaves(step.root.shape), strict=True)):
        same = isinstance(before, ArrayShape) and (before.element_type, before.dims) == (after.element_type, after.dims)
        operation.require(
            same, f"its body makes {after} of input {varying[number]}, which is {before}: sizes must stay"
        )
    test = operation.library.computation(condition, inputs, operation, known)
    _only_result(operation, test)
    state = _state(operation, inputs, known)
    loop = build(operation.computation, "while", [state], condition=test, body=step)
    parts = iter(range(len(varying)))
    return [[one if number in known else Expression(element(loop, next(parts))) for number, one in enumerate(inputs)]]


def _only_result(operation: Operation, test: Computation) -> None:
    """Let a computation of a tuple with a condition give the condition."""
    results = test.root.operands
    operation.require(len(results) == 1, f"its condition has {len(results)} results, not one")
    root = test.root
    test.root = _true(
        Operation(operation.node, operation.signature, (), test, operation.library, checked=False),
        Expression(results[0]),
    ).instruction
    test.remove([root])


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
    *_both("While", _WHILE, _while, "A function again and again, as long as another says so."),
)
