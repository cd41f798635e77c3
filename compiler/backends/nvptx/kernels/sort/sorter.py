"""What sorts lines: chunks by blocks, and then merges of these, or of what is first in them.

Lines lie one behind the other in two halves of the workspace, merged back and forth; of lines of which only the first
few are read, what chunks were cut from and what is first in them lie in two pairs of such halves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.sort import bitonic, radix, ranks
from compiler.backends.nvptx.kernels.sort.chunks import LONG, SHORT, Chunk, Chunks, most_of
from compiler.backends.nvptx.kernels.sort.keys import LineKey
from compiler.backends.nvptx.kernels.sort.merge_path import MergePath, Run, size_of
from compiler.codegen import element, elemental, nest
from compiler.codegen.index import Emission
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I32, I64, Builder, Module, Value, integer
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.codegen.sort_prefix import SortResults
from compiler.codegen.workspace import whole_lines
from compiler.ir.types import U32, U64, ElementType

_CHUNK_LEVELS = 10
"""Merges until a chunk is one run."""
_CHUNK = 1 << _CHUNK_LEVELS
"""So many elements of a longer line are first sorted by a block: longer chunks leave too few blocks for a GPU."""
_SHORT_CHUNK_LEVELS = 9
"""The same where one merge of all chunks does: there are few, so they are shorter."""
_MANY_LINES = 128
"""Lines that keep a GPU busy with a block each."""
_MANY_BLOCKS, _FEW_THREADS = 128, 128
"""Blocks that keep a GPU busy; threads of a block where there would be fewer."""
_SINGLE_LEVELS = 3
"""Merges in which each thread makes one element: runs are still too short for several."""
_TOGETHER = 1 << _SINGLE_LEVELS
"""So many elements that lie behind each other a thread makes, from one bisection, once runs are as long as that."""


class _Merge(NamedTuple):
    """A merge of 2^`fan` runs of 2^`level` elements each, which lie in a half of the workspace."""

    level: int
    fan: int
    half: int


class _Path(NamedTuple):
    """A merge in a line: the merge, where it begins, and what puts an element to a position."""

    merge: MergePath
    start: Value
    put: Callable[[Builder, Value, Value], None]


class Sorter:
    """Emits the functions of a sort kernel."""

    def __init__(self, module: Module, kernel: Kernel) -> None:
        self.module = module
        self.kernel = kernel
        self.results = SortResults.of(kernel)
        self.sort = self.results.sort
        (self.dimension,) = self.sort.attributes["dimensions"]
        self.dims = self.sort.operands[0].array.dims
        self.length = self.dims[self.dimension]
        self.inner = math.prod(self.dims[self.dimension + 1 :])
        self.count = math.prod(self.dims)
        self.key = LineKey.of(self.sort)
        self._key_bits = self.key.bits if self.key else 0
        self.key_type = U64 if bitonic.is_wide(self._key_bits) else U32
        self.levels = (self.length - 1).bit_length()
        self.types: list[ElementType] = [operand.array.element_type for operand in self.sort.operands]
        self.sizes: list[int] = [whole_lines(type_.size_bytes * self.count) for type_ in self.types]

    @property
    def has_network(self) -> bool:
        """Whether chunks are sorted by a network over keys."""
        return self.key is not None

    @property
    def longest(self) -> int:
        """Elements of a line that a block sorts: of a longer one where there are enough to keep a GPU busy."""
        return LONG if self.has_network and self.has_many_lines and not bitonic.is_wide(self._key_bits) else SHORT

    @property
    def has_many_lines(self) -> bool:
        """Whether there is a line for each block of a busy GPU."""
        return bool(self.count >= _MANY_LINES * self.length)

    def whole_lines(self) -> Launch:
        """Each block sorts one line."""
        chunks = Chunks(self.length, self.length, network=self.has_network, by_digits=self.goes_by_digits)
        return self._sort_chunks(chunks, "", self.results.read)

    @property
    def goes_by_digits(self) -> bool:
        """Whether whole lines are sorted digit by digit: those that are asked for, of which a GPU has many."""
        is_asked_for = 2 * self.results.read > self.length
        return self.has_many_lines and is_asked_for and radix.fits(self.length, self._key_bits)

    def first_of_chunks(self, first: int) -> list[Launch]:
        """Blocks sort chunks of the lines, then what is first in each chunk, until a line is one chunk."""
        length, before = self.length, None
        launches: list[Launch] = []
        while True:
            size = -(-length // -(-length // most_of(length, first, self.count // self.length)))
            chunks = Chunks(length, size, first, len(launches) % 2, before, self.has_network)
            stores = first if chunks.count == 1 else 0
            launches.append(self._sort_chunks(chunks, f"_{len(launches)}", stores))
            if stores:
                return launches
            last = length - (chunks.count - 1) * chunks.size
            length, before = (chunks.count - 1) * first + min(first, last), chunks

    def _sort_chunks(self, chunks: Chunks, suffix: str, stores: int) -> Launch:
        """Each block sorts a chunk of a line, and stores so many of it."""
        form = radix.Radix if chunks.by_digits else bitonic.Bitonic
        network = form(f"{self.kernel.name}{suffix}", chunks.size, self._key_bits)
        threads = network.threads if chunks.network else min(grid.BLOCK, max(grid.WARP, 1 << chunks.levels))
        builder = grid.begin(self.module, self.kernel, threads, suffix, talks=True)
        line, number = builder.udivrem(grid.block(builder), integer(chunks.count))
        line = builder.mul(line, integer(self.length))
        first = builder.mul(number, integer(chunks.size))
        length = builder.smin(builder.sub(integer(chunks.length), first), integer(chunks.size))
        chunk = Chunk(chunks, line, first, length)
        if chunks.network:
            self._sort_by_network(builder, chunk, network, stores)
        else:
            self._sort_by_merges(builder, chunk, threads, stores)
        builder.ret()
        return Launch(builder.function.name, self.count // self.length * chunks.count, threads)

    def _sort_by_network(
        self, builder: Builder, chunk: Chunk, network: bitonic.Bitonic | radix.Radix, stores: int
    ) -> None:
        """Sort keys and positions in registers; then each element goes where it belongs."""
        assert self.key is not None
        chunks, begin = chunk.of, builder.mul(grid.thread(builder), integer(network.each))
        last, words = builder.sub(chunk.length, integer(1)), []
        for word in range(network.each):
            number = builder.add(begin, integer(word))
            at = builder.add(chunk.first, builder.smin(number, last))
            key = self.key.value(builder, self._source(builder, chunks.before, chunk.line, at))
            exists = builder.compare("slt", number, chunk.length)
            words.append(network.word(builder, key, number, exists))
        kept = stores or chunks.first
        network = network.sort(builder, words, kept or chunks.size)
        count = builder.smin(chunk.length, integer(kept)) if kept else chunk.length
        start, arrays = builder.add(chunk.line, chunk.first), self._arrays(builder, integer(chunks.half))
        with grid.strided(builder, integer(0), count, network.threads) as number:
            at = builder.add(chunk.first, network.position(builder, number))
            values = self._source(builder, chunks.before, chunk.line, at)
            if stores:
                self._store(builder, builder.add(start, number), values)
            else:
                self._put(builder, arrays, builder.add(start, number), values)
            if chunks.keeps_keys:
                self._put_key(builder, integer(0), builder.add(start, number), values)

    def _sort_by_merges(self, builder: Builder, chunk: Chunk, threads: int, stores: int) -> None:
        """Sort elements in the workspace, by merges of ever longer runs."""
        chunks, length, start = chunk.of, chunk.length, builder.add(chunk.line, chunk.first)
        arrays = self._arrays(builder, integer(2 * chunks.pair))
        with grid.strided(builder, integer(0), length, threads) as number:
            values = self._source(builder, chunks.before, chunk.line, builder.add(chunk.first, number))
            self._put(builder, arrays, builder.add(start, number), values)
        several = self.key is not None and chunks.size >= 2 * threads
        single = min(chunks.levels, _SINGLE_LEVELS) if several else chunks.levels
        with builder.loop(integer(0), integer(single), name="level") as level:
            grid.barrier(builder)
            with grid.strided(builder, integer(0), length, threads) as number:
                self._merge(builder, (level.index, chunks.pair), (start, length), number)
        with builder.loop(integer(single), integer(chunks.levels), name="level") as level:
            grid.barrier(builder)
            groups = builder.binary("lshr", builder.add(length, integer(_TOGETHER - 1)), integer(_SINGLE_LEVELS))
            with grid.strided(builder, integer(0), groups, threads) as number:
                position = builder.mul(number, integer(_TOGETHER))
                self._merge_several(builder, (level.index, chunks.pair), (start, length), position)
        grid.barrier(builder)
        with grid.strided(builder, integer(0), integer(stores), threads) as number:
            self._store_sorted(builder, builder.add(start, number), chunks.half)

    def _source(self, builder: Builder, before: Chunks | None, line: Value, number: Value) -> list[Value]:
        """An element of a line: of the operands, or of what is first in the chunks that were sorted before."""
        if before is None:
            return self._operands(builder, builder.add(line, number))
        chunk, rest = builder.udivrem(number, integer(before.first))
        position = builder.add(builder.add(line, builder.mul(chunk, integer(before.size))), rest)
        return self._elements(builder, self._arrays(builder, integer(before.half)), position)

    def width_by_width(self) -> list[Launch]:
        """Blocks sort chunks of all lines, then each launch merges runs of one width."""

        def merge_at(builder: Builder, number: Value) -> None:
            position = builder.binary("urem", number, integer(self.length))
            line = builder.sub(number, position), integer(self.length)
            self._merge(builder, (Value(I64, "%level"), 0), line, position)

        def store_at(builder: Builder, number: Value) -> None:
            position = builder.binary("urem", number, integer(self.length))
            if self.results.stored == self.length:
                self._store_sorted(builder, number, self.levels % 2)
                return
            with builder.when(builder.compare("slt", position, integer(self.results.stored)), "stored"):
                self._store_sorted(builder, number, self.levels % 2)

        chunks = self._sort_chunks(Chunks(self.length, _CHUNK, network=self.has_network), "_parts", 0)
        levels = range(_CHUNK_LEVELS, self.levels)
        if self.key:
            merges = self._merges_of_several(levels)
        else:
            merge = grid.for_each(self.module, self.kernel, self.count, merge_at, "_merge", numbers=[("level", 0)])
            merges = [Launch(merge.function, merge.blocks, merge.threads, (level,)) for level in levels]
        return [chunks, *merges, grid.for_each(self.module, self.kernel, self.count, store_at, "_store")]

    def by_ranks(self) -> list[Launch]:
        """Blocks sort chunks of all lines, then each launch merges several runs at once, and the last one stores."""
        is_short = self.length <= ranks.shared_keys(self.key_type)
        level = _SHORT_CHUNK_LEVELS if is_short else _CHUNK_LEVELS
        fans = [self.levels - level] if is_short else ranks.fans(self.levels - level, self.count)
        launches = [self._sort_chunks(Chunks(self.length, 1 << level, network=True, keeps_keys=True), "_parts", 0)]
        for number, fan in enumerate(fans):
            launches.append(self._rank(level, fan, number % 2, stores=number == len(fans) - 1))
            level += fan
        return launches

    def _rank(self, level: int, fan: int, half: int, *, stores: bool) -> Launch:
        """Merge each 2^fan runs that lie behind each other in a half, to the other half or to the result."""
        threads = grid.BLOCK if self.count >= _MANY_BLOCKS * grid.BLOCK else _FEW_THREADS
        builder = grid.begin(self.module, self.kernel, threads, f"_ranks_{level}")
        of_line = -(-self.length // threads)
        line, number = builder.udivrem(grid.block(builder), integer(of_line))
        line, first = builder.mul(line, integer(self.length)), builder.mul(number, integer(threads))
        form = self._runs(builder, (line, first), _Merge(level, fan, half), threads)
        position = builder.add(first, grid.thread(builder))
        with builder.when(builder.compare("slt", position, integer(self.length)), "inside"):
            goes_to = builder.cast("zext", form.position(builder.cast("trunc", position, I32)), I64)
            arrays, target = self._arrays(builder, integer(half)), builder.add(line, goes_to)
            values = self._elements(builder, arrays, builder.add(line, position))
            if stores:
                with builder.when(builder.compare("slt", goes_to, integer(self.results.stored)), "stored"):
                    self._store(builder, target, values)
            else:
                other = integer(1 - half)
                self._put(builder, self._arrays(builder, other), target, values)
                self._put_key(builder, other, target, values)
        builder.ret()
        return Launch(builder.function.name, self.count // self.length * of_line, threads)

    def _runs(self, builder: Builder, at: tuple[Value, Value], merge: _Merge, threads: int) -> ranks.Ranks:
        """The runs that a block merges elements of, from a line's begin and its first element."""
        line, first = at
        keys = builder.gep(element.storage_type(self.key_type), self._keys(builder, integer(merge.half)), line)
        form = ranks.Ranks(builder, self.key_type, keys, integer(0, I32), self.length, merge.level, merge.fan)
        is_short = form.group <= ranks.shared_keys(self.key_type)
        count = form.group if is_short else ranks.PIVOTS
        shared = grid.shared_array(builder, f"{self.kernel.name}.keys_{merge.level}", self.key_type, count)
        group = builder.binary("and", first, integer(-form.group))
        bring = ranks.Bring(self.key_type, form.group, self.length, threads)
        if not is_short:
            ranks.bring_pivots(builder, keys, group, shared, bring)
            return replace(form, pivots=shared)
        ranks.bring_keys(builder, keys, group, shared, bring)
        return replace(form, keys=shared, start=builder.cast("trunc", group, I32), is_padded=True)

    def _merges_of_several(self, levels: Sequence[int]) -> list[Launch]:
        """Launches in which each thread makes some elements that lie behind each other."""
        groups = -(-self.length // _TOGETHER)

        def merge_at(builder: Builder, number: Value) -> None:
            line, group = builder.udivrem(number, integer(groups))
            run = builder.mul(line, integer(self.length)), integer(self.length)
            self._merge_several(builder, (Value(I64, "%level"), 0), run, builder.mul(group, integer(_TOGETHER)))

        count = self.count // self.length * groups
        merge = grid.for_each(self.module, self.kernel, count, merge_at, "_merge_several", numbers=[("level", 0)])
        return [Launch(merge.function, merge.blocks, merge.threads, (level,)) for level in levels]

    def _arrays(self, builder: Builder, half: Value) -> list[Value]:
        """The operands' arrays in one of the chunks of the workspace that each hold all elements."""
        base = builder.gep("i8", arguments(self.kernel).workspace, builder.mul(half, integer(sum(self.sizes))))
        return [builder.gep("i8", base, integer(sum(self.sizes[:n]))) for n in range(len(self.sizes))]

    @property
    def key_bytes(self) -> int:
        """Bytes of the keys of all elements."""
        return whole_lines(self.key_type.size_bytes * self.count)

    def _keys(self, builder: Builder, half: Value) -> Value:
        """Where the keys beside a half of the workspace lie."""
        begin = builder.add(integer(2 * sum(self.sizes)), builder.mul(half, integer(self.key_bytes)))
        return builder.gep("i8", arguments(self.kernel).workspace, begin)

    def _put_key(self, builder: Builder, half: Value, number: Value, values: Sequence[Value]) -> None:
        """Put the key of an element beside it."""
        assert self.key is not None
        stored = element.storage_type(self.key_type)
        key = builder.cast("zext", self.key.value(builder, values), stored)
        address = builder.gep(stored, self._keys(builder, half), number)
        builder.store(key, address, align=self.key_type.size_bytes)

    def _elements(self, builder: Builder, arrays: Sequence[Value], number: Value) -> list[Value]:
        return [
            element.load(builder, type_, builder.gep(element.storage_type(type_), array, number))
            for type_, array in zip(self.types, arrays, strict=True)
        ]

    def _position(self, builder: Builder, number: Value, length: int) -> Value:
        """Where an element lies in arrays with lines of a length, by its number in the workspace, with whole lines."""
        if self.inner == 1 and length == self.length:
            return number
        line, position = builder.udivrem(number, integer(self.length))
        outer, rest = builder.udivrem(line, integer(self.inner))
        row = builder.add(builder.mul(outer, integer(length)), position)
        return builder.add(builder.mul(row, integer(self.inner)), rest)

    def _operands(self, builder: Builder, number: Value) -> list[Value]:
        """The operands' elements by their number in the workspace."""
        emission = Emission(builder)
        at = nest.coordinates(
            emission, emission.opaque(self._position(builder, number, self.length), self.count), self.dims
        )
        values = elemental_of(self.kernel, emission)
        return [values.value(operand, at) for operand in self.sort.operands]

    def _put(self, builder: Builder, arrays: Sequence[Value], number: Value, values: Sequence[Value]) -> None:
        for type_, value, array in zip(self.types, values, arrays, strict=True):
            element.store(builder, type_, value, builder.gep(element.storage_type(type_), array, number))

    def _store_sorted(self, builder: Builder, number: Value, half: int) -> None:
        self._store(builder, number, self._elements(builder, self._arrays(builder, integer(half)), number))

    def _store(self, builder: Builder, number: Value, found: Sequence[Value]) -> None:
        """Write an element of the result, by its number in lines that are stored as a whole."""
        emission, stored = Emission(builder), self.results.stored
        at = emission.opaque(self._position(builder, number, stored), self.kernel.outputs[0].size)
        outputs = arguments(self.kernel).outputs
        for shape, result, output in zip(self.kernel.outputs, self.results.numbers, outputs, strict=True):
            store(emission, shape, found[result], output, at)

    def _merge(self, builder: Builder, step: tuple[Value, int], run: Run, position: Value) -> None:
        """Find the element that comes to a position of a line when runs of 2^level elements are merged in pairs.

        `step` is the level and the pair of halves that it is done in, `run` where the line starts and its length.
        """
        path, start, put = self._path(builder, step, run, position)
        number = builder.sub(position, start)
        put(builder, position, path.element(builder, number) if self.key else path.element_of_any(builder, number))

    def _merge_several(self, builder: Builder, step: tuple[Value, int], run: Run, position: Value) -> None:
        """The same for the elements from a position on that one thread makes, by a key.

        Runs are no shorter than those are many, so all are of one pair of runs.
        """
        path, start, put = self._path(builder, step, run, position)
        count = builder.smin(builder.sub(run[1], position), integer(_TOGETHER))
        path.elements(
            builder,
            builder.sub(position, start),
            count,
            lambda builder, number, taken: put(builder, builder.add(position, number), taken),
        )

    def _path(self, builder: Builder, step: tuple[Value, int], run: Run, position: Value) -> _Path:
        """The merge that a position of a line is in."""
        (level, pair), (line, length) = step, run
        parity = builder.binary("and", level, integer(1))
        source = self._arrays(builder, builder.add(parity, integer(2 * pair)))
        target = self._arrays(builder, builder.sub(integer(2 * pair + 1), parity))
        width = builder.binary("shl", integer(1), level)
        double = builder.binary("shl", width, integer(1))
        start = builder.binary("and", position, builder.sub(integer(0), double))
        left = builder.add(line, start), size_of(builder, width, start, length)
        right = builder.add(left[0], width), size_of(builder, width, builder.add(start, width), length)

        def goes_first(builder: Builder, right: Value, left: Value) -> Value:
            return self._goes_first(
                builder, self._elements(builder, source, right), self._elements(builder, source, left)
            )

        def put(builder: Builder, position: Value, taken: Value) -> None:
            self._put(builder, target, builder.add(line, position), self._elements(builder, source, taken))

        return _Path(MergePath(goes_first, left, right, level), start, put)

    def _goes_first(self, builder: Builder, right: Sequence[Value], left: Sequence[Value]) -> Value:
        """Whether the comparator puts the right run's element strictly before the left one's."""
        if self.key:
            return builder.compare("ult", *(self.key.value(builder, values) for values in (right, left)))
        values = [value for pair in zip(right, left, strict=True) for value in pair]
        (before,) = elemental.apply(Emission(builder), self.sort.attributes["to_apply"], values)
        return before
