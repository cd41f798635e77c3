"""Reductions whose last dimension is kept, and short: its results at once, each in vectors of its own.

Such a dimension holds the coordinates of a point, say, and what is reduced are weighted differences to other points.
In a vector along it most lanes would be empty.  Instead the lanes are neighbours along the innermost reduced loop, and
all results of the short dimension are accumulated beside each other: what does not depend on the dimension, the weight,
is then computed once for all of them, and so is, with several rows of results at a time, what they all read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from compiler.analysis.decision import Decision, no, unless
from compiler.backends.cpu.kernels.reduce.reduction_nest import ReductionNest, Walk
from compiler.backends.cpu.kernels.vectors.lanes import Counters, Lanes, Lanewise, Loops
from compiler.codegen import nest
from compiler.codegen.index import Emission, Index, constant
from compiler.codegen.llvm_ir import Value, integer

_MOST_COLUMNS = 4
"""Columns, at most."""
_MOST_VECTORS = 8
"""Vectors of accumulators that leave registers for what is computed."""


def fits(loops: ReductionNest) -> Decision:
    """Whether there are few columns, in one loop, and values that lanes may start from."""
    few = len(loops.loops[-1].loops) == 1 and 1 < loops.counts(reduced=False)[-1] <= _MOST_COLUMNS
    if not few:
        return no(f"the last dimension has more than {_MOST_COLUMNS} columns, or one")
    return unless(loops.form.identities is None, "there is nothing that lanes may start from")


def emit(loops: ReductionNest, emission: Emission, walk: Walk, lanes: Lanes) -> None:
    """Visit a thread's results, a few rows of columns at a time.

    Args:
        loops: the reduction.
        emission: where code is emitted, with what is known there.
        walk: what a thread visits.
        lanes: how vectors are made.
    """
    builder, form = emission.builder, loops.form
    *outer, columns = loops.counts(reduced=False)
    rows = math.prod(outer)
    side = next((n for n in (4, 2) if rows % n == 0 and n * columns * len(form.types) <= _MOST_VECTORS), 1)
    reduced = loops.counts(reduced=True)
    chained = lanes.chained(side * columns, reduced[-1], form.computed()[0])
    chunk = nest.share(builder, rows, *walk.share, align=side)
    with builder.loop(chunk.start, chunk.stop, step=side, name="rows") as loop:
        emission.enter()
        numbers = [builder.add(loop.index, integer(number)) for number in range(side)]
        many = [loops.counters(emission, number, outer) for number in numbers]

        def elements(kept: Sequence[Index], column: int, counters: Counters) -> list[Value]:
            return loops.elements(emission, [*kept, constant(column)], counters)

        start = walk.start(emission)
        reductions = [
            Lanewise([partial(elements, kept, column) for kept in many], loops.accumulators, start, form.identities)
            for column in range(columns)
        ]
        found = chained.reduce(emission, Loops(walk.ranges, reduced), *reductions)
        for row, kept in enumerate(many):
            for column, values in enumerate(found):
                mine = [builder.extract(value, row) for value in values] if side > 1 else values
                walk.finish(emission, loops.result_index([*kept, constant(column)]), mine)
        emission.leave()
