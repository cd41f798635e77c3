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
from dataclasses import replace
from functools import cached_property, partial

from compiler.analysis.decision import Decision, no, unless
from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, begin, emit_nothing, parameters
from compiler.backends.cpu.kernels.loop.given import LoopGiven
from compiler.backends.cpu.kernels.loop.kernel import LOOPS
from compiler.backends.cpu.kernels.reduce import columns, few_columns
from compiler.backends.cpu.kernels.reduce.reduction_nest import ReductionNest, Walk
from compiler.backends.cpu.kernels.strategy import Functions, Given, Kind, Plan, Strategy, first_of
from compiler.backends.cpu.kernels.vectors.accumulators import Accumulators
from compiler.backends.cpu.kernels.vectors.interleaving import SHORT
from compiler.backends.cpu.kernels.vectors.lane_rules import fits
from compiler.backends.cpu.kernels.vectors.lanes import Counters, Lanes, Lanewise, Loops, at_lane, in_lane, row_lane
from compiler.backends.strategy import Declined, Detail
from compiler.codegen import cost, nest
from compiler.codegen.index import Emission, Index, Variable, whole
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm_ir import Module, Value, integer
from compiler.codegen.reduction import MINDS_ORDER, Reduction
from compiler.ir.shape import ArrayShape

_CHUNK_ELEMENTS = 8192
"""Elements of a chunk at most; what is reduced was often computed by both threads, who then have half of it near."""
_CHUNK_NS = 350.0
"""Work of a chunk at least."""
_MOST_CHUNKS = 64
"""Chunks of a reduction: each is a partial result that is combined by one thread in the end (flat from 16 to 256,
`reports/measured/2026-11-26-constants`)."""
_ENOUGH_UNITS = 16
"""Rows, or tiles of columns, from which on threads share them whole: what loops share in the same way is near then."""
_FEW_TERMS = 8
"""Terms of sums up to which neighbouring sums are better made side by side."""
_STREAMED = 512
"""Elements of a row from which on rows of an array that is in no cache are read one by one."""
_SHORT_END = 4
"""Instructions of reducers up to which lanes are soon combined at the end of a row: sums, extrema and moments.  An
argmax, of 12, took 300 us row by row and 220 side by side (`argmax_rows`, Zen 4)."""
_LARGE, _WIDE = 1 << 20, 2048
"""So many elements are in no cache; if rows have so many columns, threads share these, and each sums up all rows."""


class ReduceGiven(Given):
    """A reduction kernel with the loops that it is walked by, and what of it goes in vectors."""

    @cached_property
    def form(self) -> Reduction:
        """The reduction: its operands, and the dimensions along which they are reduced."""
        return Reduction(self.kernel)

    @cached_property
    def nest(self) -> ReductionNest:
        """The loops over kept and reduced dimensions."""
        form = self.form

        def touch(emission: Emission, at: Sequence[Index]) -> None:
            form.elements(emission, at)

        loops = nest.plan(self.scratch, parameters(self.kernel), [group.size for group in form.groups], touch)
        append = partial(form.combine, is_next=True)
        return ReductionNest(form, loops, Accumulators.of(form.reduces, self.machine, form.combine, append))

    @cached_property
    def chunks(self) -> int:
        """The number of chunks that the outermost reduced loop is cut into; depends on the program alone."""
        total, kept = math.prod(self.form.dims), self.form.kept
        units = kept
        if not self.form.is_row:
            last = self.nest.counts(reduced=False)[-1]
            units = kept // max(1, last) * -(-last // columns.TILE)
        whole = units >= _ENOUGH_UNITS or self.shares_columns
        if whole or not cost.pays_threads(self.cost_ns) or not total or self.form.identities is None:
            return 1
        outermost = self.nest.counts(reduced=True)[0]
        enough = max(total // _CHUNK_ELEMENTS, int(self.cost_ns / _CHUNK_NS))
        most = max(1, min(_MOST_CHUNKS // max(1, units), enough, outermost // 2))
        # A power of two is shared evenly among most numbers of threads.
        return 1 << (most.bit_length() - 1)

    @property
    def shares_columns(self) -> bool:
        """Whether threads take columns of their own; the order of sums hangs on this, so the shape alone decides."""
        wide = not self.form.is_row and self.nest.counts(reduced=False)[-1] >= _WIDE
        return wide and math.prod(self.form.dims) >= _LARGE

    @cached_property
    def lanes(self) -> Lanes | None:
        """The lanes along the innermost reduced loop; each has elements that are not neighbours.

        None where a reducer minds which comes first, and where what is reduced cannot be emitted on vectors.
        """
        if not self.form.in_any_order:
            return None
        reduced = self.nest.counts(reduced=True)
        computed, leaves = self.form.computed()
        if not fits([*computed, *self.form.reducers()], leaves):
            return None
        arrays = [i.array for i in (*computed, *leaves) if isinstance(i.shape, ArrayShape)]
        lanes = Lanes.choose(self.machine.has, arrays, reduced[-1])
        if lanes and self.form.identities is None and (len(reduced) > 1 or reduced[0] < lanes.width):
            return None
        return lanes

    @cached_property
    def result_lanes(self) -> Lanes | None:
        """Lanes of neighbouring results, None where what is computed of them cannot be emitted on vectors."""
        body, leaves = list(self.form.kernel.body()), [leaf for leaf, _ in self.form.kernel.leaves]
        if not fits([*(i for i in body if i not in self.form.reduces), *self.form.reducers()], leaves):
            return None
        arrays = [i.array for i in (*body, *leaves) if isinstance(i.shape, ArrayShape)]
        return Lanes.choose(self.machine.has, arrays, self.form.kept)

    @cached_property
    def column_lanes(self) -> Lanes | None:
        """Lanes of neighbouring results of one row of them, None as before."""
        found = self.result_lanes
        return found if found and self.nest.counts(reduced=False)[-1] >= found.width else None

    @property
    def few_columns(self) -> Decision:
        """Whether the results of the last dimension are accumulated beside each other."""
        if self.form.is_row:
            return no("the last dimensions are reduced")
        fitting = few_columns.fits(self.nest)
        if not self.form.in_any_order:
            return no(MINDS_ORDER)
        return fitting and unless(self.lanes is None, "not all that is reduced has a form on vectors")


def _sums_in_loop(given: ReduceGiven) -> Plan | Declined:
    """The plan of reductions of a few terms each, which are not read from memory one by one: those of a loop.

    Neighbouring results then lie in the lanes of vectors; along a row, vectors would be mostly empty.
    """
    kernel = given.kernel
    if not kernel.is_of_arrays:
        return Declined("it reduces several arrays at once")
    sizes = [(i.array.size, i.operands[0].array.size) for i in kernel.of_opcode("reduce")]
    if not all(kept >= SHORT and all_ <= _FEW_TERMS * kept for kept, all_ in sizes):
        return Declined(f"fewer than {SHORT} results, or sums of more than {_FEW_TERMS} terms")
    if not all(leaf.array.size <= kept < all_ for leaf, _ in kernel.leaves for kept, all_ in sizes):
        return Declined("terms are read from memory one by one")
    chosen = first_of(LOOPS, LoopGiven(kernel, given.machine, given.threads))
    return replace(chosen.plan, inner=chosen, details={})


def _nothing(given: ReduceGiven) -> Plan | Declined:
    """The plan of a reduction that keeps nothing."""
    if given.form.kept:
        return Declined("there are results")
    return given.plan(emit_nothing(given.kernel), 0.0, divisible=False)


def _rows(given: ReduceGiven) -> Plan | Declined:
    """The plan where the innermost loop runs along what is reduced."""
    if not given.form.is_row:
        return Declined("the last dimension is kept")
    return _plan(given, lanes=given.lanes.width if given.lanes else 1)


def _few_columns(given: ReduceGiven) -> Plan | Declined:
    """The plan where results of a short last dimension are accumulated beside each other."""
    decided = given.few_columns
    if not decided or not given.lanes:
        return Declined(decided.reason)
    return _plan(given, lanes=given.lanes.width)


def _columns(given: ReduceGiven) -> Plan | Declined:
    """The plan where accumulators of neighbouring results lie in L1."""
    if given.form.is_row:
        return Declined("the last dimensions are reduced")
    return _plan(given, tile=_tile(given))


def _tile(given: ReduceGiven) -> int:
    width = given.nest.counts(reduced=False)[-1]
    return columns.shared_tile(width, given.threads) if given.shares_columns else columns.TILE


def _plan(given: ReduceGiven, **details: Detail) -> Plan:
    """What is alike in the plans of all forms."""
    emitter, chunks = _Emitter(given), given.chunks
    details |= {"reduced_loops": given.nest.counts(reduced=True), "kept_loops": given.nest.counts(reduced=False)}
    if chunks == 1:
        return given.plan(emitter.reduce_all, given.cost_ns, divisible=given.form.kept > 1, details=details)
    partial_bytes = sum(given.form.partial_bytes(chunks))

    def emit(module: Module) -> Functions:
        return *emitter.reduce_chunks(module, chunks), emitter.combine_chunks(module, chunks)

    return given.plan(emit, given.cost_ns, shared_bytes=partial_bytes, details={"chunks": chunks, **details})


REDUCE = Kind(
    (
        Strategy("a few terms in a loop", _sums_in_loop),
        Strategy("nothing", _nothing),
        Strategy("rows", _rows),
        Strategy("few columns", _few_columns),
        Strategy("columns", _columns),
    ),
    ReduceGiven,
)
"""Reduction kernels."""


class _Emitter:
    """Emits the functions of one reduction kernel."""

    def __init__(self, given: ReduceGiven) -> None:
        self.given = given
        self.form = given.form
        self.nest = given.nest

    # -- functions ----------------------------------------------------------------------------------------------
    def reduce_all(self, module: Module) -> Functions:
        """One function from operands to results."""
        builder = LaneBuilder(begin(module, self.form.kernel))
        emission = Emission(builder)
        ranges = [nest.all_of(count) for count in self.nest.counts(reduced=True)]
        self._walk(emission, Walk((THREAD, THREADS), ranges, self.form.initial, self.form.finish))
        builder.ret()
        return (builder.function.name,)

    def reduce_chunks(self, module: Module, chunks: int) -> Functions:
        """The first of two functions: every chunk's partial results into the workspace."""
        builder = LaneBuilder(begin(module, self.form.kernel, ".partial"))
        emission = Emission(builder)
        outermost, *inner = self.nest.counts(reduced=True)
        mine = nest.share(builder, chunks, THREAD, THREADS)
        with builder.loop(mine.start, mine.stop, name="chunk") as loop:
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
        return (builder.function.name,)

    def combine_chunks(self, module: Module, chunks: int) -> str:
        """The second function: the partial results of each result combined in order."""
        builder = LaneBuilder(begin(module, self.form.kernel, ".combine"))
        builder.function.cold = chunks * self.form.kept <= _MOST_CHUNKS
        emission = Emission(builder)
        lanes = self.given.result_lanes
        chunk = nest.share(builder, self.form.kept, THREAD, THREADS, align=lanes.width if lanes else 1)

        def result(kept: Index) -> None:
            def step(counters: list[Value], carried: list[Value]) -> list[Value]:
                at = whole(Variable(counters[0], chunks)).times(self.form.kept) + kept
                found = self.form.load_partials(emission, at, chunks)
                return self.nest.accumulators.join(emission, carried, found)

            initial = self.form.initial(emission)
            opened = self.nest.accumulators.open(initial)
            if lanes:
                opened = [builder.lift(value, lanes.width) for value in opened]
            total = nest.nested(emission, [nest.all_of(chunks)], opened, step, scalar=True)
            self.form.finish(emission, kept, self.nest.met(emission, initial, total))

        if lanes:
            lanes.each(emission, Loops([chunk], [self.form.kept]), lambda counters: result(counters[0]))
        else:
            with builder.loop(chunk.start, chunk.stop, name="result") as loop:
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
        lanes = self.given.lanes
        if self.given.few_columns and lanes:
            few_columns.emit(self.nest, emission, walk, lanes)
        else:
            columns.emit(self.nest, emission, walk, _tile(self.given), self.given.column_lanes)

    def _rows(self, emission: Emission, walk: Walk) -> None:
        """Each result on its own, its accumulators in registers."""
        builder, counts = emission.builder, self.nest.counts(reduced=False)
        lanes, reduced = self.given.lanes, self.nest.counts(reduced=True)
        side = self._side(lanes, walk.share) if lanes else 1
        chunk = nest.share(builder, self.form.kept, *walk.share, align=side)
        with builder.loop(chunk.start, chunk.stop, step=side, name="row") as row:
            emission.enter()
            numbers = [builder.add(row.index, integer(number)) for number in range(side)]
            many = [self.nest.counters(emission, number, counts) for number in numbers]

            def elements(kept: Sequence[Index], counters: Counters) -> list[Value]:
                return self.nest.elements(emission, kept, counters)

            def step(counters: list[Value], carried: list[Value]) -> list[Value]:
                found = elements(many[0], self.nest.reduced_counters(counters))
                return self.form.combine(emission, carried, found, is_next=True)

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
        joins = share == (THREAD, THREADS) and self.given.result_lanes is not None
        length = math.prod(self.nest.counts(reduced=True))
        # What is in no cache is waited for longer than the short ends of rows, and comes fastest as one stream.
        is_short = len(self.form.reducers()) <= _SHORT_END
        streams = is_short and length >= _STREAMED and self.form.kept * length >= _LARGE
        return lanes.together(self.form.kept, length) if joins and not streams else 1
