"""Trip counts that stand in the program: a counter goes up by a constant to a constant."""

from __future__ import annotations

from compiler.ir.module import Computation, Instruction
from compiler.ops import Trait, having

_ASKED = having(Trait.STRUCTURAL)
_SEEN_THROUGH = having(Trait.VIEW) | {"copy"}


def known_trip_count(loop: Instruction) -> int | None:
    """The trip count of a `while`; None where it is not known before."""
    condition: Computation = loop.attributes["condition"]
    body: Computation = loop.attributes["body"]
    root = condition.root
    if root.opcode != "compare" or root.attributes["direction"] != "LT":
        return None
    number, limit = _piece(root.operands[0]), _integer(root.operands[1])
    if number is None or limit is None:
        return None
    start, step = _start(loop, number), step_of(body, number)
    if start is None or step is None or step <= 0 or limit + step > _largest(root.operands[0]):
        return None
    return max(0, -(-(limit - start) // step))


def counted_trip_count(loop: Instruction) -> int | None:
    """The trip count of a loop whose condition only compares the counter, and need not be evaluated; else None."""
    condition: Computation = loop.attributes["condition"]
    asks = {i.opcode for i in condition.instructions if i is not condition.root} <= _ASKED
    return known_trip_count(loop) if asks else None


def _start(loop: Instruction, number: int) -> int | None:
    (initial,) = loop.operands
    return _integer(initial.operands[number]) if initial.opcode == "tuple" else None


def step_of(body: Computation, number: int) -> int | None:
    """The integer that each iteration of this body adds to a part of the state; None where that is no constant."""
    if body.root.opcode != "tuple":
        return None
    following, outside = _computed(_plain(body.root.operands[number]))
    if following.opcode != "add":
        return None
    for one, other in (following.operands, following.operands[::-1]):
        step = _integer(other)
        if _piece(outside.get(_plain(one), one)) == number and step is not None:
            return step
    return None


def _computed(value: Instruction) -> tuple[Instruction, dict[Instruction, Instruction]]:
    """What computes a value, within a fusion if it is of one; and of that one's parameters, what they are outside."""
    fusion = value.operands[0] if value.opcode == "get-tuple-element" else value
    if fusion.opcode != "fusion":
        return value, {}
    body: Computation = fusion.attributes["calls"]
    root = body.root.operands[value.attributes["index"]] if fusion is not value else body.root
    return _plain(root), dict(zip(body.parameters, fusion.operands, strict=True))


def _plain(value: Instruction) -> Instruction:
    while value.opcode in _SEEN_THROUGH and not value.array.rank:
        (value,) = value.operands
    return value


def _piece(value: Instruction) -> int | None:
    """Which part of the state, the computation's only parameter, a value is."""
    value = _plain(value)
    if value.opcode != "get-tuple-element" or value.operands[0].opcode != "parameter":
        return None
    return int(value.attributes["index"])


def _integer(value: Instruction) -> int | None:
    value = _plain(value)
    if value.opcode != "constant" or value.array.rank or not value.array.element_type.is_integer:
        return None
    return None if value.literal.array is None else int(value.literal.array)


def _largest(value: Instruction) -> int:
    type_ = value.array.element_type
    return int(2 ** (type_.bits - (type_.kind.name == "SIGNED")) - 1)
