"""Elementwise loops: a `while` whose elements are independent, so that one kernel does all iterations of each.

The state of such a loop is arrays of equal dimensions, each of whose elements is computed from the elements at the same
place, scalars computed from scalars (a counter), and what the loop leaves alone.  Beside these it may hold arrays into
which each iteration writes a row of such elements, and which nobody reads before the end: what a scan yields.  Then it
does not matter whether all elements take one iteration after another together, or some elements take all their
iterations first, which they do in registers.

The condition may be on scalars.  It may also ask, by a reduction, whether anything is left to do for any element, where
the body does nothing to the elements that nothing is left to do for: then a few elements stop when they are done, which
is before the whole loop does, and it makes no difference.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from compiler.analysis.groups import is_fusible
from compiler.analysis.loop_view import LoopView
from compiler.analysis.updates import is_elementwise
from compiler.diagnostics import UnsupportedError
from compiler.ir.control import is_ordered
from compiler.ir.literal import Literal
from compiler.ir.module import Computation, Instruction
from compiler.ir.shape import ArrayShape, TupleShape
from compiler.ir.types import PRED
from compiler.ops import Trait, having

_LARGEST_BODY = 256
"""Instructions of a body and a condition up to which a loop is one kernel, 0.2 s of compiling. Chains of arithmetic
that long lose by it what arrays that stay in a cache would have, up to half
(`reports/measured/2026-11-26-constants`)."""
_PASSIVE = having(Trait.STRUCTURAL)


@dataclass(frozen=True, slots=True)
class Iteration(LoopView):
    """A loop whose elements go their own ways.

    Attributes:
        loop: the `while`.
        arrays: the numbers of the state's arrays that change; all have the same dimensions.
        scalars: those of the scalars that change.
        alive: the reduction in the condition that asks whether anything is left to do, if there is one.
        rows: the numbers of the state's arrays that a row is written into each iteration.
    """

    arrays: tuple[int, ...]
    scalars: tuple[int, ...]
    alive: Instruction | None
    rows: tuple[int, ...] = ()

    @property
    def dims(self) -> tuple[int, ...]:
        """The dimensions of the arrays."""
        return self.initial[self.arrays[0]].array.dims

    def row(self, number: int) -> Instruction:
        """The value that an iteration writes into such an array: an array of the loop's dimensions."""
        update: Instruction = self.body.root.operands[number].operands[1]
        return update.operands[0]

    def starts(self, number: int) -> tuple[Instruction, ...]:
        """The start indices at which an iteration writes it."""
        return self.body.root.operands[number].operands[2:]

    def writes_all(self, number: int) -> bool:
        """Whether every row is sure to be written: by a counter that goes up from 0 to at least their number."""
        counter, root = self.starts(number)[0], self.condition.root
        if counter.opcode != "get-tuple-element" or root.opcode != "compare" or root.attributes["direction"] != "LT":
            return False
        index = counter.attributes["index"]
        following = self.body.root.operands[index]
        steps = following.opcode == "add" and following.operands[0] is counter and _is_number(following.operands[1], 1)
        begins = _is_number(self.initial[index], 0) and _is_piece(root.operands[0], index)
        count = self.initial[number].array.dims[0]
        return steps and begins and _is_number(root.operands[1], count)


def find(loop: Instruction) -> Iteration | None:
    """A `while` as a loop whose elements go their own ways; None for any other."""
    condition, body = loop.attributes["condition"], loop.attributes["body"]
    if not _has_plain_state(loop) or len(body.instructions) + len(condition.instructions) > _LARGEST_BODY:
        return None
    changing = [number for number, value in enumerate(body.root.operands) if not _is_piece(value, number)]
    rows = tuple(number for number in changing if _is_row(body.root.operands[number], number, condition))
    arrays = tuple(number for number in changing if body.root.operands[number].array.rank and number not in rows)
    scalars = tuple(number for number in changing if not body.root.operands[number].array.rank)
    dims = {body.root.operands[number].array.dims for number in arrays}
    if len(dims) != 1:
        return None
    found = Iteration(loop, arrays, scalars, _reduction(condition, arrays), rows)
    # Where elements stop when they are done, scalars have come to different values.
    agreed = arrays + rows + (() if found.alive else scalars)
    if any(user.attributes["index"] not in agreed for user in loop.users):
        return None
    sound = _iterations_are_sound(found) and _asks_soundly(found)
    return found if sound and (found.alive is None or (_rests(found) and not rows)) else None


def _iterations_are_sound(form: Iteration) -> bool:
    """Whether the body computes elements from elements at the same place, and scalars and places from scalars."""
    body, dims = form.body, form.dims
    varying = depends_on(body, form.arrays)
    updates = [body.root.operands[number] for number in form.rows]
    fixed = [*(body.root.operands[number] for number in form.scalars), *(update.operands[2] for update in updates)]
    if any(value in varying for value in fixed) or any(form.row(number).array.dims != dims for number in form.rows):
        return False
    aside = {body.root, *updates, *(update.operands[1] for update in updates)}
    return all(_stays_in_place(i, varying, dims) for i in body.instructions if i not in aside)


def iteration_of(loop: Instruction) -> Iteration:
    """The form of a `while` inside a fusion, which only loop interchange puts there.

    Raises:
        UnsupportedError: an element of the loop depends on elements of others.
    """
    found = find(loop)
    if found is None:
        raise UnsupportedError(f"a fusion with the loop {loop.name} inside", "code generation", "its elements depend")
    return found


def _has_plain_state(loop: Instruction) -> bool:
    """Whether the state is arrays only, taken apart by whoever reads it, and nothing else is a tuple on the way."""
    (initial,) = loop.operands
    shape = loop.shape
    if initial.opcode != "tuple" or not isinstance(shape, TupleShape) or loop.is_root or not loop.users:
        return False
    if not all(isinstance(leaf, ArrayShape) and not leaf.is_dynamic for leaf in shape.elements):
        return False
    states = [loop, *(c.parameters[0] for c in loop.called_computations())]
    if any(user.opcode != "get-tuple-element" for state in states for user in state.users):
        return False
    body: Computation = loop.attributes["body"]
    inner = [i for c in loop.called_computations() for i in c.instructions]
    whole = {body.root, *states}
    if not all(isinstance(i.shape, ArrayShape) for i in inner if i not in whole):
        return False
    return body.root.opcode == "tuple" and not any(map(is_ordered, (loop, *inner)))


def _is_piece(value: Instruction, number: int) -> bool:
    """Whether a value is that element of the state."""
    return value.opcode == "get-tuple-element" and value.attributes["index"] == number and _is_state(value.operands[0])


def _is_row(value: Instruction, number: int, condition: Computation) -> bool:
    """Whether a value is that element of the state, read by nobody else, with a reshaped array written into it."""
    if value.opcode != "dynamic-update-slice" or not _is_piece(value.operands[0], number):
        return False
    array, update, *starts = value.operands
    dims = array.array.dims
    asked = any(piece.attributes["index"] == number for piece in condition.parameters[0].users)
    pieces = [piece for piece in array.operands[0].users if piece.attributes["index"] == number]
    alone = not asked and pieces == [array] and len(array.users) == len(update.users) == len(value.users) == 1
    whole = update.array.dims == (1, *dims[1:]) and update.opcode == "reshape" and len(starts) == len(dims)
    return alone and whole and update.operands[0].array.dims == dims[1:]


def _is_number(value: Instruction, number: int) -> bool:
    """Whether a value is a constant scalar integer."""
    if value.opcode != "constant" or value.literal.array is None or not value.array.element_type.is_integer:
        return False
    return value.array.size == 1 and int(value.literal.array.reshape(-1)[0]) == number


def _is_state(value: Instruction) -> bool:
    return value.opcode == "parameter"


def depends_on(computation: Computation, numbers: Iterable[int]) -> set[Instruction]:
    """The instructions that depend on those elements of the state; the computation's order must be one of execution."""
    found: set[Instruction] = set()
    wanted = set(numbers)
    for instruction in computation.instructions:
        if instruction.opcode == "get-tuple-element":
            if instruction.attributes["index"] in wanted:
                found.add(instruction)
        elif any(operand in found for operand in instruction.operands):
            found.add(instruction)
    return found


def _stays_in_place(instruction: Instruction, varying: set[Instruction], dims: tuple[int, ...]) -> bool:
    """Whether an element of a value needs of the arrays only the elements at its own place."""
    if instruction.opcode in _PASSIVE:
        return True
    if instruction in varying:
        return is_elementwise(instruction) and instruction.array.dims == dims
    return is_fusible(instruction)


def _reduction(condition: Computation, arrays: tuple[int, ...]) -> Instruction | None:
    """The first part of a condition that is on the arrays."""
    varying = depends_on(condition, arrays)
    return next((conjunct for conjunct in _conjuncts(condition.root) if conjunct in varying), None)


def _asks_soundly(form: Iteration) -> bool:
    """Whether a condition is on scalars, but for the one reduction over the arrays."""
    condition, dims, alive = form.condition, form.dims, form.alive
    if alive is not None and not _is_any(alive, dims):
        return False
    varying = depends_on(condition, form.arrays)
    above = {value for value in varying if not value.array.rank and value is not alive}
    rest = [i for i in condition.instructions if i is not alive and i not in above]
    return all(_is_and(i) for i in above) and all(_stays_in_place(i, varying, dims) for i in rest)


def _conjuncts(root: Instruction) -> list[Instruction]:
    """The parts all of which must hold."""
    if not _is_and(root):
        return [root]
    return [conjunct for operand in root.operands for conjunct in _conjuncts(operand)]


def _is_and(value: Instruction) -> bool:
    return value.opcode == "and" and value.array.element_type is PRED and not value.array.rank


def _is_any(reduce: Instruction, dims: tuple[int, ...]) -> bool:
    """Whether a value says if any element of an array is true."""
    if reduce.opcode != "reduce" or len(reduce.operands) != 2 or reduce.operands[0].array.dims != dims:
        return False
    initial, reducer = reduce.operands[1], reduce.attributes["to_apply"].root
    is_or = reducer.opcode == "or" and {o.opcode for o in reducer.operands} == {"parameter"}
    whole = len(reduce.attributes["dimensions"]) == len(dims) and len(set(reducer.operands)) == 2
    return is_or and whole and initial.opcode == "constant" and not _bytes(initial.literal).strip(b"\0")


def _bytes(literal: Literal) -> bytes:
    return b"" if literal.array is None else literal.array.tobytes()


# -- elements that nothing is left to do for --------------------------------------------------------------------
def _rests(iteration: Iteration) -> bool:
    """Whether the body leaves an element alone for which the reduction's operand is false, and that stays so."""
    assert iteration.alive is not None
    asked, body = iteration.alive.operands[0], iteration.body
    moving = depends_on(iteration.condition, iteration.scalars)
    if asked in moving:
        return False
    known: dict[Instruction, bool] = {i: False for i in body.instructions if _same(asked, i)}
    if asked.opcode == "not":
        known |= {i: True for i in body.instructions if _same(asked.operands[0], i)}
    before = {piece.attributes["index"]: known.get(piece, piece) for piece in body.parameters[0].users}
    after = ((_settled(body.root.operands[n], known), n) for n in iteration.arrays)
    return all(value is before.get(n) or (isinstance(value, Instruction) and _is_piece(value, n)) for value, n in after)


def _same(left: Instruction, right: Instruction) -> bool:
    """Whether instructions of the condition and of the body compute the same from equal states."""
    if left.opcode != right.opcode or left.shape != right.shape or len(left.operands) != len(right.operands):
        return False
    if _is_state(left):
        return True
    return left.meaning == right.meaning and all(map(_same, left.operands, right.operands))


def _settled(value: Instruction, known: dict[Instruction, bool]) -> Instruction | bool:
    """What a value is where some truth values are known: False stands for zero of any type as well."""
    if value in known:
        return known[value]
    if value.opcode == "select":
        chosen = _settled(value.operands[0], known)
        return _settled(value.operands[1 if chosen else 2], known) if isinstance(chosen, bool) else value
    if value.opcode == "convert":
        return False if _settled(value.operands[0], known) is False else value
    if value.opcode == "not" and value.array.element_type is PRED:
        inner = _settled(value.operands[0], known)
        return not inner if isinstance(inner, bool) else value
    if value.array.element_type.is_float or value.array.element_type.is_complex:
        # Minus zero and zero are zero: nothing but a choice leaves it alone.
        return value
    return _settled_sum(value, known)


def _settled_sum(value: Instruction, known: dict[Instruction, bool]) -> Instruction | bool:
    """The same of `and`, `or`, and sums and products of integers."""
    if value.opcode not in ("and", "or", "xor", "add", "subtract", "multiply"):
        return value
    left, right = (_settled(operand, known) for operand in value.operands)
    if value.opcode in ("and", "multiply"):
        return False if left is False or right is False else value
    if right is False:
        return left
    return right if left is False and value.opcode != "subtract" else value
