"""Chunks of lines that blocks sort, each by itself: how lines are cut, and where in the workspace sorted chunks lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from compiler.codegen.llvm_ir import Value

SHORT, LONG = 2048, 4096
"""Lines up to this length are sorted by one block, and by a network in its registers where there are many of them."""

_SMALL, _MANY_BLOCKS = (512, 1024), 128
"""Elements of chunks that take less time where there are few, and blocks that keep a GPU busy."""


def most_of(length: int, first: int, lines: int) -> int:
    """Elements of a chunk at most, where only the first ones of each are read afterwards.

    Args:
        length: of a line.
        first: how many of each chunk are read.
        lines: how many there are.
    """
    for most in _SMALL if length > SHORT else ():
        chunks = -(-length // most)
        if chunks * first <= most and chunks * lines <= _MANY_BLOCKS:
            return most
    return SHORT


@dataclass(frozen=True, slots=True)
class Chunks:
    """Lines cut into parts.

    Attributes:
        length: elements of a line.
        size: elements of each chunk, but for the last, which may have fewer.
        first: how many of each chunk are read afterwards.
        pair: in which pair of halves of the workspace they are sorted.
        before: the chunks whose first elements these lines are made of; None for the operands.
        network: whether they are sorted before any element moves.
        by_digits: whether that goes by digits.
        keeps_keys: whether keys lie beside the sorted chunks.
    """

    length: int
    size: int
    first: int = 0
    pair: int = 0
    before: Chunks | None = None
    network: bool = False
    by_digits: bool = False
    keeps_keys: bool = False

    @property
    def count(self) -> int:
        """Chunks of a line."""
        return -(-self.length // self.size)

    @property
    def levels(self) -> int:
        """Merges until a chunk is one run."""
        return (self.size - 1).bit_length()

    @property
    def half(self) -> int:
        """Where in the workspace the sorted chunks are."""
        return 2 * self.pair + (0 if self.network else self.levels % 2)


class Chunk(NamedTuple):
    """A chunk of a line: which ones it is of, where the line begins in the workspace, its first element and length."""

    of: Chunks
    line: Value
    first: Value
    length: Value
