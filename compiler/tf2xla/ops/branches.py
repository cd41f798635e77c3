"""What branches and loops have in common: the tuple that their computations take, and what these give."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from compiler.expansion.expression import Expression, element
from compiler.ir.module import Instruction
from compiler.ir.types import PRED
from compiler.ops import Trait, having
from compiler.ops.build import build
from compiler.tf2xla.operation import Array, Operation
from compiler.tf2xla.values import Absent, Handle, Optional, Traced, Value, arrays_of, checked_same, no_handle, rebuilt

_MOVES = having(Trait.MOVES) - {"bitcast-convert"}
_LARGEST_CONSTANT = 1 << 12  # elements of what is written into a computation again


def known_of(operation: Operation, inputs: Sequence[Value], among: Collection[int]) -> dict[int, Array]:
    """The inputs that are known when the graph is compiled.

    A float that is computed is not among them: whoever runs the program rounds it in a way of his own, and it would be
    a constant to those who bound what rounding can do.

    Args:
        operation: the node.
        inputs: of the branches or of the loop.
        among: numbers of those that are asked about.
    """
    known: dict[int, Array] = {}
    for number in among:
        one = inputs[number]
        if not isinstance(one, Expression) or not _is_exact(one.instruction):
            continue
        value = operation.library.value(one)
        if value is not None and value.size <= _LARGEST_CONSTANT:
            known[number] = value
    return known


def _is_exact(instruction: Instruction) -> bool:
    """Whether nothing was rounded on the way to a value: it is no float, or a constant, moved at most."""
    while instruction.array.element_type.is_float or instruction.array.element_type.is_complex:
        if instruction.opcode == "constant":
            return True
        if instruction.opcode not in _MOVES:
            return False
        instruction = instruction.operands[0]
    return True


def state_of(
    operation: Operation, inputs: Sequence[Value], known: Mapping[int, Array], carried: Sequence[str]
) -> Instruction:
    """The tuple that computations take: the inputs that are not known, and the variables.

    Args:
        operation: the node.
        inputs: of the branches or of the loop.
        known: values of those that are known, by number.
        carried: names of the variables.
    """
    arrays = arrays_of([one for number, one in enumerate(inputs) if number not in known])
    arrays += [operation.library.variables.read(name) for name in carried]
    return build(operation.computation, "tuple", [one.instruction for one in arrays])


def taken(
    operation: Operation, result: Instruction, like: Sequence[Value], carried: Sequence[str], changed: Collection[str]
) -> list[Value]:
    """The values in the tuple that a branch or loop has given; variables that it changed hold what it gives.

    Args:
        operation: the node.
        result: the tuple.
        like: the values that it holds, as they are on the way in.
        carried: names of the variables that follow.
        changed: those of them that were written to.
    """
    count = len(arrays_of(like))
    arrays = iter([Expression(element(result, number)) for number in range(count)])
    values = [rebuilt(one, arrays) for one in like]
    for number, name in enumerate(carried, count):
        if name in changed:
            operation.library.variables.write(name, Expression(element(result, number)))
    return values


def with_all_there(operation: Operation, branches: Sequence[Traced]) -> list[Traced]:
    """Computations that give zeros for what is there in others only, and nobody looks at where it is not."""
    among = list(zip(*(branch.results for branch in branches), strict=True))
    likes = [_whole(results) for results in among]
    return [
        _completed(operation, branch, likes)
        if any(isinstance(one, Absent) or _is_less(one, like) for one, like in zip(branch.results, likes, strict=True))
        else branch
        for branch in branches
    ]


def _whole(results: Sequence[Value]) -> Value:
    """A value as all branches may give it: of optionals everything that one of them keeps."""
    there = [one for one in results if not isinstance(one, Absent)]
    if not there or not all(isinstance(one, Optional) for one in there):
        return there[0] if there else results[0]
    kinds: list[Optional] = []
    for kind in (kind for one in there if isinstance(one, Optional) for kind in one.kinds):
        if not any(checked_same([kind], [known]) for known in kinds):
            kinds.append(kind)
    return Optional(kinds[0].values, tuple(kinds[1:]))


def _is_less(one: Value, like: Value) -> bool:
    """Whether an optional is not everything that others make of it."""
    return isinstance(one, Optional) and isinstance(like, Optional) and not checked_same([one], [like])


def _completed(operation: Operation, branch: Traced, likes: Sequence[Value]) -> Traced:
    """A computation with zeros like others' results for those that are absent."""
    made = branch.computation
    inner = Operation(operation.node, operation.signature, (), made, operation.library, checked=False)

    def zeros(like: Value) -> Value:
        return rebuilt(like, iter([inner.full(0, one.type, one.dims) for one in arrays_of([like])]))

    def completed(result: Value, like: Value) -> Value:
        if isinstance(result, Absent):
            return zeros(like)
        if not isinstance(result, Optional) or not isinstance(like, Optional):
            return result
        own = result.kinds
        kinds = [next((one for one in own if checked_same([one], [kind])), None) or zeros(kind) for kind in like.kinds]
        found = [one for one in kinds if isinstance(one, Optional)]
        return Optional(found[0].values, tuple(found[1:]))

    results = [completed(result, like) for result, like in zip(branch.results, likes, strict=True)]
    old = made.root
    carried = old.operands[len(arrays_of(branch.results)) :]
    made.root = build(made, "tuple", [*(one.instruction for one in arrays_of(results)), *carried])
    made.remove([old])
    return replace(branch, results=results)


def begin_before(operation: Operation, inputs: Sequence[Value]) -> bool:
    """Let begin before a branch or loop what is first known of inside; whether it has to be written again for that.

    Of which sizes the elements of a TensorArray are its first write may say, and this may stand inside.
    """
    variables = operation.library.variables
    found = [variables.made_inside(one.name) for one in inputs if isinstance(one, Handle)]
    for name, shape in (pair for one in found for pair in one.items()):
        variables.begin(name, operation.full(0, shape.element_type, shape.dims))
    return any(found)


def true(operation: Operation, condition: Expression) -> Expression:
    """A condition as a pred: of a number whether it is not 0, of an array whether it has elements."""
    if condition.dims:
        return operation.constant(0 not in condition.dims, PRED)
    return condition if condition.type is PRED else condition.compare("NE", 0)


def require_one_result(operation: Operation, traced: Traced) -> None:
    """Let a computation of a tuple with a condition give the condition."""
    results = traced.results
    operation.require(len(results) == 1, f"its condition has {len(results)} results, not one")
    test = traced.computation
    root = test.root
    test.root = true(
        Operation(operation.node, operation.signature, (), test, operation.library, checked=False),
        no_handle(results[0], f"the condition of node {operation.node.name!r}"),
    ).instruction
    test.remove([root])
