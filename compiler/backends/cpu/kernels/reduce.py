"""Reduction kernels: rows, columns and anything between, with fused producers and epilogues, deterministic.

If the last group of dimensions is reduced (a row), the innermost loop runs along it with the accumulators in registers,
and `reassoc` lets LLVM keep several.  If the last group is kept (`columns`), a tile of accumulators for neighbouring
results lives in L1 and the reduced groups are walked outside, so that memory is still read in order; but if it is short
(`few_columns`), its results are accumulated beside each other along a reduced loop, as rows are.

Where there are too few results to share between threads, the outermost reduced loop is cut into a number of chunks that
depends on the shape alone; each chunk starts from the reducer's identity, and a second function combines the partial
results in order.  So results do not depend on how many threads run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from compiler.backends.cpu.kernels import columns, few_columns
from compiler.backends.cpu.kernels.chains import Accumulators
from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin, parameters
from compiler.backends.cpu.kernels.lane_rules import fits
from compiler.backends.cpu.kernels.lanes import Counters, Lanes, Lanewise, Loops, at_lane, in_lane, row_lane
from compiler.backends.cpu.kernels.reduction_nest import ReductionNest, Walk
from compiler.codegen import cost, nest
from compiler.codegen.index import Emission, Index, Variable, whole
from compiler.codegen.kernel import Kernel
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm import Target
from compiler.codegen.llvm_ir import Builder, Module, Value, integer
from compiler.codegen.reduction import Reduction
from compiler.ir.shape import ArrayShape

_CHUNK_ELEMENTS = 8192
"""Elements of a part at most; what is reduced was often computed by both threads, who then have half of it near."""
_CHUNK_NS = 350.0
"""Work of a part at least."""
_MOST_CHUNKS = 64
_ENOUGH_UNITS = 16
"""Rows, or tiles of columns, from which on threads share them whole: what loops share in the same way is near then."""
_FAR, _WIDE = 1 << 20, 2048
"""So many elements are in no cache; if rows have so many columns, threads share these, and each sums up all rows."""


def emit(module: Module, kernel: Kernel, target: Target, threads: int) -> EmittedKernel:
    """Emit a reduction kernel for calls with up to that many threads."""
    form = Reduction(kernel)
    if form.kept == 0:
        function = begin(module, kernel)
        Builder(function).ret()
        return EmittedKernel(kernel, (function.name,), 0, parallel=False, work=0.0)
    work = cost.nanoseconds(kernel)
    emitter = _Emitter(module, form, target, threads)
    chunks = emitter.chunks(work)
    if chunks == 1:
        parallel = form.kept > 1 and cost.pays(work)
        return EmittedKernel(kernel, (emitter.reduce_all(),), 0, parallel, work)
    names = (emitter.reduce_chunks(chunks), emitter.combine_chunks(chunks))
    return EmittedKernel(kernel, names, sum(form.partial_bytes(chunks)), parallel=True, work=work)


class _Emitter:
    """Emits the functions of one reduction kernel."""

    def __init__(self, module: Module, form: Reduction, target: Target, threads: int) -> None:
        self.module = module
        self.form = form
        self.target = target
        self.threads = threads

        def touch(emission: Emission, at: Sequence[Index]) -> None:
            self.form.elements(emission, at)

        loops = nest.plan(module, parameters(form.kernel), [group.size for group in form.groups], touch)
        self.nest = ReductionNest(form, loops, Accumulators.of(form.reduces, form.combine, target))

    def chunks(self, work: float) -> int:
        """How many parts the outermost reduced loop is cut into; depends on the program alone."""
        total, kept = math.prod(self.form.dims), self.form.kept
        units = kept
        if not self.form.is_row:
            last = self.nest.counts(reduced=False)[-1]
            units = kept // max(1, last) * -(-last // columns.TILE)
        whole = units >= _ENOUGH_UNITS or self._shares_columns
        if whole or not cost.pays(work) or not total or self.form.identities is None:
            return 1
        outermost = self.nest.counts(reduced=True)[0]
        enough = max(total // _CHUNK_ELEMENTS, int(work / _CHUNK_NS))
        most = max(1, min(_MOST_CHUNKS // max(1, units), enough, outermost // 2))
        # A power of two is shared evenly among most numbers of threads.
        return 1 << (most.bit_length() - 1)

    @property
    def _shares_columns(self) -> bool:
        """Whether threads take columns of their own; the order of sums hangs on this, so the shape alone decides."""
        wide = not self.form.is_row and self.nest.counts(reduced=False)[-1] >= _WIDE
        return wide and math.prod(self.form.dims) >= _FAR

    # -- functions ----------------------------------------------------------------------------------------------
    def reduce_all(self) -> str:
        """One function from operands to results."""
        builder = LaneBuilder(begin(self.module, self.form.kernel))
        emission = Emission(builder)
        ranges = [nest.all_of(count) for count in self.nest.counts(reduced=True)]
        self._walk(emission, Walk((THREAD, THREADS), ranges, self.form.initial, self.form.finish))
        builder.ret()
        return builder.function.name

    def reduce_chunks(self, chunks: int) -> str:
        """The first of two functions: every chunk's partial results into the workspace."""
        builder = LaneBuilder(begin(self.module, self.form.kernel, ".partial"))
        emission = Emission(builder)
        outermost, *inner = self.nest.counts(reduced=True)
        part = nest.share(builder, chunks, THREAD, THREADS)
        with builder.loop(part.start, part.stop, name="chunk") as loop:
            emission.enter()
            chunk = nest.share(builder, outermost, loop.index, integer(chunks))
            ranges = [chunk, *(nest.all_of(count) for count in inner)]
            base = whole(Variable(loop.index, chunks)).times(self.form.kept)

            def save(emission: Emission, kept: Index, values: Sequence[Value]) -> None:
                self.form.store_partials(emission, base + kept, chunks, values)

            everything = (integer(0), integer(1))
            self._walk(emission, Walk(everything, ranges, lambda _: self.form.identities or [], save))
            emission.leave()
        builder.ret()
        return builder.function.name

    def combine_chunks(self, chunks: int) -> str:
        """The second function: the partial results of each result combined in order."""
        builder = LaneBuilder(begin(self.module, self.form.kernel, ".combine"))
        emission = Emission(builder)
        lanes = self._result_lanes()
        part = nest.share(builder, self.form.kept, THREAD, THREADS, align=lanes.width if lanes else 1)

        def result(kept: Index) -> None:
            def step(counters: list[Value], carried: list[Value]) -> list[Value]:
                at = whole(Variable(counters[0], chunks)).times(self.form.kept) + kept
                found = self.form.load_partials(emission, at, chunks)
                return self.nest.accumulators.join(emission, carried, found)

            initial = self.form.initial(emission)
            opened = self.nest.accumulators.open(initial)
            if lanes:
                opened = [builder.lift(value, lanes.width) for value in opened]
            total = nest.nested(emission, [nest.all_of(chunks)], opened, step)
            self.form.finish(emission, kept, self.nest.met(emission, initial, total))

        if lanes:
            lanes.each(emission, Loops([part], [self.form.kept]), lambda counters: result(counters[0]))
        else:
            with builder.loop(part.start, part.stop, name="result") as loop:
                emission.enter()
                result(whole(Variable(loop.index, self.form.kept)))
                emission.leave()
        builder.ret()
        return builder.function.name

    # -- forms --------------------------------------------------------------------------------------------------
    def _walk(self, emission: Emission, walk: Walk) -> None:
        """Visit this thread's results, reduce over the ranges of the reduced loops, and finish each."""
        if self.form.is_row:
            self._rows(emission, walk)
            return
        lanes = self._lanes() if few_columns.fits(self.nest) else None
        if lanes:
            few_columns.emit(self.nest, emission, walk, lanes)
        else:
            width = self.nest.counts(reduced=False)[-1]
            tile = columns.shared_tile(width, self.threads) if self._shares_columns else columns.TILE
            columns.emit(self.nest, emission, walk, tile)

    def _rows(self, emission: Emission, walk: Walk) -> None:
        """Each result on its own, its accumulators in registers."""
        builder, counts = emission.builder, self.nest.counts(reduced=False)
        lanes, reduced = self._lanes(), self.nest.counts(reduced=True)
        side = self._side(lanes, walk.share) if lanes else 1
        part = nest.share(builder, self.form.kept, *walk.share, align=side)
        with builder.loop(part.start, part.stop, step=side, name="row") as row:
            emission.enter()
            numbers = [builder.add(row.index, integer(number)) for number in range(side)]
            many = [self.nest.counters(emission, number, counts) for number in numbers]

            def elements(kept: Sequence[Index], counters: Counters) -> list[Value]:
                return self.nest.elements(emission, kept, counters)

            def step(counters: list[Value], carried: list[Value]) -> list[Value]:
                return self.form.combine(emission, carried, elements(many[0], self.nest.reduced_counters(counters)))

            if lanes:
                rows = [partial(elements, kept) for kept in many]
                reduction = Lanewise(rows, self.nest.accumulators, walk.start(emission), self.form.identities)
                chained = lanes.chained(side, reduced[-1], self.form.computed()[0])
                (result,) = chained.reduce(emission, Loops(walk.ranges, reduced), reduction)
            else:
                result = nest.nested(emission, walk.ranges, walk.start(emission), step)
            lane = row_lane(emission, row.index, side, self.form.kept) if side > 1 else None
            with in_lane(emission, lane):
                walk.finish(emission, at_lane(lane) if lane else whole(Variable(row.index, self.form.kept)), result)
            emission.leave()

    def _side(self, lanes: Lanes, share: tuple[Value, Value]) -> int:
        """How many rows are walked side by side."""
        joins = share == (THREAD, THREADS) and self._result_lanes() is not None
        return lanes.together(self.form.kept, math.prod(self.nest.counts(reduced=True))) if joins else 1

    def _lanes(self) -> Lanes | None:
        """The lanes along the innermost reduced loop; None where what is reduced cannot be emitted on vectors."""
        reduced = self.nest.counts(reduced=True)
        computed, leaves = self.form.computed()
        if not fits([*computed, *self.form.reducers()], leaves):
            return None
        arrays = [i.array for i in (*computed, *leaves) if isinstance(i.shape, ArrayShape)]
        lanes = Lanes.choose(self.target.has, arrays, reduced[-1])
        if lanes and self.form.identities is None and (len(reduced) > 1 or reduced[0] < lanes.width):
            return None
        return lanes

    def _result_lanes(self) -> Lanes | None:
        """Lanes of neighbouring results, None where what is computed of them cannot be emitted on vectors."""
        body, leaves = list(self.form.kernel.body()), [leaf for leaf, _ in self.form.kernel.leaves]
        if not fits([*(i for i in body if i not in self.form.reduces), *self.form.reducers()], leaves):
            return None
        arrays = [i.array for i in (*body, *leaves) if isinstance(i.shape, ArrayShape)]
        return Lanes.choose(self.target.has, arrays, self.form.kept)
