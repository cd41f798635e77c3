"""The loop nest of a reduction kernel, common to its forms: loops over its dimensions, and a visit of its results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.backends.cpu.kernels.vectors.accumulators import Accumulators
from compiler.codegen import nest
from compiler.codegen.index import Emission, Index, Variable, linear, whole
from compiler.codegen.llvm_ir import Value
from compiler.codegen.reduction import Reduction

Finish = Callable[[Emission, Index, Sequence[Value]], None]
"""What is done with the accumulators of one result, given its linear index."""


@dataclass(frozen=True, slots=True)
class Walk:
    """A visit of results: which thread of how many, ranges of the reduced loops, first values, what becomes of each."""

    share: tuple[Value, Value]
    ranges: Sequence[nest.Range]
    start: Callable[[Emission], list[Value]]
    finish: Finish


@dataclass(frozen=True, slots=True)
class ReductionNest:
    """A reduction with the loops that each of its groups is walked by; a *counter* is the index of one of them."""

    form: Reduction
    loops: Sequence[nest.LoopNest]
    accumulators: Accumulators

    def counts(self, *, reduced: bool) -> list[int]:
        """The iterations of the loops over all reduced, or all kept, groups, outermost first."""
        pairs = zip(self.form.groups, self.loops, strict=True)
        return [count for group, loops in pairs if group.reduced == reduced for count in loops.loops]

    def counters(self, emission: Emission, index: Value, counts: Sequence[int]) -> list[Index]:
        """One counter for each loop from a linear index over all of them, computed here and now.

        Args:
            emission: where code is emitted.
            index: counts all iterations, an i64.
            counts: iterations of each loop.
        """
        rest = emission.opaque(index, math.prod(counts))
        result: list[Index] = []
        for count in reversed(counts[1:]):
            rest, counter = emission.divide(rest, count)
            result.append(emission.opaque(emission.value(counter), count))
        if counts:
            result.append(emission.opaque(emission.value(rest), counts[0]))
        return result[::-1]

    def reduced_counters(self, values: Sequence[Value]) -> list[Index]:
        """The counters of the reduced loops from their values."""
        counts = self.counts(reduced=True)
        return [whole(Variable(value, count)) for value, count in zip(values, counts, strict=True)]

    def elements(self, emission: Emission, kept: Sequence[Index], reduced: Sequence[Index]) -> list[Value]:
        """The operands' elements at a point, given by the counters of the kept and of the reduced loops.

        Args:
            emission: where code is emitted.
            kept: counters of the loops over dimensions of the result.
            reduced: counters of those over dimensions that are reduced.
        """
        queues = {False: iter(kept), True: iter(reduced)}
        pairs = zip(self.form.groups, self.loops, strict=True)
        at = [loops.combine([next(queues[group.reduced]) for _ in loops.loops]) for group, loops in pairs]
        return self.form.elements(emission, at)

    def result_index(self, kept: Sequence[Index]) -> Index:
        """The linear index of a result from the counters of the kept loops."""
        return linear(kept, self.counts(reduced=False))

    def met(self, emission: Emission, initial: Sequence[Value], kept: Sequence[Value]) -> list[Value]:
        """The values that are kept; what was kept in another form has not met its initial value yet.

        Args:
            emission: where code is emitted.
            initial: the reduction's start values.
            kept: what its accumulators came to.
        """
        values = self.accumulators.values(emission, kept)
        met = self.form.combine(emission, initial, values)
        return [m if e else v for v, m, e in zip(values, met, self.accumulators.extrema, strict=True)]
