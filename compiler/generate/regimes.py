"""The sizes of kernels at which back ends go other ways about them, in ranges that go together.

Which way it is hangs on several dimensions at once: few rows and long sums, many columns and longer sums than a block
has, results that no cache holds.  Within a range sizes are mostly no multiple of anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.generate.choices import Choices, chance, pick

Range = tuple[int, int]
Regime = tuple[Range, ...]

_WHOLE_PERCENT, _WHOLE = 20, 16
"""How often a size is a multiple of what vectors and tiles are."""


def sizes(choices: Choices, regimes: Sequence[Regime]) -> list[int]:
    """Sizes within one of several regimes.

    Args:
        choices: which they are.
        regimes: what they are drawn from.
    """
    return [_size(choices, within) for within in pick(choices, regimes)]


def in_words(size: int) -> int:
    """About so many elements, in whole words of 16 bytes whatever their type."""
    return max(_WHOLE, size - size % _WHOLE)


def _size(choices: Choices, within: Range) -> int:
    size = choices.integer(*within)
    return max(within[0], size - size % _WHOLE) if chance(choices, _WHOLE_PERCENT) else size


_AROUND_16_BITS: Range = (65_530, 65_545)
"""Numbers on both sides of how many there are of 16 bits: positions are held in so many as long as they fit."""

FACTORS: Sequence[Regime] = (
    ((1, 3), (17, 70), (17, 140), (2, 70)),
    ((1, 3), (5, 40), (3, 30), (2, 300)),
    ((1, 3), (1, 4), (17, 300), (17, 200)),
    ((1, 1), (2, 9), (3, 9), (8200, 12_000)),
    ((5, 20), (2, 20), (2, 20), (2, 40)),
    ((1, 3), (17, 300), (1, 4), (17, 200)),
    ((1, 2), (17, 90), (17, 140), (1, 3)),
    ((1, 1), (1, 2), (1, 3), (2, 3000)),
    ((1, 2), (9, 40), (9, 40), (1030, 2600)),
)
"""Batches, rows, columns and terms of products: tiles beside each other, sums along vectors, few rows, few sums so long
that they are split, many small ones, few columns, outer products, fewer results than threads, and
sums that are split although there are many."""
BLOCKED: Sequence[Regime] = (((1, 2), (3, 40), (520, 800), (4110, 4800)),)
"""The same in blocks of terms, columns and terms in bytes: more than two tiles of columns, and sums longer than a block
of 4 KiB."""
REDUCED: Sequence[Regime] = (
    ((1, 4), (6000, 20_000)), ((6000, 20_000), (1, 4)), ((20, 300), (17, 130)), ((2, 5), (30, 90), (30, 90)),
    ((300, 3000), (2, 9)), ((515, 540), (2050, 2200)), ((1, 2), _AROUND_16_BITS),
)  # fmt: skip
"""Arrays that are reduced: along few long lines, of few columns, of many, and such that no cache holds."""
SCANNED: Sequence[Regime] = (
    ((8200, 12_000),),
    ((2, 3), (8200, 9500)),
    ((3, 40), (20, 300)),
    ((9, 40), (3, 9), (5, 70)),
)
"""Arrays along which something runs: few lines longer than a block, many, and lines side by side."""
SORTED: Sequence[Regime] = (
    ((12_000, 20_000),), ((2, 3), (2500, 6000)), ((2500, 6000), (2, 3)), ((20, 60), (30, 300)), ((3, 300), (2, 20)),
    (_AROUND_16_BITS,), ((126, 135), (513, 600)),
)  # fmt: skip
"""Arrays that are sorted: lines that several threads sort together, that each sorts alone, and across; as many
positions as narrow numbers hold; and a longer line than a network sorts for each block of a GPU."""
CHOSEN: Sequence[Regime] = (((1, 2), (4000, 9000)), ((9, 40), (300, 700)), ((2, 3), (9000, 14_000)))
"""Arrays of whose lines a few are chosen."""
TRANSFORMED: Sequence[Regime] = (((2, 4), (300, 1100)), ((1000, 4200),), ((20, 40), (20, 60)), ((1, 2), (1030, 2300)))
"""Arrays that are transformed, by lengths with factors of all kinds, some of them longer than a block's memory."""
TRANSPOSED: Sequence[Regime] = (
    ((60, 130), (60, 130)),
    ((2, 5), (33, 80), (33, 80)),
    ((2000, 5000), (2, 6)),
    ((1040, 1040), (2064, 2064)),
)
"""Arrays that are turned around: beyond a tile, narrower than one, and such that go past the caches in whole lines."""
LOOKED_UP: Sequence[Regime] = (
    ((2, 300), (30, 40), (129, 200)),
    ((2, 300), (1, 1), (4100, 6000)),
    (_AROUND_16_BITS, (1, 1), (300, 600)),
)
"""The entries of a table, and the dimensions of the indices into it."""
UPDATED: Sequence[Regime] = (
    ((3, 700), (1, 1), (16_400, 20_000)),
    ((65, 150), (8, 40), (20, 90)),
    ((3, 20), (129, 600), (3, 30)),
    ((4300, 4400), (33, 36), (16_400, 17_000)),
    ((300, 400), (600, 700), (150, 200)),
    ((6, 60), (1, 4), (505, 700)),
    ((60, 400), (2, 5), (505, 900)),
    (_AROUND_16_BITS, (1, 1), (300, 600)),
)
"""Rows and columns that updates go to, and how many there are: more than elements, of short rows, of long ones, more
than anybody can learn whose they are, more than a cache holds, and more than pays without putting them in order, to
few rows and to many."""
SPARSE: Sequence[Regime] = (
    ((1, 40), (1, 20), (1, 20), (1, 5)),
    ((300, 3000), (3, 60), (20, 300), (1, 9)),
    ((300, 900), (500, 1500), (5, 40), (1, 4)),
)
"""Elements of sparse matrices, their rows and columns, and the columns of what they are multiplied by: few of each,
long rows, and more rows than elements."""
ROWS: Sequence[Regime] = (
    ((3, 40), (2, 15)), ((3, 60), (17, 300)), ((1, 5), (600, 3000)), ((2, 4), (3, 9), (20, 120)),
    ((1, 1), (9000, 16_384)), ((60, 700), (2, 40)), ((120, 270), (17, 140)),
)  # fmt: skip
"""Rows, shorter than a vector, many vectors long, so long that the registers of a block do not hold several, and so
many that some are done side by side, of which the last are fewer."""
LONG_ROWS: Sequence[Regime] = (((1, 2), (16_385, 20_000)), ((1, 2), (33_000, 40_000)))
"""Rows of which not even a block of a GPU holds what is kept in its registers."""
POOLED: Sequence[Regime] = (
    ((1, 3), (1, 3), (9, 40), (9, 40)), ((1, 2), (8, 40), (5, 14), (5, 14)), ((1, 1), (1, 1), (30, 90), (30, 90)),
)  # fmt: skip
"""Batches, features and spatial dimensions of images of which windows are looked at."""
FLAT: Sequence[Regime] = (
    ((250, 300),), ((1000, 1060),), ((4080, 4200),), ((3, 9), (250, 270)), ((120, 140), (30, 40)), ((65_500, 65_600),),
)  # fmt: skip
"""Arrays each element of which is computed alone, on both sides of what blocks, and threads of one, take of them."""
SLICED: Sequence[Regime] = (((20, 100), (30, 140)), ((3, 9), (9, 40), (9, 40)), ((9, 40), (2, 9)), ((3000, 6000),))
"""Arrays of which slices are read or updated."""
SQUARES: Sequence[Regime] = (((2, 9),), ((17, 40),), ((33, 70),))
"""How long the sides of squares are that several kernels go over, one after the other."""
FACTORISED: Sequence[Regime] = (((1, 3), (9, 40), (1, 40)), ((1, 1), (33, 100), (1, 9)), ((3, 7), (2, 9), (1, 5)))
"""Batches of matrices that are factorised or solved, their rows, and right-hand sides: in panels, and whole."""
SOLVED: Sequence[Regime] = (
    *FACTORISED, *FACTORISED, ((1, 3), (7, 9), (1, 4)), ((1, 3), (31, 34), (1, 18)), ((1, 2), (63, 66), (15, 18)),
    ((126, 130), (7, 10), (1, 2)), ((1, 1), (257, 264), (1, 2)),
)  # fmt: skip
"""The same where they are solved only: on both sides of what a thread, a warp and two of them have, of what is solved
in tiles, and of how many matrices are each a thread's; more rows than a block has threads for seldom: of a GPU that
takes a second."""
FEATURES: Sequence[Regime] = (
    ((16, 70), (16, 70), (1, 1), (5, 12)), ((1, 5), (2, 20), (1, 1), (20, 50)), ((1, 1), (1, 2), (16, 40), (6, 14)),
    ((3, 9), (3, 40), (2, 4), (6, 12)), ((260, 300), (100, 130), (1, 1), (5, 6)),
)  # fmt: skip
"""Features of convolutions that come in and go out of each group, groups, and how long spatial dimensions are; the last
are summed in several blocks."""
CHAINED: Sequence[Regime] = (((262_150, 280_000),),)
"""As many numbers as a table of all numbers of 16 bits is worth for."""
