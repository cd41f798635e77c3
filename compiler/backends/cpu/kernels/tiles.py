"""Loop kernels that read something across: transposes, and whatever is fused around them.

Where a leaf lies so that the kernel's innermost loop strides through it while another loop would walk it in order, the
two loops are cut into square tiles.  A tile of the leaf is read in order, row by row, transposed in registers and put
into a small buffer; the kernel's body then runs over the tile and finds its elements there.  So every cache line is
read once and whole.  What is left beside the tiles at the edges runs as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, parameters
from compiler.backends.cpu.kernels.gemm_pack import transpose
from compiler.codegen import element, nest
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import Emission, Index, Variable, constant, linear, whole
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import PTR, Builder, Module, Value, integer, keep_rolled, vector_type
from compiler.codegen.movement import Indices, Leaf
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape

_SIDE = 16
"""Rows and columns of a tile: a row of 4-byte elements is one cache line."""
_FAR = 16
"""A stride, in elements, from which on walking across is worth avoiding."""


@dataclass(frozen=True, slots=True)
class Access:
    """A leaf read at an offset of one factor per loop, plus a constant."""

    leaf: Instruction
    factors: tuple[int, ...]
    constant: int

    def at(self, counters: Sequence[Index]) -> Index:
        """The offset for given loop counters."""
        total = constant(self.constant)
        for counter, factor in zip(counters, self.factors, strict=True):
            total = total + counter.times(factor)
        return total


@dataclass(frozen=True, slots=True)
class Tiling:
    """The loop that is tiled together with the innermost one, and the accesses that go across."""

    kernel: Kernel
    group: nest.Group
    loop: int
    accesses: tuple[Access, ...]


def find(module: Module, kernel: Kernel, group: nest.Group) -> Tiling | None:
    """Whether a loop kernel should be tiled, and how."""
    loops = group.loops
    innermost = len(loops) - 1
    found: dict[int, list[Access]] = {}
    for access in _accesses(module, kernel, group):
        if innermost < 1 or access.factors[innermost] < _FAR:
            continue
        for number in range(innermost):
            if access.factors[number] == 1 and min(loops[number], loops[innermost]) >= _SIDE:
                found.setdefault(number, []).append(access)
    if not found:
        return None
    number = max(found, key=lambda n: len(found[n]))
    return Tiling(kernel, group, number, tuple(dict.fromkeys(found[number])))


def _accesses(module: Module, kernel: Kernel, group: nest.Group) -> list[Access]:
    """The leaves that the body reads, as far as their offsets are sums of loop counters."""
    emission = Emission(nest.scratch(module, parameters(kernel)))
    variables = [Variable(Value("i64", f"%loop.{n}"), count) for n, count in enumerate(group.loops)]
    result: list[Access] = []

    def watch(leaf: Instruction, shape: ArrayShape, inner: Leaf) -> Leaf:
        def record(indices: Indices) -> Value:
            offset = linear(indices, shape.dims)
            factors = {digit.variable: factor for digit, factor in offset.terms if digit.is_whole}
            if len(factors) == len(offset.terms) and set(factors) <= set(variables):
                result.append(Access(leaf, tuple(factors.get(v, 0) for v in variables), offset.constant))
            return inner(indices)

        return record

    values = elemental_of(kernel, emission)
    leaves = {leaf: watch(leaf, leaf.array, inner) for leaf, inner in values.leaves.items()}
    at = group.combine([whole(variable) for variable in variables])
    indices = nest.coordinates(emission, at, kernel.outputs[0].dims)
    watched = Elemental(emission, leaves)
    for root in kernel.roots:
        watched.value(root, indices)
    return result


def emit(builder: Builder, tiling: Tiling, *, parallel: bool) -> None:
    """Emit the whole kernel's loops."""
    _Tiled(builder, tiling).emit(parallel=parallel)


class _Tiled:
    """The loops of a tiled kernel; counters are one index per loop of the group."""

    def __init__(self, builder: Builder, tiling: Tiling) -> None:
        self.builder = builder
        self.tiling = tiling
        self.counts = tiling.group.loops
        self.across, self.inner = tiling.loop, len(self.counts) - 1
        types = [element.storage_type(access.leaf.array.element_type) for access in tiling.accesses]
        self.buffers = [builder.emit(PTR, f"alloca [{_SIDE * _SIDE} x {type_}], align 64") for type_ in types]

    def emit(self, *, parallel: bool) -> None:
        """Loops outside, tiles of the two, then what is left at the edges."""
        outer = [n for n in range(len(self.counts)) if n not in (self.across, self.inner)]
        rows, columns = self.counts[self.across], self.counts[self.inner]
        strips = -(-rows // _SIDE)
        units = strips
        for number in outer:
            units *= self.counts[number]
        builder = self.builder
        part = nest.share(builder, units, THREAD, THREADS) if parallel else nest.all_of(units)
        with builder.loop(part.start, part.stop, name="strip") as loop:
            emission = Emission(builder)
            counters = self._unit(emission, loop.index, outer, strips, units)
            whole_strip = rows // _SIDE
            first = counters[self.across]
            if rows % _SIDE == 0:
                self._strip(counters, first, columns)
            else:
                row = emission.value(first)
                is_whole = builder.compare("sle", row, integer((whole_strip - 1) * _SIDE))
                if whole_strip:
                    with builder.when(is_whole, "whole"):
                        self._strip(counters, first, columns)
                is_last = builder.compare("sgt", row, integer((whole_strip - 1) * _SIDE))
                with builder.when(is_last, "last"):
                    self._plain(counters, first, (rows % _SIDE, constant(0), columns))

    def _unit(self, emission: Emission, index: Value, outer: Sequence[int], strips: int, units: int) -> list[Index]:
        """The loop counters at the start of a strip."""
        counters = [constant(0)] * len(self.counts)
        rest, strip = emission.divide(whole(Variable(index, units)), strips)
        counters[self.across] = emission.opaque(emission.value(strip), strips).times(_SIDE)
        for number in reversed(outer):
            rest, counter = emission.divide(rest, self.counts[number])
            counters[number] = emission.opaque(emission.value(counter), self.counts[number])
        return counters

    def _strip(self, counters: list[Index], first: Index, columns: int) -> None:
        """Rows of one tile's height: whole tiles, then the columns beside them."""
        builder, tiles = self.builder, columns // _SIDE
        with builder.loop(integer(0), integer(tiles), name="tile", nonempty=True) as tile:
            start = whole(Variable(tile.index, tiles)).times(_SIDE)
            emission = Emission(builder)
            for access, buffer in zip(self.tiling.accesses, self.buffers, strict=True):
                self._fill(emission, access, buffer, self._with(counters, first, start))
            self._each(_SIDE, _SIDE, lambda row, column: self._element(counters, first, start, row, column))
        if columns % _SIDE:
            self._plain(counters, first, (_SIDE, constant(tiles * _SIDE), columns % _SIDE))

    def _plain(self, counters: list[Index], first: Index, extent: tuple[int, Index, int]) -> None:
        """The body as it is, over some rows from `first` and columns from a start."""
        height, start, width = extent

        def element_at(row: Index, column: Index) -> None:
            at = self._with(counters, first + row, start + column)
            self._body(Emission(self.builder), at, {})

        self._each(height, width, element_at)

    def _each(self, height: int, width: int, body: Callable[[Index, Index], None]) -> None:
        builder = self.builder
        with (
            builder.loop(
                integer(0), integer(height), name="row", nonempty=True, metadata=keep_rolled(builder.module)
            ) as row,
            builder.loop(integer(0), integer(width), name="column", nonempty=True) as column,
        ):
            body(whole(Variable(row.index, height)), whole(Variable(column.index, width)))

    def _element(self, counters: list[Index], first: Index, start: Index, row: Index, column: Index) -> None:
        emission = Emission(self.builder)
        at = self._with(counters, first + row, start + column)
        place = row.times(_SIDE) + column
        found = {
            (access.leaf, access.at(at)): (buffer, place)
            for access, buffer in zip(self.tiling.accesses, self.buffers, strict=True)
        }
        self._body(emission, at, found)

    def _with(self, counters: list[Index], across: Index, inner: Index) -> list[Index]:
        result = list(counters)
        result[self.across], result[self.inner] = across, inner
        return result

    def _body(
        self,
        emission: Emission,
        counters: Sequence[Index],
        found: dict[tuple[Instruction, Index], tuple[Value, Index]],
    ) -> None:
        """Compute and store the roots at a point; what is `found` in a buffer is read from there."""
        kernel = self.tiling.kernel
        at = self.tiling.group.combine(counters)
        indices = nest.coordinates(emission, at, kernel.outputs[0].dims)
        inner = elemental_of(kernel, emission).leaves

        def redirect(leaf: Instruction, read: Leaf) -> Leaf:
            def value(point: Indices) -> Value:
                known = found.get((leaf, linear(point, leaf.array.dims)))
                if known is None:
                    return read(point)
                buffer, place = known
                type_ = leaf.array.element_type
                address = emission.builder.gep(element.storage_type(type_), buffer, emission.value(place))
                return element.load(emission.builder, type_, address)

            return value

        values = Elemental(emission, {leaf: redirect(leaf, read) for leaf, read in inner.items()})
        for root, output in zip(kernel.roots, arguments(kernel).outputs, strict=True):
            store(emission, root.array, values.value(root, indices), output, at)

    def _fill(self, emission: Emission, access: Access, buffer: Value, counters: Sequence[Index]) -> None:
        """Read a tile of a leaf in order and lay it into the buffer the way the body walks."""
        builder = self.builder
        type_ = element.storage_type(access.leaf.array.element_type)
        number = dict(self.tiling.kernel.leaves)[access.leaf]
        pointer = arguments(self.tiling.kernel).inputs[number]
        base = builder.gep(type_, pointer, emission.value(access.at(counters)))
        vector, size = vector_type(type_, _SIDE), access.leaf.array.element_type.size_bytes
        rows = [
            builder.load(vector, builder.gep(type_, base, integer(row * access.factors[self.inner])), align=size)
            for row in range(_SIDE)
        ]
        for row, values in enumerate(transpose(builder, rows)):
            builder.store(values, builder.gep(type_, buffer, integer(row * _SIDE)), align=size * _SIDE)
