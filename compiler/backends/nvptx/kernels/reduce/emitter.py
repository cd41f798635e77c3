"""What writes the functions of a reduction kernel: who takes which elements, and how what they have is combined.

Where results are of the same elements, as sums over all pairs are, a block makes a few of them and reads those once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, reduce

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.teams.team import Strided, Team, shared
from compiler.backends.nvptx.kernels.teams.tree import Block, power_of_two
from compiler.codegen import nest
from compiler.codegen.index import Emission, Index, Variable, reshape, whole
from compiler.codegen.llvm_ir import Builder, Module, Value, integer
from compiler.codegen.reduction import Reduction
from compiler.ir.shape import leaves

_WARPS, _WARPS_OF_FEW, _FEW_BLOCKS = 8, 16, 132
"""Warps of a block that share a strip of columns, 256 threads; and of one of fewer blocks than an H100 has
multiprocessors, each of which has room for more."""
_STRIP_BLOCKS = 512
"""Blocks that strips are cut for: about four for each of the 108 to 132 multiprocessors of an A100 or H100."""
_STRIP_CHUNK, _STRIP_LONG = 64, 1024
"""Rows that a chunk of a strip has at least, as its warps ask for so many at once; and rows from which on it is worth
a second launch: to wait some ten times takes as long."""
_LONG = 16384
"""Elements of a result from which on chunks of it are worth a second launch of 2 us (estimated)."""
_CHUNK = 4096
"""Elements of a chunk at least: 16 for each thread of a block."""
_MOST_CHUNKS = 512
"""Blocks that chunks of all results are cut for, about four for each multiprocessor."""
_RESULTS, _READ_OFTEN = (4, 3, 2), 64
"""How many results a block makes at most, and how often elements are read from which on it makes several."""
_AT_ONCE = 8
"""Elements, or pieces of rows, that a thread asks for at once; and what they may take in bytes and in instructions."""
_AT_ONCE_BYTES = 64
"""Bytes that a thread has on their way at once: 16 registers."""
_AT_ONCE_BODY = 128
"""Instructions of the body for all elements that are on their way at once, as the code grows with them: two for each
element of 1 byte in `_AT_ONCE_BYTES`."""
_LANE_BYTES = 4
"""Bytes of neighbouring elements that a lane of a strip reads at once: a warp reads a line of 128 bytes."""

Elements = Callable[[Emission, Index], list[Value]]
"""Emits the values to be combined at a position of the reduction."""


class Emitter:
    """Emits the functions of one reduction kernel; `length` is how many elements make one result."""

    def __init__(self, module: Module, form: Reduction) -> None:
        self.module = module
        self.form = form
        self.length = 1
        for group in form.groups:
            self.length *= group.size if group.reduced else 1
        self.team = self._team()
        self.pieces = self.length // self.team.neighbours
        """What a row falls into that is read at once."""

    @property
    def _widest(self) -> int:
        """Bytes of the widest elements."""
        return max(operand.array.element_type.size_bytes for operand, _ in self.form.accumulators)

    def _team(self) -> Team:
        """Who reduces a row: of one alone all warps of a block, where a single one would take longer."""
        rows = max(self.length, 1), self.form.kept, self._widest
        team = replace(Team.of(*rows), in_order=not self.form.in_any_order)
        if self.form.kept != 1:
            return team
        larger = replace(Team.of(*rows, grid.BLOCK), in_order=team.in_order)
        return team.for_row_alone(larger, sum(1 for _ in self.form.kernel.body()), 1)

    def thread_per_result(self) -> Launch:
        """Each thread reduces one result; neighbouring threads read neighbouring elements."""
        form = self.form
        threads = min(grid.BLOCK, form.kept)
        builder = grid.begin(self.module, form.kernel, threads)
        number = grid.linear_thread(builder, threads)
        with builder.when(builder.compare("slt", number, integer(form.kept)), "inside"):
            emission = Emission(builder)
            kept = emission.opaque(number, form.kept)

            def step(counters: list[Value], carried: list[Value]) -> list[Value]:
                position = whole(Variable(counters[0], self.length))
                return form.combine(emission, carried, self._elements(kept)(emission, position))

            result = nest.nested(emission, [nest.all_of(self.length)], form.initial(emission), step)
            form.finish(emission, kept, result)
        builder.ret()
        return Launch(builder.function.name, grid.blocks_for(form.kept, threads), threads)

    def block_chunks(self) -> int:
        """Into how many chunks each reduction is cut in the block form."""
        if self.length < _LONG or self.form.kept >= _MOST_CHUNKS:
            return 1
        return min(_MOST_CHUNKS // self.form.kept, self.length // _CHUNK)

    @cached_property
    def lane_results(self) -> int:
        """How many neighbouring results a lane of a strip has: several of narrow types, where strips are many."""
        many = max(1, min(_LANE_BYTES // self._widest, self.form.groups[-1].size & -self.form.groups[-1].size))
        while many > 1 and self._strips(many) * self._strip_chunks(many) < _STRIP_BLOCKS // 2:
            many //= 2
        return many

    def _strips(self, many: int) -> int:
        return -(-self.form.kept // (grid.WARP * many))

    def _strip_chunks(self, many: int) -> int:
        if self.length < _STRIP_LONG:
            return 1
        return max(1, min(_STRIP_BLOCKS // self._strips(many), self.length // _STRIP_CHUNK))

    def strip_chunks(self) -> int:
        """Into how many chunks each reduction is cut in the strip form."""
        return self._strip_chunks(self.lane_results)

    def block_per_strip(self, chunks: int) -> Launch:
        """Each block reduces one chunk of neighbouring results, one or a few for each lane of a warp."""
        form, many = self.form, self.lane_results
        strips, words = self._strips(many), form.kept // many
        most = _WARPS if strips * chunks >= _FEW_BLOCKS else _WARPS_OF_FEW
        warps = power_of_two(min(most, self.length // chunks))
        threads = warps * grid.WARP
        builder = grid.begin(self.module, form.kernel, threads, "_partial" if chunks > 1 else "")
        emission = Emission(builder)
        chunk, strip = emission.divide(emission.opaque(grid.block(builder), strips * chunks), strips)
        lane = builder.binary("and", grid.thread(builder), integer(grid.WARP - 1))
        warp = builder.binary("lshr", grid.thread(builder), integer(5))
        number = builder.add(emission.value(strip.times(grid.WARP)), lane)
        # Lanes beyond the last result do its work again, and do not store it.
        first = emission.opaque(builder.umin(number, integer(words - 1)), words).times(many)
        kept = [first.plus(one) for one in range(many)]
        values = self._strided(
            emission,
            shared(
                builder,
                nest.share(builder, self.length, emission.value(chunk), integer(chunks)),
                (warp, warps),
                in_order=self.team.in_order,
            ),
            (self.length, self._at_once(self.length // chunks // warps, many)),
            self._elements_of([self._elements(one) for one in kept]),
        )
        values = Block(form.kernel.name, threads, form.types * many).reduce_strips(emission, values, self._combine)
        is_first = builder.compare("eq", warp, integer(0))
        with builder.when(builder.binary("and", is_first, builder.compare("slt", number, integer(words))), "first"):
            for result, own in zip(kept, self._of_each(values), strict=True):
                emission.enter()
                if chunks == 1:
                    form.finish(emission, result, form.combine(emission, form.initial(emission), own))
                else:
                    form.store_partials(emission, chunk.times(form.kept) + result, chunks, own)
                emission.leave()
        builder.ret()
        return Launch(builder.function.name, strips * chunks, threads)

    def team_per_result(self) -> Launch:
        """Each team of threads reduces one result."""
        form, team = self.form, self.team
        builder = grid.begin(self.module, form.kernel, team.block)
        emission = Emission(builder)
        lane = team.position(emission, form.kept)
        elements = self._elements(lane.row)
        pieces = team.pieces(emission, lane.number)
        total = team.fold(emission, pieces, lambda position: elements(emission, position), form.combine)
        total = team.reduce(form.kernel.name, emission, (total, form.types), form.combine)
        self._finish(emission, lane.is_first(builder), lane.row, total)
        builder.ret()
        return Launch(builder.function.name, grid.blocks_for(form.kept, team.rows), team.block)

    def _results(self) -> int:
        """How many results a block makes: where they are of the same elements, these are read for several at once."""
        kept, read = self.form.kept, sum(leaf.size for one in self.form.kernel.inputs for leaf in leaves(one.shape))
        if self.length * kept < _READ_OFTEN * read:
            return 1
        return next((many for many in _RESULTS if kept % many == 0 and kept // many >= _STRIP_BLOCKS), 1)

    def block_per_result(self) -> Launch:
        """Each block reduces one result, or a few that lie behind each other."""
        threads, many = power_of_two(min(grid.BLOCK, self.pieces)), self._results()
        builder = grid.begin(self.module, self.form.kernel, threads)
        emission, blocks = Emission(builder), self.form.kept // many
        first = emission.opaque(grid.block(builder), blocks).times(many)
        kept = [emission.opaque(emission.value(first.plus(number)), self.form.kept) for number in range(many)]
        elements, trip_count = self._elements_of([self._piece(one) for one in kept]), self.pieces // threads
        found = self._block(emission, nest.all_of(self.pieces), (self.pieces, trip_count), threads, elements)
        for one, own in zip(kept, self._of_each(found), strict=True):
            self._finish_first(emission, one, own)
        builder.ret()
        return Launch(builder.function.name, blocks, threads)

    def block_per_chunk(self, chunks: int) -> Launch:
        """Each block reduces one chunk of one result into the workspace."""
        form = self.form
        threads = power_of_two(min(grid.BLOCK, self.pieces // chunks))
        builder = grid.begin(self.module, form.kernel, threads, "_partial")
        emission = Emission(builder)
        number = Variable(grid.block(builder), form.kept * chunks)
        chunk, kept = emission.divide(whole(number), form.kept)
        chunk_range = nest.share(builder, self.pieces, emission.value(chunk), integer(chunks))
        trip_count = self.pieces // chunks // threads
        result = self._block(emission, chunk_range, (self.pieces, trip_count), threads, self._piece(kept))
        with builder.when(builder.compare("eq", grid.thread(builder), integer(0)), "first"):
            emission.enter()
            form.store_partials(emission, whole(number), chunks, result)
            emission.leave()
        builder.ret()
        return Launch(builder.function.name, form.kept * chunks, threads)

    def combine_chunks(self, chunks: int) -> Launch:
        """Combine the partial results: where results are many a thread each, else a block each."""
        form = self.form
        if form.kept >= grid.BLOCK:
            return grid.for_each(self.module, form.kernel, form.kept, self._combine_alone(chunks), "_combine")
        threads = power_of_two(chunks)
        builder = grid.begin(self.module, form.kernel, threads, "_combine")
        emission = Emission(builder)
        kept = emission.opaque(grid.block(builder), form.kept)

        def partial(emission: Emission, chunk: Index) -> list[Value]:
            return form.load_partials(emission, chunk.times(form.kept) + kept, chunks)

        result = self._block(emission, nest.all_of(chunks), (chunks, chunks // threads), threads, partial)
        self._finish_first(emission, kept, result)
        builder.ret()
        return Launch(builder.function.name, form.kept, threads)

    def _combine_alone(self, chunks: int) -> Callable[[Builder, Value], None]:
        """A thread combines the partial results of one result, which neighbours have beside its own."""
        form = self.form

        def combine(builder: Builder, number: Value) -> None:
            emission = Emission(builder)
            kept = emission.opaque(number, form.kept)

            def partial(emission: Emission, chunk: Index) -> list[Value]:
                return form.load_partials(emission, chunk.times(form.kept) + kept, chunks)

            positions = Strided(integer(0), integer(chunks), 1)
            values = self._strided(emission, positions, (chunks, self._at_once(chunks, 1)), partial)
            form.finish(emission, kept, form.combine(emission, form.initial(emission), values))

        return combine

    # -- pieces -------------------------------------------------------------------------------------------------
    def _elements(self, kept: Index) -> Elements:
        """The operands' elements of a result by their position in the reduction."""

        def at(emission: Emission, position: Index) -> list[Value]:
            form = self.form
            indices: dict[bool, list[Index]] = {}
            for reduced, linear, count in ((True, position, self.length), (False, kept, form.kept)):
                sizes = [group.size for group in form.groups if group.reduced == reduced]
                indices[reduced] = reshape(emission, (linear,), (count,), sizes)
            queues = {reduced: iter(found) for reduced, found in indices.items()}
            return form.elements(emission, [next(queues[group.reduced]) for group in form.groups])

        return at

    def _piece(self, kept: Index) -> Elements:
        """The combined elements of a piece of a result's row by the piece's number."""
        elements = self._elements(kept)

        def at(emission: Emission, piece: Index) -> list[Value]:
            first = piece.times(self.team.neighbours)
            found = [elements(emission, first.plus(number)) for number in range(self.team.neighbours)]
            return reduce(lambda left, right: self.form.combine(emission, left, right), found)

        return at

    def _block(
        self, emission: Emission, chunk: nest.Range, extent: tuple[int, int], threads: int, elements: Elements
    ) -> list[Value]:
        """Reduce `chunk` of so many elements, of which each thread has one, or so many, at least; right in thread 0."""
        builder, (count, trip_count) = emission.builder, extent
        at_once = self._at_once(trip_count, self.team.neighbours)
        mine = shared(builder, chunk, (grid.thread(builder), threads), in_order=self.team.in_order)
        values = self._strided(emission, mine, (count, at_once), elements)
        types = self.form.types * (len(values) // len(self.form.types))
        return Block(self.form.kernel.name, threads, types).reduce(emission, values, self._combine)

    def _combine(self, emission: Emission, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        """The accumulators of one result, or of several, of two sets of them."""
        pairs = zip(self._of_each(left), self._of_each(right), strict=True)
        return [value for one, other in pairs for value in self.form.combine(emission, one, other)]

    def _of_each(self, values: Sequence[Value]) -> list[Sequence[Value]]:
        """The accumulators of several results, those of each by themselves."""
        size = len(self.form.types)
        return [values[at : at + size] for at in range(0, len(values), size)]

    @staticmethod
    def _elements_of(each: Sequence[Elements]) -> Elements:
        """What lies at a position of several results."""
        return lambda emission, position: [value for of_one in each for value in of_one(emission, position)]

    def _at_once(self, trip_count: int, neighbours: int) -> int:
        """How many elements, each of so many neighbours, a thread with `trip_count` of them asks for at once."""
        body = sum(1 for _ in self.form.kernel.body()) * neighbours
        size = sum(operand.array.element_type.size_bytes for operand, _ in self.form.accumulators) * neighbours
        return power_of_two(max(1, min(_AT_ONCE, trip_count, _AT_ONCE_BYTES // size, _AT_ONCE_BODY // body)))

    def _strided(
        self, emission: Emission, positions: Strided, extent: tuple[int, int], elements: Elements
    ) -> list[Value]:
        """Combine the elements at a first position and at every so many behind it, some of the extent at once.

        So many there are at least.
        """
        builder, (first, stop, step), (count, at_once) = emission.builder, positions, extent

        def several(position: Value, many: int) -> list[Value]:
            at = [builder.add(position, integer(number * step)) for number in range(many)]
            found = [elements(emission, emission.opaque(at_, count)) for at_ in at]
            return reduce(lambda left, right: self._combine(emission, left, right), found)

        values = several(first, at_once)
        following = builder.add(first, integer(at_once * step))
        for many in dict.fromkeys((at_once, 1)):
            last = builder.sub(stop, integer((many - 1) * step))
            carried = [*values, following]
            with builder.loop(following, last, step=many * step, carried=carried, name="stride") as loop:
                emission.enter()
                *before, _ = loop.carried
                after = self._combine(emission, before, several(loop.index, many))
                loop.carry(*after, builder.add(loop.index, integer(many * step)))
                emission.leave()
            *values, following = loop.results
        return values

    def _finish_first(self, emission: Emission, kept: Index, values: Sequence[Value]) -> None:
        """Thread 0 adds the initial values and stores the result."""
        builder = emission.builder
        self._finish(emission, builder.compare("eq", grid.thread(builder), integer(0)), kept, values)

    def _finish(self, emission: Emission, mine: Value, kept: Index, values: Sequence[Value]) -> None:
        """Threads whose result it is add the initial values and store it."""
        with emission.builder.when(mine, "first"):
            emission.enter()
            result = self.form.combine(emission, self.form.initial(emission), values)
            self.form.finish(emission, kept, result)
            emission.leave()
