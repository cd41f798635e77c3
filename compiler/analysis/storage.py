"""Memory for arrays: what a buffer is, and where in one block buffers lie whose lives are known.

Those alive at the same time must not overlap; the largest is placed first, each into the tightest gap.  Nothing is
aligned further than its own size asks for: a loop of scalars needs as many bytes as they have.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from compiler.ir.module import Instruction

ALIGNMENT = 64
"""Bytes: a cache line, and a vector of AVX-512."""


class Storage(enum.Enum):
    """The memory that a buffer is part of."""

    PARAMETER = "parameter"
    RESULT = "result"
    CONSTANT = "constant"
    ARENA = "arena"
    FRAME = "frame"
    """That of the function that runs a program, where each buffer has an address of its own."""


@dataclass(slots=True, eq=False)
class Buffer:
    """Memory for one array: its storage, its number there (or its offset in the arena), and when it is alive.

    What lies in a result before that is written has that result's number and an `offset` in it.
    """

    storage: Storage
    size_bytes: int
    owner: Instruction
    number: int = 0
    offset: int = 0
    first: int = 0
    last: int = 0

    def __str__(self) -> str:
        if self.storage is Storage.FRAME:
            return f"frame, {self.size_bytes} bytes"
        at = f"offset {self.offset}" if self.storage is Storage.ARENA else f"{self.number}"
        if self.storage is Storage.RESULT and self.offset:
            at += f" offset {self.offset}"
        return f"{self.storage.value} {at}, {self.size_bytes} bytes"

    def overlaps(self, other: Buffer) -> bool:
        """Whether the two may share a byte of memory."""
        if self is other:
            return True
        same = self.storage is other.storage and (self.storage is Storage.ARENA or self.number == other.number)
        if not same or self.storage not in (Storage.ARENA, Storage.RESULT):
            return False
        return self.offset < other.offset + other.size_bytes and other.offset < self.offset + self.size_bytes


def alignment_of(size_bytes: int) -> int:
    """The alignment of a buffer of that size in bytes: a cache line, or the power of two that it fits into."""
    return min(ALIGNMENT, 1 << max(0, size_bytes - 1).bit_length())


class _Placed:
    """Buffers that have their offsets, found by when they are alive.

    Those alive at a moment lie on the way from the root of a tree of spans, each half of the one above, to that moment:
    a buffer is kept at the least span that holds its life.  Most buffers live for a few instructions only, so that of
    many few are looked at.
    """

    def __init__(self) -> None:
        self._of_span: dict[tuple[int, int], list[tuple[int, Buffer]]] = {}
        self._count, self._levels = 0, 0

    def add(self, buffer: Buffer) -> None:
        """Keep a buffer."""
        level = (buffer.first ^ buffer.last).bit_length()
        self._of_span.setdefault((level, buffer.first >> level), []).append((self._count, buffer))
        self._count += 1
        self._levels = max(self._levels, level + 1)

    def alive_during(self, first: int, last: int) -> list[Buffer]:
        """Those alive at some time between two, in the order of their offsets, then as they were added."""
        found: list[tuple[int, int, Buffer]] = []
        for level in range(self._levels):
            for span in range(first >> level, (last >> level) + 1):
                for number, other in self._of_span.get((level, span), ()):
                    if other.first <= last and first <= other.last:
                        found.append((other.offset, number, other))
        return [buffer for _, _, buffer in sorted(found)]


def pack(buffers: Iterable[Buffer], may_share: Callable[[Buffer, Buffer], bool] | None = None) -> int:
    """Give each buffer an offset; returns the bytes needed for all.

    Args:
        buffers: what is placed.
        may_share: whether two that are not alive at the same time may share space; any may without it.
    """
    placed, earlier = _Placed(), list[Buffer]()
    end = 0
    for buffer in sorted(buffers, key=lambda b: (-b.size_bytes, b.first)):
        if may_share is None:
            rivals = placed.alive_during(buffer.first, buffer.last)
            placed.add(buffer)
        else:
            alive = [
                o for o in earlier if (o.first <= buffer.last and buffer.first <= o.last) or not may_share(buffer, o)
            ]
            rivals = sorted(alive, key=lambda o: o.offset)
            earlier.append(buffer)
        buffer.offset = _best_gap(rivals, buffer.size_bytes)
        end = max(end, buffer.offset + buffer.size_bytes)
    return end


def pack_into(results: Iterable[Buffer], buffers: Iterable[Buffer], spare: Mapping[Buffer, int]) -> None:
    """Put what fits, and is needed no more when a result is first written, into that result's memory.

    Results are not aligned any further than their elements; buffers that must be get so many bytes more to `spare`.

    Args:
        results: buffers that the caller gives, written last.
        buffers: what is placed; one that fits nowhere keeps no offset.
        spare: bytes more that a buffer needs to be aligned inside a result.
    """
    inside = {result: [result] for result in results}
    for buffer in sorted(buffers, key=lambda b: (-b.size_bytes, b.first)):
        for result, held in inside.items():
            size = buffer.size_bytes + spare.get(buffer, 0)
            if buffer.last >= result.first or size > result.size_bytes:
                continue
            rivals = [o for o in held[1:] if o.first <= buffer.last and buffer.first <= o.last]
            offset = _best_gap(sorted(rivals, key=lambda o: o.offset), size)
            if offset + size <= result.size_bytes:
                buffer.size_bytes = size
                buffer.storage, buffer.number, buffer.offset = Storage.RESULT, result.number, offset
                held.append(buffer)
                break


def _best_gap(rivals: Sequence[Buffer], size: int) -> int:
    align = alignment_of(size)
    position, best, best_size = 0, -1, -1
    for rival in rivals:
        gap = rival.offset - position
        if gap >= size and (best < 0 or gap < best_size):
            best, best_size = position, gap
        position = max(position, -(-(rival.offset + rival.size_bytes) // align) * align)
    return best if best >= 0 else position


def largest_live_set(buffers: Iterable[Buffer]) -> int:
    """The most bytes that are alive at one moment: no assignment can do with less."""
    changes: list[tuple[int, int]] = []
    for buffer in buffers:
        changes += [(buffer.first, buffer.size_bytes), (buffer.last + 1, -buffer.size_bytes)]
    live = most = 0
    for _, change in sorted(changes):
        live += change
        most = max(most, live)
    return most
