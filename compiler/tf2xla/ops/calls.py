"""Ops that run functions of the library: calls, branches, loops.

A call is written where it stands.  A branch whose condition is known is one of its functions, written where it stands;
else both become computations.  Constants that a branch is given, or a loop hands on unchanged, stay constants inside,
so that sizes may follow from them there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from compiler.expansion.expression import Expression, element
from compiler.graph import FunctionReference
from compiler.ir.module import Instruction
from compiler.ir.types import PRED, S32
from compiler.ops.build import build
from compiler.tf2xla.operation import Array, Operation
from compiler.tf2xla.record import Lower, Record, Trait, record, table, with_shapes
from compiler.tf2xla.values import Traced, Value, all_parts, checked_same, no_handle, rebuilt

_LARGEST_CONSTANT = 1 << 12  # elements of what is written into a computation again


def _call(operation: Operation) -> list[list[Value]]:
    return [operation.library.inline(operation.attribute("f"), operation.items("args"), operation)]


def _known(operation: Operation, inputs: Sequence[Value], among: Collection[int]) -> dict[int, Array]:
    """The inputs that are known when the graph is compiled."""
    known: dict[int, Array] = {}
    for number in among:
        one = inputs[number]
        value = operation.library.value(one) if isinstance(one, Expression) else None
        if value is not None and value.size <= _LARGEST_CONSTANT:
            known[number] = value
    return known


def _state(
    operation: Operation, inputs: Sequence[Value], known: Mapping[int, Array], carried: Sequence[str]
) -> Instruction:
    arrays = all_parts([one for number, one in enumerate(inputs) if number not in known])
    arrays += [operation.library.variables.read(name) for name in carried]
    return build(operation.computation, "tuple", [one.instruction for one in arrays])


def _taken(
    operation: Operation, result: Instruction, like: Sequence[Value], carried: Sequence[str], changed: Collection[str]
) -> list[Value]:
    """The values in the tuple that a branch or loop has given; variables that it changed hold what it gives."""
    count = len(all_parts(like))
    arrays = iter([Expression(element(result, number)) for number in range(count)])
    values = [rebuilt(one, arrays) for one in like]
    for number, name in enumerate(carried, count):
        if name in changed:
            operation.library.variables.write(name, Expression(element(result, number)))
    return values


def _true(operation: Operation, condition: Expression) -> Expression:
    """A condition as a pred: of a number whether it is not 0, of an array whether it has elements."""
    if condition.dims:
        return operation.constant(0 not in condition.dims, PRED)
    return condition if condition.type is PRED else condition.compare("NE", 0)


def _if(operation: Operation) -> list[list[Value]]:
    condition = _true(operation, operation["cond"])
    branches = [operation.attribute("then_branch"), operation.attribute("else_branch")]
    value = operation.library.value(condition)
    if value is not None:
        return [operation.library.inline(branches[0 if value else 1], operation.items("input"), operation)]
    return [_chosen(operation, condition, branches)]


def _case(operation: Operation) -> list[list[Value]]:
    index, branches = operation["branch_index"], list(operation.attribute("branches"))
    operation.require(branches, "it has no branches")
    operation.require(not index.dims, "its index must be a scalar")
    value = operation.library.value(index)
    if value is not None:
        number = int(value) if 0 <= int(value) < len(branches) else len(branches) - 1
        return [operation.library.inline(branches[number], operation.items("input"), operation)]
    return [_chosen(operation, index, branches)]


def _chosen(operation: Operation, selector: Expression, branches: Sequence[FunctionReference]) -> list[Value]:
    """One of several computations, chosen at run time."""
    inputs, tracer = operation.items("input"), operation.library.tracer
    known = _known(operation, inputs, range(len(inputs)))
    carried = tracer.carried(branches, inputs)
    made = [tracer.traced(branch, inputs, operation, known, carried) for branch in branches]
    for branch, traced in zip(branches[1:], made[1:], strict=True):
        same = checked_same(traced.results, made[0].results)
        operation.require(same, f"its branches {branches[0].name!r} and {branch.name!r} give different types or sizes")
    state = _state(operation, inputs, known, carried)
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
    return _taken(operation, result, made[0].results, carried, changed)


def _while(operation: Operation) -> list[list[Value]]:
    inputs, tracer = list(operation.items("input")), operation.library.tracer
    condition, body = operation.attribute("cond"), operation.attribute("body")
    known = _known(operation, inputs, operation.library.passed_on(body, operation))
    varying = [number for number in range(len(inputs)) if number not in known]
    carried = tracer.carried([condition, body], inputs)
    step = tracer.traced(body, inputs, operation, known, carried, varying)
    for number, after in zip(varying, step.results, strict=True):
        _require_same(operation, number, inputs[number], after)
    test = tracer.traced(condition, inputs, operation, known, carried)
    operation.require(not test.changed, "its condition changes variables")
    _only_result(operation, test)
    state = _state(operation, inputs, known, carried)
    loop = build(operation.computation, "while", [state], condition=test.computation, body=step.computation)
    found = iter(_taken(operation, loop, step.results, carried, step.changed))
    return [[one if number in known else next(found) for number, one in enumerate(inputs)]]


def _require_same(operation: Operation, number: int, before: Value, after: Value) -> None:
    if not checked_same([before], [after]):
        made, was = [", ".join(str(one.instruction.shape) for one in all_parts([v])) or str(v) for v in (after, before)]
        raise operation.invalid(f"its body makes {made} of input {number}, which is {was}: sizes must stay")


def _only_result(operation: Operation, traced: Traced) -> None:
    """Let a computation of a tuple with a condition give the condition."""
    results = traced.results
    operation.require(len(results) == 1, f"its condition has {len(results)} results, not one")
    test = traced.computation
    root = test.root
    test.root = _true(
        Operation(operation.node, operation.signature, (), test, operation.library, checked=False),
        no_handle(results[0], f"the condition of node {operation.node.name!r}"),
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
    *(
        with_shapes(row, lambda node: [one.shape for one in node.inputs])  # sizes must stay
        for row in _both("While", _WHILE, _while, "A function again and again, as long as another says so.")
    ),
)
