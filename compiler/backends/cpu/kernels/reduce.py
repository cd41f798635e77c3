"""Reduction kernels: rows, columns and anything between, with fused producers and epilogues, deterministic.

Neighbouring dimensions that are all kept, or all reduced, are one *group*.  If the last group is reduced (a row), the
innermost loop runs along it with the accumulators in registers, and `reassoc` lets LLVM keep several.  If the last group
is kept (a column), a tile of accumulators for neighbouring results lives in L1 and the reduced groups are walked
outside, so that memory is still read in order.

Where there are too few results to share between threads, the outermost reduced group is cut into a fixed number of
chunks, whatever the number of threads; each chunk starts from its own first element, and a second function combines the
partial results in order.  So results do not depend on how many threads run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from compiler.backends.cpu.kernels.emitted import (
    EmittedKernel,
    arguments,
    begin,
    elemental_of,
    parameters,
)
from compiler.codegen import cost, element, elemental, nest, scalar
from compiler.codegen.index import Emission, Index, Variable, linear, reshape, whole
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, Value, integer
from compiler.diagnostics import UnsupportedError
from compiler.ir.module import Instruction
from compiler.ir.types import ElementType, Kind

_TILE = 512
"""Results whose accumulators are kept in L1 together in a column reduction."""
_CHUNK_ELEMENTS = 16384
_MOST_CHUNKS = 64
_REASSOCIATE = f"reassoc nsz {scalar.CONTRACT}"


_UNROLL = 4
"""Steps of the innermost reduced loop between two visits of an accumulator in a column reduction."""


def _least(element_type: ElementType) -> float:
    if element_type.is_float:
        return -math.inf
    return -(1 << (element_type.bits - 1)) if element.is_signed(element_type) else 0


def _greatest(element_type: ElementType) -> float:
    if element_type.is_float:
        return math.inf
    return (1 << (element_type.bits - element.is_signed(element_type))) - 1


IDENTITIES: dict[str, Callable[[ElementType], float]] = {
    # -0 and not 0: adding +0 to -0 would change its sign.
    "add": lambda t: -0.0 if t.is_float else 0,
    "multiply": lambda _: 1,
    "maximum": _least,
    "minimum": _greatest,
    "and": lambda t: 1 if t.kind is Kind.PRED else -1,
    "or": lambda _: 0,
    "xor": lambda _: 0,
}
"""For a reducer's opcode, the value that leaves any other unchanged."""


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbouring dimensions `first` to `last - 1`, all kept or all reduced; `size` elements together."""

    first: int
    last: int
    reduced: bool
    size: int


class Reduction:
    """The form that all reductions of a kernel share, and its accumulators."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.reduces = tuple(kernel.of_opcode("reduce"))
        first = self.reduces[0]
        self.dims = first.operands[0].array.dims
        reduced = set(first.attributes["dimensions"])
        for other in self.reduces[1:]:
            if other.operands[0].array.dims != self.dims or set(other.attributes["dimensions"]) != reduced:
                raise UnsupportedError("a fusion of reductions of different form", "the CPU back end", kernel.name)
        self.kept_dims = tuple(size for d, size in enumerate(self.dims) if d not in reduced)
        self.groups = _groups(self.dims, reduced)

    @cached_property
    def accumulators(self) -> list[tuple[Instruction, Instruction]]:
        """Every accumulator as (operand, initial value), over all reduces in order."""
        pairs: list[tuple[Instruction, Instruction]] = []
        for reduce in self.reduces:
            half = len(reduce.operands) // 2
            pairs += zip(reduce.operands[:half], reduce.operands[half:], strict=True)
        return pairs

    def identities(self) -> list[Value] | None:
        """For each accumulator the value that its reducer leaves others unchanged by; None if one is not known."""
        values: list[Value] = []
        for reduce in self.reduces:
            root = reduce.attributes["to_apply"].root
            of_type = IDENTITIES.get(root.opcode)
            direct = {operand.opcode for operand in root.operands} == {"parameter"}
            if of_type is None or not direct or len(set(root.operands)) != 2 or len(reduce.operands) != 2:
                return None
            element_type = reduce.array.element_type
            values.append(element.constant(element_type, of_type(element_type)))
        return values

    def results(self, accumulators: Sequence[Value]) -> dict[Instruction, Value]:
        """Which inner instruction each accumulator is the value of."""
        known: dict[Instruction, Value] = {}
        queue = iter(accumulators)
        for reduce in self.reduces:
            mine = [next(queue) for _ in range(len(reduce.operands) // 2)]
            if len(mine) == 1:
                known[reduce] = mine[0]
            else:
                elements = [user for user in reduce.users if user.opcode == "get-tuple-element"]
                known.update({user: mine[user.attributes["index"]] for user in elements})
        return known

    def partial_bytes(self, chunks: int) -> list[int]:
        """The room that each accumulator's partial results take in the workspace."""
        return [-(-type_.size_bytes * self.kept * chunks // 64) * 64 for type_ in self.types]

    @property
    def types(self) -> list[ElementType]:
        """The element type of each accumulator."""
        return [operand.array.element_type for operand, _ in self.accumulators]

    @property
    def kept(self) -> int:
        """The number of results."""
        return math.prod(self.kept_dims)

    @property
    def is_row(self) -> bool:
        """Whether the last group is reduced."""
        return self.groups[-1].reduced

    def operand_indices(self, emission: Emission, of_group: Sequence[Index]) -> tuple[Index, ...]:
        """The operands' indices from one linear index per group."""
        result: list[Index] = []
        for group, index in zip(self.groups, of_group, strict=True):
            result += reshape(emission, (index,), (group.size,), self.dims[group.first : group.last])
        return tuple(result)


def _groups(dims: Sequence[int], reduced: set[int]) -> list[Group]:
    groups: list[Group] = []
    for d, size in enumerate(dims):
        if groups and groups[-1].reduced == (d in reduced):
            last = groups.pop()
            groups.append(Group(last.first, d + 1, last.reduced, last.size * size))
        else:
            groups.append(Group(d, d + 1, d in reduced, size))
    return groups or [Group(0, 0, reduced=True, size=1)]


def emit(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit a reduction kernel."""
    form = Reduction(kernel)
    work = cost.nanoseconds(kernel)
    emitter = _Emitter(module, form)
    chunks = emitter.chunks(work)
    if chunks == 1:
        return EmittedKernel(kernel, (emitter.reduce_all(),), 0, work > cost.PARALLEL_NS, work)
    names = (emitter.reduce_chunks(chunks), emitter.combine_chunks(chunks))
    return EmittedKernel(kernel, names, sum(form.partial_bytes(chunks)), parallel=True, work=work)


Finish = Callable[[Emission, Index, Sequence[Value]], None]
"""What is done with the accumulators of one result, given its linear index."""


class _Emitter:
    """Emits the functions of one reduction kernel.

    `loops` holds the loops that each group is walked by; a *counter* is the index of one of them.
    """

    def __init__(self, module: Module, form: Reduction) -> None:
        self.module = module
        self.form = form
        self.given = arguments(form.kernel)

        def touch(emission: Emission, at: Sequence[Index]) -> None:
            self._elements(emission, at)

        self.loops = nest.plan(module, parameters(form.kernel), [group.size for group in form.groups], touch)

    def _counts(self, *, reduced: bool) -> list[int]:
        """The turns of the loops over all reduced, or all kept, groups, outermost first."""
        pairs = zip(self.form.groups, self.loops, strict=True)
        return [count for group, loops in pairs if group.reduced == reduced for count in loops.loops]

    def chunks(self, work: float) -> int:
        """How many parts the outermost reduced loop is cut into; depends on the program alone."""
        total, kept = math.prod(self.form.dims), self.form.kept
        units = kept
        if not self.form.is_row:
            last = self._counts(reduced=False)[-1]
            units = kept // max(1, last) * -(-last // _TILE)
        if units >= _MOST_CHUNKS // 2 or work <= 2 * cost.PARALLEL_NS or not total or self.form.identities() is None:
            return 1
        outermost = self._counts(reduced=True)[0]
        return max(1, min(_MOST_CHUNKS // max(1, units), total // _CHUNK_ELEMENTS, outermost // 2))

    # -- functions ----------------------------------------------------------------------------------------------
    def reduce_all(self) -> str:
        """One function from operands to results."""
        builder = Builder(begin(self.module, self.form.kernel))
        emission = Emission(builder)
        ranges = [nest.all_of(count) for count in self._counts(reduced=True)]
        self._walk(emission, (self.given.thread, self.given.threads), ranges, self._initial, self._finish)
        builder.ret()
        return builder.function.name

    def reduce_chunks(self, chunks: int) -> str:
        """The first of two functions: every chunk's partial results into the workspace."""
        builder = Builder(begin(self.module, self.form.kernel, ".partial"))
        emission = Emission(builder)
        outermost, *inner = self._counts(reduced=True)
        part = nest.share(builder, chunks, self.given.thread, self.given.threads)
        with builder.loop(part.start, part.stop, name="chunk") as loop:
            emission.enter()
            chunk = nest.share(builder, outermost, loop.index, integer(chunks))
            ranges = [chunk, *(nest.all_of(count) for count in inner)]
            base = whole(Variable(loop.index, chunks)).times(self.form.kept)

            def save(emission: Emission, kept: Index, values: Sequence[Value]) -> None:
                addresses = self._partials(emission, base + kept, chunks)
                for type_, value, address in zip(self.form.types, values, addresses, strict=True):
                    element.store(emission.builder, type_, value, address)

            everything = (integer(0), integer(1))
            self._walk(emission, everything, ranges, lambda _: self.form.identities() or [], save)
            emission.leave()
        builder.ret()
        return builder.function.name

    def combine_chunks(self, chunks: int) -> str:
        """The second function: the partial results of each result combined in order."""
        builder = Builder(begin(self.module, self.form.kernel, ".combine"))
        emission = Emission(builder)
        part = nest.share(builder, self.form.kept, self.given.thread, self.given.threads)
        with builder.loop(part.start, part.stop, name="result") as loop:
            emission.enter()
            kept = whole(Variable(loop.index, self.form.kept))

            def step(counters: list[Value], carried: list[Value]) -> list[Value]:
                at = whole(Variable(counters[0], chunks)).times(self.form.kept) + kept
                addresses = self._partials(emission, at, chunks)
                values = [element.load(builder, t, a) for t, a in zip(self.form.types, addresses, strict=True)]
                return self._combine(emission, carried, values)

            result = nest.nested(emission, [nest.all_of(chunks)], self._initial(emission), step)
            self._finish(emission, kept, result)
            emission.leave()
        builder.ret()
        return builder.function.name

    # -- forms --------------------------------------------------------------------------------------------------
    def _walk(
        self,
        emission: Emission,
        share: tuple[Value, Value],
        ranges: Sequence[nest.Range],
        start: Callable[[Emission], list[Value]],
        finish: Finish,
    ) -> None:
        """Visit this thread's results, reduce over `ranges` of the reduced loops, and finish each."""
        (self._rows if self.form.is_row else self._columns)(emission, share, ranges, start, finish)

    def _rows(
        self,
        emission: Emission,
        share: tuple[Value, Value],
        ranges: Sequence[nest.Range],
        start: Callable[[Emission], list[Value]],
        finish: Finish,
    ) -> None:
        """Each result on its own, its accumulators in registers."""
        builder, counts = emission.builder, self._counts(reduced=False)
        part = nest.share(builder, self.form.kept, *share)
        with builder.loop(part.start, part.stop, name="row") as row:
            emission.enter()
            kept = self._counters(emission, row.index, counts)

            def step(counters: list[Value], carried: list[Value]) -> list[Value]:
                at = self._group_indices(kept, self._as_counters(counters))
                return self._combine(emission, carried, self._elements(emission, at))

            result = nest.nested(emission, ranges, start(emission), step)
            finish(emission, whole(Variable(row.index, self.form.kept)), result)
            emission.leave()

    def _columns(
        self,
        emission: Emission,
        share: tuple[Value, Value],
        ranges: Sequence[nest.Range],
        start: Callable[[Emission], list[Value]],
        finish: Finish,
    ) -> None:
        """Neighbouring results together, their accumulators in a tile that stays in L1."""
        builder = emission.builder
        *outer, width = self._counts(reduced=False)
        tiles = -(-width // _TILE)
        size = min(width, _TILE)
        accumulators = [self._tile(builder, type_, size) for type_ in self.form.types]
        part = nest.share(builder, math.prod(outer) * tiles, *share)
        with builder.loop(part.start, part.stop, name="tile") as unit:
            emission.enter()
            *kept, tile = self._counters(emission, unit.index, [*outer, tiles])
            first = tile.times(size)
            count = integer(size)
            if width % size:
                left = builder.sub(integer(width), emission.value(first))
                count = builder.intrinsic("smin.i64", [integer(size), left])
            columns = _Columns(self, emission, accumulators, [*kept, first], nest.Range(integer(0), count))
            columns.fill(start)
            columns.accumulate(ranges)
            columns.finish(finish)
            emission.leave()

    @staticmethod
    def _tile(builder: Builder, type_: ElementType, size: int) -> Value:
        return builder.emit("ptr", f"alloca [{size} x {element.storage_type(type_)}], align 64")

    # -- pieces -------------------------------------------------------------------------------------------------
    def _counters(self, emission: Emission, index: Value, counts: Sequence[int]) -> list[Index]:
        """One counter for each loop from a linear index over all of them, computed here and now."""
        rest = emission.opaque(index, math.prod(counts))
        result: list[Index] = []
        for count in reversed(counts[1:]):
            rest, counter = emission.divide(rest, count)
            result.append(emission.opaque(emission.value(counter), count))
        result.append(emission.opaque(emission.value(rest), counts[0]) if counts else rest)
        return result[::-1]

    def _as_counters(self, values: Sequence[Value]) -> list[Index]:
        counts = self._counts(reduced=True)
        return [whole(Variable(value, count)) for value, count in zip(values, counts, strict=True)]

    def _group_indices(self, kept: Sequence[Index], reduced: Sequence[Index]) -> list[Index]:
        """One linear index per group from the counters of the kept and of the reduced loops."""
        queues = {False: iter(kept), True: iter(reduced)}
        return [
            loops.combine([next(queues[group.reduced]) for _ in loops.loops])
            for group, loops in zip(self.form.groups, self.loops, strict=True)
        ]

    def _result_index(self, kept: Sequence[Index]) -> Index:
        """The linear index of a result from the counters of the kept loops."""
        return linear(kept, self._counts(reduced=False))

    def _elements(self, emission: Emission, at: Sequence[Index]) -> list[Value]:
        """The operands' elements at a point, given by one linear index per group."""
        values = elemental_of(self.form.kernel, emission)
        indices = self.form.operand_indices(emission, at)
        return [values.value(operand, indices) for operand, _ in self.form.accumulators]

    def _initial(self, emission: Emission) -> list[Value]:
        values = elemental_of(self.form.kernel, emission)
        return [values.value(initial, ()) for _, initial in self.form.accumulators]

    def _combine(self, emission: Emission, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        """Apply each reducer to its accumulators."""
        result: list[Value] = []
        for reduce in self.form.reduces:
            at = slice(len(result), len(result) + len(reduce.operands) // 2)
            computation = reduce.attributes["to_apply"]
            result += elemental.apply(emission, computation, [*left[at], *right[at]], flags=_REASSOCIATE)
        return result

    def _partials(self, emission: Emission, at: Index, chunks: int) -> list[Value]:
        """Where each accumulator's partial result lies in the workspace."""
        builder, offset, result = emission.builder, 0, []
        for type_, size in zip(self.form.types, self.form.partial_bytes(chunks), strict=True):
            base = builder.gep("i8", self.given.workspace, integer(offset))
            result.append(builder.gep(element.storage_type(type_), base, emission.value(at)))
            offset += size
        return result

    def _finish(self, emission: Emission, kept: Index, accumulators: Sequence[Value]) -> None:
        """Evaluate the roots at one result and store them."""
        kernel, builder = self.form.kernel, emission.builder
        known = self.form.results(accumulators)
        outer = elemental_of(kernel, emission)
        values = elemental.Elemental(emission, {**outer.leaves, **{i: _always(v) for i, v in known.items()}})
        indices = tuple(reshape(emission, (kept,), (self.form.kept,), self.form.kept_dims))
        if kernel.roots == self.form.reduces and len(kernel.outputs) == len(accumulators):
            stored = list(accumulators)
        else:
            stored = [values.value(root, indices) for root in kernel.roots]
        for shape, value, output in zip(kernel.outputs, stored, self.given.outputs, strict=True):
            address = builder.gep(element.storage_type(shape.element_type), output, emission.value(kept))
            element.store(builder, shape.element_type, value, address)


@dataclass(frozen=True, slots=True)
class _Columns:
    """One tile of a column reduction: `at` are the kept counters at its first column, `span` the columns."""

    emitter: _Emitter
    emission: Emission
    tiles: Sequence[Value]
    at: Sequence[Index]
    span: nest.Range

    def fill(self, start: Callable[[Emission], list[Value]]) -> None:
        """Set every accumulator to its start value."""
        values = start(self.emission)

        def step(counters: list[Value], _: list[Value]) -> list[Value]:
            self._save(counters[0], values)
            return []

        nest.nested(self.emission, [self.span], [], step)

    def accumulate(self, ranges: Sequence[nest.Range]) -> None:
        """Walk the reduced loops outside and the columns inside, several steps of the last loop at a time."""
        emitter, emission = self.emitter, self.emission
        counts = emitter._counts(reduced=True)  # noqa: SLF001
        last = ranges[-1]
        unroll = _UNROLL if last.nonempty and counts[-1] % _UNROLL == 0 else 1
        if unroll > 1:
            ranges = [*ranges[:-1], nest.all_of(counts[-1] // unroll)]

        def step(counters: list[Value], _: list[Value]) -> list[Value]:
            *outer, inner, column = counters
            reduced = [whole(Variable(v, c)) for v, c in zip(outer, counts[:-1], strict=True)]
            turn = whole(Variable(inner, counts[-1] // unroll)).times(unroll)
            values = self._load(column)
            for number in range(unroll):
                at = emitter._group_indices(self._kept(column), [*reduced, turn.plus(number)])  # noqa: SLF001
                elements = emitter._elements(emission, at)  # noqa: SLF001
                values = emitter._combine(emission, values, elements)  # noqa: SLF001
            self._save(column, values)
            return []

        nest.nested(emission, [*ranges, self.span], [], step)

    def finish(self, finish: Finish) -> None:
        """Hand every column's accumulators on."""

        def step(counters: list[Value], _: list[Value]) -> list[Value]:
            kept = self.emitter._result_index(self._kept(counters[0]))  # noqa: SLF001
            finish(self.emission, kept, self._load(counters[0]))
            return []

        nest.nested(self.emission, [self.span], [], step)

    def _kept(self, column: Value) -> list[Index]:
        return [*self.at[:-1], self.at[-1] + whole(Variable(column, _TILE))]

    def _load(self, column: Value) -> list[Value]:
        builder, types = self.emission.builder, self.emitter.form.types
        return [
            element.load(builder, t, builder.gep(element.storage_type(t), tile, column))
            for t, tile in zip(types, self.tiles, strict=True)
        ]

    def _save(self, column: Value, values: Sequence[Value]) -> None:
        builder, types = self.emission.builder, self.emitter.form.types
        for t, tile, value in zip(types, self.tiles, values, strict=True):
            element.store(builder, t, value, builder.gep(element.storage_type(t), tile, column))


def _always(value: Value) -> elemental.Leaf:
    return lambda _: value
