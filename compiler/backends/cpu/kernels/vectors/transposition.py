"""Transposition in registers: rows that lie along one dimension in memory become columns, without a gather."""

from __future__ import annotations

from compiler.codegen.llvm_ir import Builder, Value


def transpose(b: Builder, rows: list[Value], *, words: int = 1) -> list[Value]:
    """The columns of a square block given as vectors: log2 rounds, each of which exchanges blocks of half the size.

    Vectors longer than there are rows hold several blocks, each of which is transposed.

    Args:
        b: where code is emitted.
        rows: as many vectors as a block has rows, a power of two.
        words: lanes of an element.
    """
    size = len(rows)
    lanes = int(rows[0].type[1:].split(" ")[0]) // words
    distance = size // 2
    while distance:
        upper = [lane if not lane & distance else lane - distance + lanes for lane in range(lanes)]
        lower = [lane + distance if not lane & distance else lane + lanes for lane in range(lanes)]
        upper, lower = ([lane * words + word for lane in order for word in range(words)] for order in (upper, lower))
        for row in range(size):
            if not row & distance:
                pair = rows[row], rows[row + distance]
                rows[row], rows[row + distance] = b.shuffle(*pair, upper), b.shuffle(*pair, lower)
        distance //= 2
    return rows
