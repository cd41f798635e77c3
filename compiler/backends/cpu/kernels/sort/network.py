"""Sorting records by a network: vectors of unsigned integers, exchanged so that the lesser is always the one in front.

A network does the same whatever the records are, without a branch, so all of it is vector instructions, and threads
share any stage of it.  It is the bitonic one whose first stage of a merge meets records from both ends: as the lesser
always goes to the front, records beyond the last may be thought of as the greatest and left out, and so the number of
vectors is any multiple of a group.  The greater halves of such a stage stay turned around inside their vectors: what is
cleaned up next need only rise and fall.  It is not stable; equal records must be no different from each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from compiler.codegen.llvm_ir import I64, PTR, Builder, Function, Module, Value, integer, mangled, vector_type
from compiler.codegen.workspace import whole_lines

_L1_BYTES = 1 << 15
"""What is sorted by itself before more is looked at: it stays in the first level of cache."""
_STRIDES = 3
"""Strides that one walk over memory deals with; more are no faster, and twice the code for each."""
_OPERATION_NS = 0.12
"""Nanoseconds for each compare-and-exchange of a vector's lanes on one core."""
_NATIVE_64 = frozenset({"avx512f"})
_NATIVE = frozenset({"avx512f", "avx2", "sse4.1", "neon"})
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

    Behind the vectors lies a spare one for each thread, all ones, which stands for what is beyond the last.
    """

    def __init__(self, module: Module, name: str, record: str, length: int, threads: int) -> None:
        self.module, self.name, self.record = module, name, record
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
        self._functions: dict[str, Function] = {}

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
        """Make what follows the records, and a thread's spare vector, all ones."""
        with builder.loop(integer(length), integer(self.padded), name="pad", scalar=True) as loop:
            builder.store(integer(-1, self.record), builder.gep(self.record, records, loop.index))
        spare = builder.gep(self.vector, records, builder.add(integer(self.vectors), thread))
        builder.store(integer(-1, self.vector), spare, align=self.record_bytes)

    # -- a whole block ------------------------------------------------------------------------------------------
    def sort(self, builder: Builder, records: Value, first: Value, size: int, thread: Value) -> None:
        """Sort the vectors from `first` on, at most `size`, which is a power of two."""
        stop = self._stop(builder, first, size)
        cached = min(size, self.cached)
        with builder.loop(first, stop, step=cached, name="cached", scalar=True) as part:
            part_stop = self._stop(builder, part.index, cached)
            builder.call(f"@{self._sort().name}", "void", [records, part.index, part_stop])
            self._levels(builder, records, _Block(part.index, self.group, cached), thread)
        self._levels(builder, records, _Block(first, cached, size), thread)

    def _levels(self, builder: Builder, records: Value, block: _Block, thread: Value) -> None:
        """Merge runs of one length until they have the other."""
        first, run, size = block
        stop = self._stop(builder, first, size)
        while run < min(size, self.vectors):
            with builder.loop(first, stop, step=2 * run, name="merge", scalar=True) as part:
                span = self.flip_start(builder, part.index, run), self.flip_iterations(run)
                self.flip(builder, records, part.index, run, thread, span)
                self.clean(builder, records, part.index, 2 * run, self.flipped(run), thread)
            run *= 2

    def _stop(self, builder: Builder, first: Value, size: int) -> Value:
        return builder.smin(builder.add(first, integer(size)), integer(self.vectors))

    # -- parts of a merge ---------------------------------------------------------------------------------------
    def _fused(self, run: int) -> int:
        return min(_STRIDES - 1, int(math.log2(self.group)) - 1, int(math.log2(run // self.group)))

    def flip_iterations(self, run: int) -> Value:
        """How many iterations `flip` has for runs of that many vectors."""
        return integer(run >> self._fused(run))

    def flip_start(self, builder: Builder, first: Value, run: int) -> Value:
        """The first iteration that has anything to do: whose vectors of the second run are not all beyond the last."""
        stride = run >> self._fused(run)
        beyond = 2 * run - (run - stride) - self.vectors
        return builder.smax(builder.add(first, integer(beyond)), integer(0))

    def flipped(self, run: int) -> int:
        """The stride from which on `clean` has to go on after `flip`."""
        return (run >> self._fused(run)) // 2

    def flip(
        self, builder: Builder, records: Value, first: Value, run: int, thread: Value, span: tuple[Value, Value]
    ) -> None:
        """Some iterations of the first stages of the merge of two runs, from `first` on."""
        fused = self._fused(run)
        function = self._functions.get(f"flip{fused}") or self._flip(fused)
        spare = builder.add(integer(self.vectors), thread)
        builder.call(f"@{function.name}", "void", [records, first, integer(run >> fused), spare, *span])

    def clean(self, builder: Builder, records: Value, first: Value, size: int, stride: int, thread: Value) -> None:
        """The remaining stages of a merge for a block of that many vectors, from a stride on."""
        stop = self._stop(builder, first, size)
        while stride >= self.group:
            count = min(_STRIDES, int(math.log2(self.group)), int(math.log2(stride // self.group)) + 1)
            lowest = stride >> (count - 1)
            with builder.loop(first, stop, step=2 * stride, name="block", nonempty=True, scalar=True) as block:
                self.middle(builder, records, block.index, (count, lowest), thread, (integer(0), integer(lowest)))
            stride = lowest // 2
        builder.call(f"@{self._clean().name}", "void", [records, first, stop])

    def middle(
        self,
        builder: Builder,
        records: Value,
        first: Value,
        strides: tuple[int, int],
        thread: Value,
        span: tuple[Value, Value],
    ) -> None:
        """Some iterations of the stages of that many strides, the last and lowest of them given, of a block."""
        count, lowest = strides
        function = self._functions.get(f"middle{count}") or self._middle(count)
        spare = builder.add(integer(self.vectors), thread)
        builder.call(f"@{function.name}", "void", [records, first, integer(lowest), spare, *span])

    # -- functions ----------------------------------------------------------------------------------------------
    def _begin(self, part: str, arguments: Sequence[str]) -> tuple[Builder, list[Value]]:
        parameters = [(PTR, "records"), *((I64, name) for name in arguments)]
        function = self.module.function(
            f"{self.name}.{part}", "void", parameters, linkage="internal", attributes="noinline nounwind"
        )
        self._functions[part] = function
        return Builder(function), function.arguments

    def _sort(self) -> Function:
        """`void sort(ptr records, i64 first, i64 stop)`: sort inside each vector, then each group.

        What the levels of a group have in common is a function: written out in each it would be most of the code.
        """
        if "sort" not in self._functions:
            merge = self._merge() if self.group > 2 else None
            builder, arguments = self._begin("sort", ("first", "stop"))
            self._walk(builder, arguments, 2, self._sort_pair)
            run = 1
            while run < self.group and merge:
                self._walk(builder, arguments, 2 * run, self._meet_runs)
                builder.call(f"@{merge.name}", "void", arguments)
                run *= 2
            if not merge:
                self._walk(builder, arguments, 2, self._merge_pair)
            builder.ret()
        return self._functions["sort"]

    def _merge(self) -> Function:
        """`void merge(ptr records, i64 first, i64 stop)`: the stages of a merge inside each vector."""
        builder, arguments = self._begin("merge", ("first", "stop"))
        self._walk(builder, arguments, 2, self._merge_inside)
        builder.ret()
        return self._functions["merge"]

    def _clean(self) -> Function:
        """`void clean(ptr records, i64 first, i64 stop)`: the last stages of a merge, inside each group."""
        if "clean" not in self._functions:
            builder, arguments = self._begin("clean", ("first", "stop"))
            self._walk(builder, arguments, self.group, self._clean_group)
            builder.ret()
        return self._functions["clean"]

    def _walk(
        self, builder: Builder, part: Sequence[Value], count: int, body: Callable[[Builder, list[Value]], None]
    ) -> None:
        """Do something to each group of so many vectors, in registers."""
        records, first, stop = part
        with builder.loop(first, stop, step=count, name="group", nonempty=True) as loop:
            places = [builder.gep(self.vector, records, builder.add(loop.index, integer(n))) for n in range(count)]
            values = self._load(builder, places)
            body(builder, values)
            self._store(builder, values, places)

    def _flip(self, fused: int) -> Function:
        """`void flipN(ptr records, i64 first, i64 stride, i64 spare, i64 start, i64 stop)`."""
        builder, (records, first, stride, spare, start, stop) = self._begin(
            f"flip{fused}", ("first", "stride", "spare", "start", "stop")
        )
        count = 1 << fused
        last = builder.add(first, builder.sub(builder.mul(stride, integer(2 * count)), integer(1)))
        with builder.loop(start, stop, name="iteration") as iteration:
            steps = [builder.add(iteration.index, builder.mul(stride, integer(n))) for n in range(count)]
            front = self._places(builder, records, [builder.add(first, step) for step in steps], spare)
            back = self._places(builder, records, [builder.sub(last, step) for step in reversed(steps)], spare)
            values = self._load(builder, [*front, *back])
            for n in range(count):
                self._meet(builder, values, n, 2 * count - 1 - n)
            self._halve(builder, values, count // 2)
            self._store(builder, values, [*front, *back])
        builder.ret()
        return self._functions[f"flip{fused}"]

    def _middle(self, count: int) -> Function:
        """`void middleN(ptr records, i64 first, i64 stride, i64 spare, i64 start, i64 stop)`."""
        builder, (records, first, stride, spare, start, stop) = self._begin(
            f"middle{count}", ("first", "stride", "spare", "start", "stop")
        )
        with builder.loop(start, stop, name="iteration") as iteration:
            base = builder.add(first, iteration.index)
            steps = [builder.add(base, builder.mul(stride, integer(n))) for n in range(1 << count)]
            places = self._places(builder, records, steps, spare)
            values = self._load(builder, places)
            self._halve(builder, values, 1 << (count - 1))
            self._store(builder, values, places)
        builder.ret()
        return self._functions[f"middle{count}"]

    def _places(self, builder: Builder, records: Value, numbers: Sequence[Value], spare: Value) -> list[Value]:
        """Where vectors are; the spare one stands for those beyond the last."""
        inside = [builder.compare("slt", number, integer(self.vectors)) for number in numbers]
        found = [builder.select(here, number, spare) for here, number in zip(inside, numbers, strict=True)]
        return [builder.gep(self.vector, records, number) for number in found]

    def _load(self, builder: Builder, places: Sequence[Value]) -> list[Value]:
        return [builder.load(self.vector, place, align=self.record_bytes) for place in places]

    def _store(self, builder: Builder, values: Sequence[Value], places: Sequence[Value]) -> None:
        for value, place in zip(values, places, strict=True):
            builder.store(value, place, align=self.record_bytes)

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
        name = mangled(self.vector)
        low, high = (builder.intrinsic(f"{which}.{name}", [left, right]) for which in ("umin", "umax"))
        return low, high

    @staticmethod
    def _across(size: int) -> Callable[[int], int]:
        return lambda place: place ^ (size - 1)

    @staticmethod
    def _strides(stride: int) -> list[Callable[[int], int]]:
        return [lambda place, by=by: place ^ by for by in _halves(stride)]  # type: ignore[misc]

    def _inside(self, builder: Builder, values: list[Value], partners: Sequence[Callable[[int], int]]) -> None:
        """Exchange records inside vectors, two vectors at a time: one register gets those in front, one the others."""
        natural = list(range(self.lanes)), list(range(self.lanes, 2 * self.lanes))
        for n in range(0, len(values), 2):
            pair, layout = (values[n], values[n + 1]), natural
            for partner in partners:
                front = sorted(place for place in (*layout[0], *layout[1]) if place < partner(place))
                wanted = front, [partner(place) for place in front]
                pair = self._exchange(builder, *self._arrange(builder, pair, layout, wanted))
                layout = wanted
            values[n], values[n + 1] = self._arrange(builder, pair, layout, natural)

    @staticmethod
    def _arrange(builder: Builder, pair: tuple[Value, Value], layout: Layout, wanted: Layout) -> tuple[Value, Value]:
        lanes = {place: lane for lane, place in enumerate((*layout[0], *layout[1]))}
        first, second = (builder.shuffle(*pair, [lanes[place] for place in places]) for places in wanted)
        return first, second


def _power(number: int) -> int:
    """The least power of two that is not below a number."""
    return 1 << max(0, number - 1).bit_length()


def _halves(stride: int) -> list[int]:
    return [stride >> n for n in range(stride.bit_length())] if stride else []
