"""Gathers whose windows stay the same along a row of the kernel that asks for their elements.

Such a gather looks up where a window begins once a row, outside the inner loop.  What is left of it there is a load
from another address than its own result's, so that computing an element again costs no more than reading it.
"""

from __future__ import annotations

from collections.abc import Set

from compiler.analysis.updates import is_elementwise
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape


def stays_along_rows(gather: Instruction, root: Instruction, between: Set[Instruction]) -> bool:
    """Whether a gather's windows are the same all along the last dimension of a kernel's result.

    Args:
        gather: the gather.
        root: what the kernel computes; its inner loop goes along the last dimension.
        between: what depends on the gather and the root on it, all of it in the kernel.
    """
    if not isinstance(root.shape, ArrayShape) or root.array.rank == 0:
        return False
    inner = max((dim for dim, size in enumerate(root.array.dims) if size > 1), default=0)
    known: dict[Instruction, frozenset[int] | None] = {root: frozenset({inner})}

    def varying(value: Instruction) -> frozenset[int] | None:
        """The dimensions of a value along which a row goes; None where nobody knows."""
        if value not in known:
            asked = [_asked(user, value, varying(user)) for user in value.users if user in between or user is root]
            known[value] = None if None in asked else frozenset().union(*(dims for dims in asked if dims))
        return known[value]

    along = varying(gather)
    return along is not None and not along & _counting_windows(gather)


def _counting_windows(gather: Instruction) -> frozenset[int]:
    """The dimensions of a gather's result that say which window."""
    return frozenset(range(gather.array.rank)) - frozenset(gather.attributes.get("offset_dims", ()))


def _asked(user: Instruction, value: Instruction, along: frozenset[int] | None) -> frozenset[int] | None:
    """The dimensions of a value along which its user asks for elements, given those of the user's own result."""
    if along is None:
        return None
    if is_elementwise(user) or user.opcode in ("slice", "reverse", "pad"):
        return along
    if user.opcode == "broadcast":
        return frozenset(dim for dim, to in enumerate(user.attributes.get("dimensions", ())) if to in along)
    if user.opcode == "transpose":
        return frozenset(user.attributes["dimensions"][dim] for dim in along)
    if user.opcode == "gather" and user.operands[0] is value and user.operands[1] is not value:
        return _asked_by_gather(user, along)
    return None


def _asked_by_gather(gather: Instruction, along: frozenset[int]) -> frozenset[int]:
    names = ("collapsed_slice_dims", "operand_batching_dims", "start_index_map")
    collapsed, batching, started = (frozenset(gather.attributes.get(name, ())) for name in names)
    offsets = gather.attributes.get("offset_dims", ())
    kept = [dim for dim in range(gather.operands[0].array.rank) if dim not in collapsed | batching]
    within = frozenset(dim for dim, offset in zip(kept, offsets, strict=True) if offset in along)
    return within | started | batching if along & _counting_windows(gather) else within
