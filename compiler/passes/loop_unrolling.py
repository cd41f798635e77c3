"""A loop of few known iterations over elementwise ops is written out, so that these can be fused with one another.

Between two iterations every piece of a loop's state goes through memory; written out, all iterations are one chain of
ops, which is one kernel, and what depends on the counter alone becomes constants (the rotations that ThreeFry takes in
turn are then instructions with the amount inside).  Loops that move data about large arrays are left alone: fusing
their iterations would compute neighbours again and again.  The trip count is found by counting: the condition compares
a piece of the state that starts as a constant, and to which the body adds a constant.

while(state)  ->  body(...body(body(state)))
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass

from compiler.analysis.effects import control_predecessors, is_repeatable
from compiler.analysis.opcodes import SPREADS
from compiler.analysis.updates import is_elementwise
from compiler.ir.control import is_ordered
from compiler.ir.module import Computation, Instruction, Module, inline
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import ArrayShape
from compiler.ir.types import Kind
from compiler.ops import Trait, having

_FREE = having(Trait.STRUCTURAL)
_SMALL = 64
"""Elements of an array that may be moved about in any way."""
_LARGE = 4096
"""Elements of an array whose way through memory is worth writing a loop out."""
_MOST_ITERATIONS = 32
"""Iterations that are written out: ThreeFry has 20 rounds; 64 compile in twice the time of the loop, and run no faster
(`reports/measured/2026-11-26-constants`)."""
_MOST_OPS = 64
"""Instructions that an unrolled loop may come to."""
_MOST_OPS_OF_LARGE = 320
"""And one over large arrays, where each iteration went through memory: ThreeFry 7.0 to 1.0 ms (11-21)."""
_ORDERS: dict[str, Callable[[int, int], bool]] = {
    "EQ": operator.eq, "NE": operator.ne, "LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge,
}  # fmt: skip
_MIRRORED = {"EQ": "EQ", "NE": "NE", "LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE"}


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    changed = False
    for computation in list(module.computations):
        loops = [i for i in computation.instructions if i.opcode == "while"]
        awaited = control_predecessors(computation) if loops else set()
        for loop in loops:
            ordered = loop in awaited or is_ordered(loop)
            trip_count = None if ordered else _iterations_to_write_out(loop)
            if trip_count is not None and fuel.spend("write out loop", loop):
                _write_out(loop, trip_count)
                changed = True
        if loops:
            computation.sort()
    return changed


def _write_out(loop: Instruction, trip_count: int) -> None:
    state = loop.operands[0]
    for _ in range(trip_count):
        state = inline(loop.attributes["body"], [state], loop.computation.add)
    loop.replace_uses_with(state)


def _iterations_to_write_out(loop: Instruction) -> int | None:
    """How often the loop iterates, None where that is not known or it is no loop to write out."""
    body: Computation = loop.attributes["body"]
    work = [i for i in body.instructions if i.opcode not in _FREE]
    if not all(map(_stays_in_place, work)) or not is_repeatable(loop):
        return None
    sizes = [i.array.size for i in work]
    most = _MOST_OPS_OF_LARGE if max(sizes, default=0) >= _LARGE else _MOST_OPS
    counter = _Counter.of(loop)
    return counter.trip_count(min(_MOST_ITERATIONS, most // max(len(work), 1))) if counter else None


def _stays_in_place(instruction: Instruction) -> bool:
    """Whether an op takes its elements from the same place of large operands."""
    if not isinstance(instruction.shape, ArrayShape) or instruction.array.is_dynamic:
        return False
    if is_elementwise(instruction):
        return True
    return instruction.opcode in SPREADS and all(o.array.size <= _SMALL for o in instruction.operands)


@dataclass(frozen=True, slots=True)
class _Counter:
    """The piece of a loop's state that decides how often it iterates."""

    start: int
    step: int
    bound: int
    direction: str
    limits: tuple[int, int]

    @staticmethod
    def of(loop: Instruction) -> _Counter | None:
        """Find it, if the loop is of that form."""
        compare: Instruction = loop.attributes["condition"].root
        if compare.opcode != "compare":
            return None
        direction = compare.attributes["direction"]
        piece, bound = compare.operands
        if piece.opcode == "constant":
            piece, bound, direction = bound, piece, _MIRRORED[direction]
        if not _is_piece(piece):
            return None
        body, number = loop.attributes["body"], piece.attributes["index"]
        if loop.operands[0].opcode != "tuple" or body.root.opcode != "tuple":
            return None
        numbers = (
            _constant(loop.operands[0].operands[number]),
            _step(body.root.operands[number], number),
            _constant(bound),
        )
        start, step, stop = numbers
        if start is None or step is None or stop is None:
            return None
        element_type = piece.array.element_type
        signed = element_type.is_signed
        limits = (-(1 << element_type.bits - 1) if signed else 0, (1 << element_type.bits - signed) - 1)
        return _Counter(start, step, stop, direction, limits)

    def trip_count(self, most: int) -> int | None:
        """The trip count; None beyond `most` or where the counter overflows."""
        value, goes_on = self.start, _ORDERS[self.direction]
        for iteration in range(most + 1):
            if not goes_on(value, self.bound):
                return iteration
            value += self.step
            if not self.limits[0] <= value <= self.limits[1]:
                return None
        return None


def _is_piece(instruction: Instruction) -> bool:
    """Whether a value is a piece of the state, of which the computation is given the whole."""
    return instruction.opcode == "get-tuple-element" and instruction.operands[0].opcode == "parameter"


def _constant(instruction: Instruction) -> int | None:
    """The integer that a constant is."""
    if instruction.opcode != "constant" or not isinstance(instruction.shape, ArrayShape):
        return None
    array = instruction.literal.array
    known = (
        array is not None and array.size == 1 and instruction.array.element_type.kind in (Kind.SIGNED, Kind.UNSIGNED)
    )
    return int(array.reshape(-1)[0]) if array is not None and known else None


def _step(after: Instruction, number: int) -> int | None:
    """What an iteration adds to piece `number` of the state."""
    if after.opcode != "add":
        return None
    before, step = after.operands
    if before.opcode == "constant":
        before, step = step, before
    return _constant(step) if _is_piece(before) and before.attributes["index"] == number else None
