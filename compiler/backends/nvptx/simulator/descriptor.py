"""Matrix descriptors: where in shared memory the rows of a warp group's operands lie.

Tensor cores read shared memory in pieces of 16 bytes.  Of a matrix whose terms lie side by side (K-major) a piece holds
terms of one row, of a matrix whose rows lie side by side (MN-major) it holds rows of one term.  Eight pieces, as wide
as the swizzle allows, make an atom; a descriptor says where the first atom begins and how far the others lie from it
(PTX ISA, "Asynchronous warpgroup level matrix shared memory layout"; the formulas are those of the layouts that
CUTLASS calls canonical).  A swizzle exchanges the pieces of an atom by bits of their addresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PIECE_BYTES = 16
"""What tensor cores read at once."""
PIECES_DEEP = 2
"""Pieces along the terms of one instruction, whose depth is 32 bytes of every type."""
_ATOM = 8
"""Rows, or terms, of an atom."""
_FIELD = 0x3FFF
"""The bits of an address or offset in a descriptor, in units of 16 bytes."""
_BASE_OFFSET = 0x7 << 49
"""The bits that say that a swizzle's pattern begins elsewhere than at a multiple of its size."""
_UNUSED = ~(_FIELD | _FIELD << 16 | _FIELD << 32 | _BASE_OFFSET | 0x3 << 62) & (1 << 64) - 1
"""The bits that have no meaning."""
_WIDTHS: Mapping[int, int] = {0: 16, 1: 128, 2: 64, 3: 32}
"""Bytes that each swizzle mode exchanges pieces among."""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What the 64 bits of a matrix descriptor say.

    Attributes:
        start: the address of the first piece, in bytes.
        leading: the leading-dimension offset, in bytes.
        stride: the stride-dimension offset, in bytes.
        width: bytes that the swizzle exchanges pieces among; 16 for none.
        has_base_offset: whether the swizzle's pattern begins elsewhere than at a multiple of its size.
        has_unused: whether a bit is set that has no meaning.
    """

    start: int
    leading: int
    stride: int
    width: int
    has_base_offset: bool
    has_unused: bool

    @classmethod
    def of(cls, bits: int) -> Descriptor:
        """The descriptor of these bits."""
        start, leading, stride = ((bits >> at & _FIELD) * PIECE_BYTES for at in (0, 16, 32))
        return cls(start, leading, stride, _WIDTHS[bits >> 62], bool(bits & _BASE_OFFSET), bool(bits & _UNUSED))

    def pieces(self, rows: int, *, is_deep: bool) -> NDArray[np.int64]:
        """The addresses of a matrix's pieces.

        Args:
            rows: of the matrix: rows of A, or columns of B.
            is_deep: whether terms lie side by side; then of shape (rows, 2), else of shape (terms, rows / 8).
        """
        found = self._of_terms(rows) if is_deep else self._of_rows(rows)
        return found ^ (found >> 3 & self.width - PIECE_BYTES)

    def _of_terms(self, rows: int) -> NDArray[np.int64]:
        """Pieces that hold terms of one row."""
        row, piece = np.arange(rows)[:, None], np.arange(PIECES_DEEP)
        step = self.leading if self.width == PIECE_BYTES else PIECE_BYTES
        return self.start + row % _ATOM * self.width + row // _ATOM * self.stride + piece * step

    def _of_rows(self, rows: int) -> NDArray[np.int64]:
        """Pieces that hold 8 rows of one term, all of 16 bits."""
        term, piece = np.arange(PIECES_DEEP * _ATOM)[:, None], np.arange(rows // _ATOM)
        across, along = (self.stride, self.leading) if self.width == PIECE_BYTES else (self.leading, self.stride)
        beside = self.width // PIECE_BYTES
        at_piece = piece % beside * PIECE_BYTES + piece // beside * across
        return self.start + term % _ATOM * self.width + term // _ATOM * along + at_piece
