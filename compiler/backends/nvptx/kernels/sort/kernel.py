"""Sort kernels: every line along the sorted dimension by a stable merge sort in which each element finds its position.

In a merge of two sorted runs a thread makes one element of the result, which it finds by itself (`merge_path`), so all
threads work at once.  Where a comparator orders by a key, elements are compared by that, and a thread makes several.
Lines lie one behind the other in two halves of the workspace, merged back and forth.  Short lines are a block's, all in
one launch; of long ones blocks sort chunks in one launch, and then every width is a launch over everything.

Where only the first few of long lines are read (top-k), blocks sort chunks of the lines and the next launch sorts what
is first in those, until a line is a block's.  Chunks stay in the order of the line, so equal elements do too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.sort.merge_path import MergePath, Run
from compiler.backends.nvptx.kernels.strategy import NOTHING, Given, Kind, Plan, Strategy, planned
from compiler.backends.strategy import Declined
from compiler.codegen import element, elemental, nest
from compiler.codegen.index import Emission
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I64, Builder, Module, Value, integer
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.codegen.sort_key import sort_key
from compiler.codegen.sort_prefix import SortResults
from compiler.codegen.workspace import whole_lines
from compiler.ir.types import ElementType

_SHORT = 2048
"""Lines up to this length are sorted by one block."""

_CHUNK_LEVELS = 10
"""Merges until a chunk is one run."""
_CHUNK = 1 << _CHUNK_LEVELS
"""So many elements of a longer line are first sorted by a block: longer chunks leave too few blocks for a GPU."""

_SINGLE_LEVELS = 3
"""Merges in which each thread makes one element: runs are still too short for several."""
_TOGETHER = 1 << _SINGLE_LEVELS
"""So many elements that lie behind each other a thread makes, from one bisection, once runs are as long as that."""

_FEW = _SHORT // 8
"""So many of a line are few: chunks of which those are kept shrink quickly."""


class SortGiven(Given):
    """A sort kernel, with what emits it."""

    @cached_property
    def seen(self) -> _Sorter:
        """What emits it, to be looked at."""
        return _Sorter(self.scratch, self.kernel)

    def plan(self, emit: Callable[[_Sorter], Iterable[Launch]], *, copies: int) -> Plan:
        """The plan of a form that needs so many copies of the lines."""
        return planned(
            lambda module: tuple(emit(_Sorter(module, self.kernel))),
            workspace_bytes=copies * sum(self.seen.sizes),
            details={"lines": self.seen.count // max(1, self.seen.length), "line_length": self.seen.length},
        )


def _whole(given: SortGiven) -> Plan | Declined:
    """The plan of a block for each line."""
    if given.seen.length > _SHORT:
        return Declined(f"lines have more than {_SHORT} elements")
    return given.plan(lambda sorter: (sorter.whole_lines(),), copies=2)


def _first(given: SortGiven) -> Plan | Declined:
    """The plan of the first of each chunk of a line, and of these the first."""
    first = given.seen.results.read
    if first > _FEW:
        return Declined(f"more than {_FEW} elements of a line are read")
    return given.plan(lambda sorter: sorter.first_of_chunks(first), copies=4)


def _merges(given: SortGiven) -> Plan:
    """The plan of merges of ever longer runs."""
    return given.plan(lambda sorter: sorter.width_by_width(), copies=2)


SORT = Kind(
    (
        NOTHING,
        Strategy("a block for each line", _whole),
        Strategy("the first of each part", _first),
        Strategy("merges of runs", _merges),
    ),
    SortGiven,
)
"""Sort kernels."""


@dataclass(frozen=True, slots=True)
class _Chunks:
    """Lines cut into parts.

    Attributes:
        length: elements of a line.
        size: elements of each chunk, but for the last, which may have fewer.
        first: how many of each chunk are read afterwards.
        pair: in which pair of halves of the workspace they are sorted.
        before: the chunks whose first elements these lines are made of; None for the operands.
    """

    length: int
    size: int
    first: int = 0
    pair: int = 0
    before: _Chunks | None = None

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
        return 2 * self.pair + self.levels % 2


class _Path(NamedTuple):
    """A merge in a line: the merge, where it begins, and what puts an element to a position."""

    merge: MergePath
    start: Value
    put: Callable[[Builder, Value, Value], None]


class _Sorter:
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
        self.key = sort_key(self.sort.attributes["to_apply"])
        self.levels = (self.length - 1).bit_length()
        self.types: list[ElementType] = [operand.array.element_type for operand in self.sort.operands]
        self.sizes: list[int] = [whole_lines(type_.size_bytes * self.count) for type_ in self.types]

    def whole_lines(self) -> Launch:
        """Each block sorts one line."""
        return self._sort_chunks(_Chunks(self.length, self.length), "", self.results.read)

    def first_of_chunks(self, first: int) -> list[Launch]:
        """Blocks sort chunks of the lines, then what is first in each chunk, until a line is one chunk."""
        length, before = self.length, None
        launches: list[Launch] = []
        while True:
            chunks = _Chunks(length, -(-length // -(-length // _SHORT)), first, len(launches) % 2, before)
            stores = first if chunks.count == 1 else 0
            launches.append(self._sort_chunks(chunks, f"_{len(launches)}", stores))
            if stores:
                return launches
            last = length - (chunks.count - 1) * chunks.size
            length, before = (chunks.count - 1) * first + min(first, last), chunks

    def _sort_chunks(self, chunks: _Chunks, suffix: str, stores: int) -> Launch:
        """Each block sorts a chunk of a line, and stores so many of it."""
        threads = min(grid.BLOCK, max(grid.WARP, 1 << (chunks.size - 1).bit_length()))
        builder = grid.begin(self.module, self.kernel, threads, suffix, talks=True)
        line, chunk = builder.udivrem(grid.block(builder), integer(chunks.count))
        line = builder.mul(line, integer(self.length))
        first = builder.mul(chunk, integer(chunks.size))
        length = builder.smin(builder.sub(integer(chunks.length), first), integer(chunks.size))
        start = builder.add(line, first)
        arrays = self._arrays(builder, integer(2 * chunks.pair))
        with grid.strided(builder, integer(0), length, threads) as number:
            values = self._source(builder, chunks.before, line, builder.add(first, number))
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
            self._store(builder, builder.add(start, number), chunks.half)
        builder.ret()
        return Launch(builder.function.name, self.count // self.length * chunks.count, threads)

    def _source(self, builder: Builder, before: _Chunks | None, line: Value, number: Value) -> list[Value]:
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
                self._store(builder, number, self.levels % 2)
                return
            with builder.when(builder.compare("slt", position, integer(self.results.stored)), "stored"):
                self._store(builder, number, self.levels % 2)

        chunks = self._sort_chunks(_Chunks(self.length, _CHUNK), "_parts", 0)
        levels = range(_CHUNK_LEVELS, self.levels)
        if self.key:
            merges = self._merges_of_several(levels)
        else:
            merge = grid.for_each(self.module, self.kernel, self.count, merge_at, "_merge", numbers=[("level", 0)])
            merges = [Launch(merge.function, merge.blocks, merge.threads, (level,)) for level in levels]
        return [chunks, *merges, grid.for_each(self.module, self.kernel, self.count, store_at, "_store")]

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

    def _store(self, builder: Builder, number: Value, half: int) -> None:
        emission, stored = Emission(builder), self.results.stored
        at = emission.opaque(self._position(builder, number, stored), self.kernel.outputs[0].size)
        found = self._elements(builder, self._arrays(builder, integer(half)), number)
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
        left = builder.add(line, start), self._size(builder, width, start, length)
        right = builder.add(left[0], width), self._size(builder, width, builder.add(start, width), length)

        def goes_first(builder: Builder, right: Value, left: Value) -> Value:
            return self._goes_first(
                builder, self._elements(builder, source, right), self._elements(builder, source, left)
            )

        def put(builder: Builder, position: Value, taken: Value) -> None:
            self._put(builder, target, builder.add(line, position), self._elements(builder, source, taken))

        return _Path(MergePath(goes_first, left, right, level), start, put)

    @staticmethod
    def _size(builder: Builder, width: Value, start: Value, length: Value) -> Value:
        """The size of the run of that width at `start`, cut off where the line ends."""
        rest = builder.smax(builder.sub(length, start), integer(0))
        return builder.smin(width, rest)

    def _goes_first(self, builder: Builder, right: Sequence[Value], left: Sequence[Value]) -> Value:
        """Whether the comparator puts the right run's element strictly before the left one's."""
        if self.key:
            keys = (self.key.value(Emission(builder), values) for values in (right, left))
            return builder.compare("ult", *(self.key.bits(builder, key) for key in keys))
        values = [value for pair in zip(right, left, strict=True) for value in pair]
        (before,) = elemental.apply(Emission(builder), self.sort.attributes["to_apply"], values)
        return before
