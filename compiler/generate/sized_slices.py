"""Slices of arrays whose sizes are known at run time only, some of whose own sizes are known before.

That is so wherever a slice lies within the size whatever the inputs are, which is the only way in which a result states
fewer such sizes than its operand, apart from a size that is set back: what keeps or drops the size of a wrong dimension
shows where others stay unknown before it and behind it.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.generate.choices import chance, pick, subset
from compiler.generate.scope import Scope
from compiler.ir.attributes import PaddingDimension, SliceDimension
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ir.windows import padded_size

_KNOWN_PERCENT = 50
"""How often a size of a slice is known."""


def cut_dimensions(value: Instruction) -> list[int]:
    """Those whose sizes are known at run time only."""
    return [dimension for dimension, is_cut in enumerate(value.array.dynamic) if is_cut]


def _least(value: Instruction, dimension: int) -> int:
    """What the size of a dimension is at least, whatever the inputs are, as far as its instruction tells."""
    if not (value.array.dynamic and value.array.dynamic[dimension]):
        return value.array.dims[dimension]
    if value.opcode == "pad":
        return padded_size(_least(value.operands[0], dimension), value.attributes["padding"][dimension])
    if value.opcode != "set-dimension-size":
        return 0
    array, size = value.operands
    if dimension not in value.attributes["dimensions"]:
        return _least(array, dimension)
    least = size.operands[1].literal if size.opcode == "add" else None
    return int(least.array) if least is not None and least.array is not None else 0


def sliced(scope: Scope, value: Instruction) -> Instruction | None:
    """A slice; where it lies within the size whatever that is, the size of the result may be stated to be known."""
    cut = cut_dimensions(value)
    known = subset(scope.choices, cut, _KNOWN_PERCENT) if len(cut) > 1 or chance(scope.choices, _KNOWN_PERCENT) else []
    room = [scope.choices.integer(1, 3) if d in known and not _least(value, d) else 0 for d in range(value.array.rank)]
    longer = longer_by(scope, value, room) if any(room) else value
    if longer is None:
        return None
    ranges = []
    for dimension, size in enumerate(longer.array.dims):
        most = _least(longer, dimension) if dimension in known else size
        start = scope.choices.integer(0, min(2, most - 1))
        limit = most - scope.choices.integer(0, min(2, most - 1 - start))
        ranges.append(SliceDimension(start, limit, pick(scope.choices, (1, 2, 3))))
    dims = tuple(-(-(kept.limit - kept.start) // kept.stride) for kept in ranges)
    flags = tuple(is_cut and d not in known for d, is_cut in enumerate(longer.array.dynamic))
    shape = ArrayShape(longer.array.element_type, dims, flags if any(flags) else ())
    return scope.build("slice", [longer], shape=shape, slice=tuple(ranges))


def longer_by(scope: Scope, value: Instruction, room: Sequence[int]) -> Instruction | None:
    """The value with so much behind it in each dimension; None where there is no room.

    Args:
        scope: where instructions are added.
        value: what is padded.
        room: how much, for each dimension.
    """
    padding = tuple(PaddingDimension(0, more) for more in room)
    if not scope.fits([padded_size(size, more) for size, more in zip(value.array.dims, padding, strict=True)]):
        return None
    return scope.build("pad", [value, scope.small_constant(value.array.element_type)], padding=padding)
