"""Sorting records by a network: vectors of unsigned integers, exchanged so that the lesser is always the one in front.

A network does the same whatever the records are, without a branch, so all of it is vector instructions, and threads
share any stage of it.  It is the bitonic one whose first stage of a merge meets records from both ends: as the lesser
always goes to the front, records beyond the last may be thought of as the greatest and left out, and so the number of
vectors is any multiple of a group.  The greater halves of such a stage stay turned around inside their vectors: what is
cleaned up next need only rise and fall.  It is not stable; equal records must be no different from each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from compiler.codegen.llvm_ir import I64, PTR, Builder, Module, Value, integer, vector_type, write_once
from compiler.codegen.workspace import whole_lines

_L1_BYTES = 1 << 15
"""What is sorted by itself before more is looked at: it stays in the first level of cache."""
_STRIDES = 3
"""Strides that one walk over memory deals with; more are no faster, and twice the code for each."""
_CALLERS = "walks"
_GROUPS = {"sort": "sort", "merge": "sort", "levels": _CALLERS, "cleanup": _CALLERS}
"""What is compiled together besides the exchanges; walks do nothing but call."""
_OPERATION_NS = 0.12
"""Nanoseconds for each compare-and-exchange of a vector's lanes on one core."""
_NATIVE_64, _NATIVE = frozenset({"avx512f"}), frozenset({"avx512f", "avx2", "sse4.1", "neon"})
"""Features with which the lesser of two unsigned integers, of 64 bits or fewer, is one instruction."""

Layout = tuple[list[int], list[int]]
"""Which place of two neighbouring vectors' records each lane of two registers holds."""


class _Block(NamedTuple):
    """Sorted runs to be merged: the first vector, the vectors of a run, and those of all."""

    first: Value
    run: int
    size: int


class Network:
    """The networks for a number of records of an LLVM integer type, emitted as functions over vectors in memory.

    Behind the vectors lies a spare one for each thread, all ones, which stands for what is beyond the last.  Functions
    are told how many vectors there are, so that they are the same for all lengths of a type.
    """

    def __init__(self, module: Module, record: str, length: int, threads: int) -> None:
        self.module, self.record = module, record
        register = 64 if "avx512f" in module.features else 32 if "avx2" in module.features else 16
        self.record_bytes = int(record[1:]) // 8
        self.lanes = min(register // self.record_bytes, max(2, _power(length) // 2))
        vectors = -(-length // self.lanes)
        self.group = min(16 if register == 64 else 8, max(2, _power(vectors)))
        self.vectors = -(-vectors // self.group) * self.group
        self.padded = self.vectors * self.lanes
        self.threads = threads
        self.vector = vector_type(record, self.lanes)
        self.cached = max(self.group, _L1_BYTES // (self.lanes * self.record_bytes))
        self.name = f"sort.{record}x{self.lanes}.{self.group}"

    @property
    def whole(self) -> int:
        """The power of two that is enough vectors for all."""
        return _power(self.vectors)

    @property
    def bytes(self) -> int:
        """Room for the vectors and the spare ones."""
        size = (self.vectors + self.threads) * self.lanes * self.record_bytes
        return whole_lines(size)

    @property
    def ns(self) -> float:
        """The expected time to sort everything on one thread."""
        inner, levels = int(math.log2(self.lanes)), int(math.log2(_power(self.padded)))
        first = inner * (inner + 1)
        merges = sum(2 * inner + 4 + 1.5 * (level - inner) for level in range(inner + 1, levels + 1))
        native = _NATIVE_64 if self.record_bytes == 8 else _NATIVE
        slow = 1 if native & self.module.features else 3
        return _OPERATION_NS * slow * self.vectors * (2 * first + merges)

    def pad(self, builder: Builder, records: Value, length: int, thread: Value) -> None:
        """Write, by `builder`, all ones behind `length` `records`, and to a `thread`'s spare vector."""
        with builder.loop(integer(length), integer(self.padded), name="pad", scalar=True) as loop:
            builder.store(integer(-1, self.record), builder.gep(self.record, records, loop.index))
        spare = builder.gep(self.vector, records, builder.add(integer(self.vectors), thread))
        builder.store(integer(-1, self.vector), spare, align=self.record_bytes)

    # -- a whole block ------------------------------------------------------------------------------------------
    def sort(self, builder: Builder, records: Value, first: Value, size: int, thread: Value) -> None:
        """Sort, by `builder` on a `thread`, up to `size` (a power of two) vectors of `records` from `first` on."""
        stop, cached = self._stop(builder, first, size), min(size, self.cached)
        with builder.loop(first, stop, step=cached, name="cached", scalar=True) as block:
            block_stop = self._stop(builder, block.index, cached)
            builder.call(f"@{self._sort()}", "void", [records, block.index, block_stop])
            self._merge_levels(builder, records, _Block(block.index, self.group, cached), thread)
        self._merge_levels(builder, records, _Block(first, cached, size), thread)

    def _merge_levels(self, builder: Builder, records: Value, block: _Block, thread: Value) -> None:
        """Merge runs of one length until they have the other."""
        first, run, size = block
        low, high = self._level(run), self._level(_power(min(size, self.vectors)))
        if low < high:
            span = first, self._stop(builder, first, size), integer(low), integer(high)
            builder.call(f"@{self._levels(high - 1)}", "void", [records, *span, *self._ends(builder, thread)])

    def _stop(self, builder: Builder, first: Value, size: int) -> Value:
        return builder.smin(builder.add(first, integer(size)), integer(self.vectors))

    def _ends(self, builder: Builder, thread: Value) -> tuple[Value, Value]:
        """How many vectors there are, and the number of a thread's spare one."""
        return integer(self.vectors), builder.add(integer(self.vectors), thread)

    def _level(self, run: int) -> int:
        """How often a group is doubled to be a run."""
        return int(math.log2(run // self.group))

    # -- parts of a merge ---------------------------------------------------------------------------------------
    @property
    def _most(self) -> int:
        """Strides that one walk may deal with: what it exchanges is a group at most."""
        return min(_STRIDES, int(math.log2(self.group)))

    def _fused(self, level: int) -> int:
        return min(_STRIDES - 1, self._most - 1, level)

    def flip_iterations(self, run: int) -> Value:
        """The trip count of `flip` for runs of that many vectors."""
        return integer(run >> self._fused(self._level(run)))

    def flip_start(self, builder: Builder, first: Value, run: int) -> Value:
        """By `builder`, the first iteration of a merge of runs of `run` vectors, from `first` on, with work to do."""
        stride = run >> self._fused(self._level(run))
        return builder.smax(builder.add(first, integer(run + stride - self.vectors)), integer(0))

    def flipped(self, run: int) -> int:
        """The stride from which on `clean` has to go on after `flip`."""
        return (run >> self._fused(self._level(run))) // 2

    def flip(
        self, builder: Builder, records: Value, first: Value, run: int, thread: Value, span: tuple[Value, Value]
    ) -> None:
        """By `builder` on a `thread`, a `span` of a merge's first stages: `run` vectors of `records` from `first`."""
        function = self._flip(self._fused(self._level(run)))
        arguments = [records, first, self.flip_iterations(run), *self._ends(builder, thread), *span]
        builder.call(f"@{function}", "void", arguments)

    def clean(self, builder: Builder, records: Value, first: Value, size: int, stride: int, thread: Value) -> None:
        """By `builder`, on a `thread`, the stages from `stride` on: `size` vectors of `records`, from `first`."""
        strides = self._level(stride) + 1 if stride >= self.group else 0
        function = self._cleanup(min(strides, self._most))
        span = first, self._stop(builder, first, size), integer(strides)
        builder.call(f"@{function}", "void", [records, *span, *self._ends(builder, thread)])

    # -- functions ----------------------------------------------------------------------------------------------
    def _routine(self, suffix: str, arguments: str, emit: Callable[[Builder, list[Value]], None]) -> str:
        """The name of a function over records and integers, which is the same for all lengths."""
        name = f"{self.name}.{suffix}"

        def write(module: Module) -> None:
            parameters = [(PTR, "records"), *((I64, argument) for argument in arguments.split())]
            function = module.function(name, "void", parameters, linkage="internal", attributes="noinline nounwind")
            function.routine = f"{self.name}.{_GROUPS.get(suffix.partition('.')[0], 'exchanges')}"
            function.cold = function.routine.endswith(_CALLERS)
            builder, outside, self.module = Builder(function), self.module, module
            emit(builder, function.arguments)
            builder.ret()
            self.module = outside

        if not self.module.has_function(name):
            write_once(self.module, name, write)
        return name

    def _sort(self) -> str:
        """Sort inside each vector, then each group.

        What the levels of a group have in common is a function: written out in each it would be most of the code.
        """

        def emit(builder: Builder, arguments: list[Value]) -> None:
            self._walk(builder, arguments, 2, self._sort_pair)
            run = 1
            while run < self.group and self.group > 2:
                self._walk(builder, arguments, 2 * run, self._meet_runs)
                builder.call(f"@{self._merge()}", "void", arguments)
                run *= 2
            if self.group <= 2:
                self._walk(builder, arguments, 2, self._merge_pair)

        return self._routine("sort", "first stop", emit)

    def _merge(self) -> str:
        """The stages of a merge inside each vector."""
        return self._routine(
            "merge", "first stop", lambda b, arguments: self._walk(b, arguments, 2, self._merge_inside)
        )

    def _clean(self) -> str:
        """The last stages of a merge, inside each group."""
        return self._routine(
            "clean", "first stop", lambda b, arguments: self._walk(b, arguments, self.group, self._clean_group)
        )

    def _levels(self, highest: int) -> str:
        """Merge runs of some levels, the highest given, between `first` and `stop`."""
        most = self._fused(highest)
        after = min(highest - most, self._most)
        cleanup = self._cleanup(after)

        def emit(builder: Builder, arguments: list[Value]) -> None:
            records, first, stop, low, high, vectors, spare = arguments
            with builder.loop(low, high, name="level", nonempty=True, scalar=True) as level:
                run = builder.binary("shl", integer(self.group), level.index)
                fused = builder.smin(level.index, integer(most))
                stride = builder.binary("lshr", run, fused)
                for block, block_stop in self._blocks(builder, (first, stop), builder.add(run, run)):
                    beyond = builder.add(block, builder.sub(builder.add(run, stride), vectors))
                    start = builder.smax(beyond, integer(0))
                    for number in range(most + 1):
                        with builder.when(builder.compare("eq", fused, integer(number)), "flip"):
                            flip = [records, block, stride, vectors, spare, start, stride]
                            builder.call(f"@{self._flip(number)}", "void", flip)
                    strides = builder.sub(level.index, fused)
                    builder.call(f"@{cleanup}", "void", [records, block, block_stop, strides, vectors, spare])

        return self._routine(f"levels.{most}.{after}", "first stop low high vectors spare", emit)

    def _cleanup(self, most: int) -> str:
        """The stages of a number of strides, the lowest that of a group, then those inside groups.

        One walk deals with that many strides at most.
        """
        clean = self._clean()

        def emit(builder: Builder, arguments: list[Value]) -> None:
            records, first, stop, strides, vectors, spare = arguments
            walks = builder.binary("udiv", builder.add(strides, integer(max(most, 1) - 1)), integer(max(most, 1)))
            with builder.loop(integer(0), walks, carried=[strides], name="walk", scalar=True) as walk:
                (left,) = walk.carried
                count = builder.smin(left, integer(most))
                rest = builder.sub(left, count)
                lowest = builder.binary("shl", integer(self.group), rest)
                size = builder.binary("shl", integer(self.group), left)
                for block, _ in self._blocks(builder, (first, stop), size):
                    middle = [records, block, lowest, vectors, spare, integer(0), lowest]
                    for number in range(1, most + 1):
                        with builder.when(builder.compare("eq", count, integer(number)), "middle"):
                            builder.call(f"@{self._middle(number)}", "void", middle)
                walk.carry(rest)
            builder.call(f"@{clean}", "void", [records, first, stop])

        return self._routine(f"cleanup.{most}", "first stop strides vectors spare", emit)

    def _blocks(self, builder: Builder, span: tuple[Value, Value], size: Value) -> Iterator[tuple[Value, Value]]:
        """Where each block of that many vectors begins and ends."""
        first, stop = span
        rounded = builder.add(builder.sub(stop, first), builder.sub(size, integer(1)))
        with builder.loop(integer(0), builder.binary("udiv", rounded, size), name="block", scalar=True) as block:
            start = builder.add(first, builder.mul(block.index, size))
            yield start, builder.smin(builder.add(start, size), stop)

    def _walk(
        self, builder: Builder, extent: Sequence[Value], count: int, body: Callable[[Builder, list[Value]], None]
    ) -> None:
        """Do something to each group of so many vectors, in registers."""
        records, first, stop = extent
        with builder.loop(first, stop, step=count, name="group", nonempty=True) as loop:
            addresses = [builder.gep(self.vector, records, builder.add(loop.index, integer(n))) for n in range(count)]
            values = self._load(builder, addresses)
            body(builder, values)
            self._store(builder, values, addresses)

    def _flip(self, fused: int) -> str:
        """Some iterations of the first stages of the merge of two runs."""
        count = 1 << fused

        def emit(builder: Builder, arguments: list[Value]) -> None:
            records, first, stride, vectors, spare, start, stop = arguments
            last = builder.add(first, builder.sub(builder.mul(stride, integer(2 * count)), integer(1)))
            with builder.loop(start, stop, name="iteration") as iteration:
                steps = [builder.add(iteration.index, builder.mul(stride, integer(n))) for n in range(count)]
                front, back = [builder.add(first, step) for step in steps], [builder.sub(last, step) for step in steps]
                addresses = self._addresses(builder, records, [*front, *reversed(back)], (vectors, spare))
                values = self._load(builder, addresses)
                for n in range(count):
                    self._meet(builder, values, n, 2 * count - 1 - n)
                self._halve(builder, values, count // 2)
                self._store(builder, values, addresses)

        return self._routine(f"flip{fused}", "first stride vectors spare start stop", emit)

    def _middle(self, count: int) -> str:
        """Some iterations of the stages of that many strides, the last and lowest of them given, of a block."""

        def emit(builder: Builder, arguments: list[Value]) -> None:
            records, first, stride, vectors, spare, start, stop = arguments
            with builder.loop(start, stop, name="iteration") as iteration:
                base = builder.add(first, iteration.index)
                steps = [builder.add(base, builder.mul(stride, integer(n))) for n in range(1 << count)]
                addresses = self._addresses(builder, records, steps, (vectors, spare))
                values = self._load(builder, addresses)
                self._halve(builder, values, 1 << (count - 1))
                self._store(builder, values, addresses)

        return self._routine(f"middle{count}", "first stride vectors spare start stop", emit)

    def _addresses(
        self, builder: Builder, records: Value, numbers: Sequence[Value], ends: tuple[Value, Value]
    ) -> list[Value]:
        """Where vectors are; the spare one stands for those beyond the last."""
        vectors, spare = ends
        inside = [builder.compare("slt", number, vectors) for number in numbers]
        found = [builder.select(here, number, spare) for here, number in zip(inside, numbers, strict=True)]
        return [builder.gep(self.vector, records, number) for number in found]

    def _load(self, builder: Builder, addresses: Sequence[Value]) -> list[Value]:
        return [builder.load(self.vector, address, align=self.record_bytes) for address in addresses]

    def _store(self, builder: Builder, values: Sequence[Value], addresses: Sequence[Value]) -> None:
        for value, address in zip(values, addresses, strict=True):
            builder.store(value, address, align=self.record_bytes)

    # -- in registers -------------------------------------------------------------------------------------------
    def _sort_pair(self, builder: Builder, values: list[Value]) -> None:
        partners: list[Callable[[int], int]] = []
        size = 2
        while size <= self.lanes:
            partners += [self._across(size), *self._strides(size // 4)]
            size *= 2
        self._inside(builder, values, partners)

    def _meet_runs(self, builder: Builder, values: list[Value]) -> None:
        """The stages of the merge of two runs, the halves of the vectors, that exchange whole vectors."""
        for n in range(len(values) // 2):
            self._meet(builder, values, n, len(values) - 1 - n)
        self._halve(builder, values, len(values) // 4)

    def _merge_inside(self, builder: Builder, values: list[Value]) -> None:
        self._inside(builder, values, self._strides(self.lanes // 2))

    def _merge_pair(self, builder: Builder, values: list[Value]) -> None:
        self._meet_runs(builder, values)
        self._merge_inside(builder, values)

    def _clean_group(self, builder: Builder, values: list[Value]) -> None:
        self._halve(builder, values, self.group // 2)
        self._merge_inside(builder, values)

    def _halve(self, builder: Builder, values: list[Value], stride: int) -> None:
        """Exchange whole vectors at a stride, then at half of it, and so on."""
        while stride:
            for n in range(len(values)):
                if not n & stride:
                    values[n], values[n + stride] = self._exchange(builder, values[n], values[n + stride])
            stride //= 2

    def _meet(self, builder: Builder, values: list[Value], front: int, back: int) -> None:
        turned = builder.shuffle(values[back], None, range(self.lanes - 1, -1, -1))
        values[front], values[back] = self._exchange(builder, values[front], turned)

    def _exchange(self, builder: Builder, left: Value, right: Value) -> tuple[Value, Value]:
        low, high = (builder.overloaded(which, [left, right]) for which in ("umin", "umax"))
        return low, high

    @staticmethod
    def _across(size: int) -> Callable[[int], int]:
        return lambda lane: lane ^ (size - 1)

    @staticmethod
    def _strides(stride: int) -> list[Callable[[int], int]]:
        return [lambda lane, by=by: lane ^ by for by in (stride >> n for n in range(stride.bit_length()))]  # type: ignore[misc]

    def _inside(self, builder: Builder, values: list[Value], partners: Sequence[Callable[[int], int]]) -> None:
        """Exchange records inside vectors, two vectors at a time: one register gets those in front, one the others."""
        natural = list(range(self.lanes)), list(range(self.lanes, 2 * self.lanes))
        for n in range(0, len(values), 2):
            pair, layout = (values[n], values[n + 1]), natural
            for partner in partners:
                front = sorted(position for position in (*layout[0], *layout[1]) if position < partner(position))
                wanted = front, [partner(position) for position in front]
                pair = self._exchange(builder, *self._arrange(builder, pair, layout, wanted))
                layout = wanted
            values[n], values[n + 1] = self._arrange(builder, pair, layout, natural)

    @staticmethod
    def _arrange(builder: Builder, pair: tuple[Value, Value], layout: Layout, wanted: Layout) -> tuple[Value, Value]:
        lanes = {position: lane for lane, position in enumerate((*layout[0], *layout[1]))}
        first, second = (builder.shuffle(*pair, [lanes[position] for position in positions]) for positions in wanted)
        return first, second


def _power(number: int) -> int:
    """The least power of two that is not below a number."""
    return 1 << max(0, number - 1).bit_length()
