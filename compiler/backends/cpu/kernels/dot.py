"""Dot kernels: an HLO `dot`, with whatever is fused before and behind it, as a matrix product.

The dimensions of a dot fall into four groups, batch, rows, columns and depth; each is walked by one linear index.
Operands that lie plainly in memory are given to `gemm` as such, everything else is loaded element by element while
it is packed; the epilogue is evaluated where a result element is stored.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from compiler.analysis.views import View, view
from compiler.backends.cpu.kernels import gemm, loop
from compiler.backends.cpu.kernels.emitted import EmittedKernel, parameters
from compiler.backends.cpu.kernels.gemm import split
from compiler.backends.cpu.kernels.gemm.product import (
    ELEMENT_BYTES,
    Array,
    Base,
    Gemm,
    Narrow,
    Operand,
    VectorLoad,
)
from compiler.backends.cpu.kernels.narrow import unconverted
from compiler.codegen import cost, element
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import Emission, Index, reshape
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm import Target
from compiler.codegen.llvm_ir import Builder, Module, Value, integer, vector_type
from compiler.codegen.movement import slice_starts
from compiler.codegen.product import Factor, accumulation_type, factor
from compiler.codegen.signature import arguments, elemental_of
from compiler.diagnostics import UnsupportedError
from compiler.ir.module import Instruction
from compiler.ir.types import ElementType


def emit(module: Module, kernel: Kernel, target: Target, threads: int) -> EmittedKernel:
    """Emit a dot kernel for calls with up to that many threads."""
    dots = kernel.of_opcode("dot")
    if len(dots) != 1 or len(kernel.roots) != 1 or kernel.roots[0].array.dims != dots[0].array.dims:
        raise UnsupportedError("a fusion of this form around dot", "the CPU back end", kernel.name)
    product = Product(kernel, dots[0], factor(dots[0], 0), factor(dots[0], 1))
    return emit_product(module, kernel, product, target, threads)


def emit_product(module: Module, kernel: Kernel, product: Product, target: Target, threads: int) -> EmittedKernel:
    """Emit a kernel that computes a product."""
    own = parameters(kernel)[:-3]
    name = module.free_name(kernel.name)
    work, whole = cost.nanoseconds(kernel), product.gemm()
    parts, parallel = split.parts(whole, target), work > cost.PARALLEL_NS
    threads = threads if parallel else 1
    if parts == 1:
        per_thread = gemm.emit(module, name, whole, target, own)
        return EmittedKernel(kernel, (name,), per_thread * threads, parallel, work)
    shared = split.partial_bytes(whole, parts)
    per_thread = gemm.emit(module, name, split.partial(whole, parts), target, own, shared=shared)
    split.emit_sum(module, f"{name}.sum", whole, parts, own)
    functions = name, f"{name}.sum"
    return EmittedKernel(kernel, functions, shared + per_thread * threads, parallel, work)


class Product:
    """The mapping from an HLO dot in a kernel, or what amounts to one, to a `Gemm`.

    The result's dimensions are those of the batch, the rows and the columns; a factor without a batch serves all of it.
    """

    def __init__(self, kernel: Kernel, dot: Instruction, lhs: Factor, rhs: Factor) -> None:
        self.kernel = kernel
        self.dot = dot
        self.type = accumulation_type(dot)
        self.lhs, self.rhs = lhs, rhs
        self.batch = max(lhs.count(lhs.batch), rhs.count(rhs.batch))
        if 0 in (lhs.count(lhs.batch), rhs.count(rhs.batch)):
            self.batch = 0

    def gemm(self) -> Gemm:
        """The matrix product."""
        plain = self.kernel.roots == (self.dot,) and self.dot.array.element_type is self.type
        addend = self._addend()
        return Gemm(
            batch=self.batch,
            m=self.lhs.count(self.lhs.free),
            n=self.rhs.count(self.rhs.free),
            k=self.lhs.count(self.lhs.depth),
            type=element.value_type(self.type),
            lhs=self._operand(self.lhs, self.lhs.free, self.lhs.depth),
            rhs=self._operand(self.rhs, self.rhs.depth, self.rhs.free),
            store=self._store,
            out=self._result() if plain or addend else None,
            addend=addend,
            accumulates=addend is not None and bool(self.kernel.in_place),
            interleave=loop.interleave(self.kernel, self.rhs.count(self.rhs.free), cost.nanoseconds(self.kernel)),
        )

    def _operand(self, factor: Factor, rows: tuple[int, ...], columns: tuple[int, ...]) -> Operand:
        def load(builder: Builder, batch: Value, row: Value, column: Value) -> Value:
            emission = Emission(builder)
            indices = self._indices(emission, factor, ((factor.batch, batch), (rows, row), (columns, column)))
            value = elemental_of(self.kernel, emission).value(factor.instruction, indices)
            return element.convert(builder, value, factor.instruction.array.element_type, self.type)

        last = factor.instruction.array.rank - 1
        array = self._plain(factor, rows, columns, factor.instruction, self.type)
        narrow = self._narrow(factor, rows, columns)
        plain = array if narrow is None else array or narrow.array
        seen = self._seen(factor.instruction, self.type) if plain is None else None
        if seen is not None:
            along, run = max(((group, _run(group, seen)) for group in (rows, columns)), key=lambda found: found[1])
            if run > 1:
                return Operand(load, along is columns, None, narrow, self._vector(factor, rows, columns, seen), run)
        row_major = last not in rows if plain is None or 1 not in (plain.row, plain.column) else plain.column == 1
        return Operand(load, row_major, array, narrow)

    def _vector(self, factor: Factor, rows: tuple[int, ...], columns: tuple[int, ...], seen: View) -> VectorLoad:
        """Loads of neighbours in a factor whose groups of dimensions do not have one stride each."""
        start, type_ = self._base_of(seen, ()), element.value_type(self.type)

        def load(builder: Builder, batch: Value, row: Value, column: Value, lanes: int) -> Value:
            emission = Emission(builder)
            at = self._indices(emission, factor, ((factor.batch, batch), (rows, row), (columns, column)))
            address = start(builder, batch)
            for index, stride in zip(at, seen.strides, strict=True):
                address = builder.gep(type_, address, emission.value(index.times(stride)))
            return builder.load(vector_type(type_, lanes), address, align=ELEMENT_BYTES[type_])

        return load

    def _narrow(self, factor: Factor, rows: tuple[int, ...], columns: tuple[int, ...]) -> Narrow | None:
        """The operand before it is converted to the accumulation type, where the CPU may multiply that directly."""
        found = unconverted(self.kernel, factor.instruction, self.type)
        if found is None:
            return None

        def load(builder: Builder, batch: Value, row: Value, column: Value) -> Value:
            emission = Emission(builder)
            parts = ((factor.batch, batch), (rows, row), (columns, column))
            return found.load(self.kernel, emission, self._indices(emission, factor, parts))

        array = self._plain(factor, rows, columns, found.source, found.type)
        return Narrow(found.llvm, load, found.type.is_signed, array)

    @staticmethod
    def _indices(
        emission: Emission, factor: Factor, parts: Sequence[tuple[tuple[int, ...], Value]]
    ) -> tuple[Index, ...]:
        """The operand's indices from one linear index per group of its dimensions."""
        at: dict[int, Index] = {}
        for group, value in parts:
            sizes = factor.sizes(group)
            size = math.prod(sizes)
            at.update(zip(group, reshape(emission, (emission.opaque(value, size),), (size,), sizes), strict=True))
        return tuple(at[d] for d in range(len(at)))

    def _plain(
        self,
        factor: Factor,
        rows: tuple[int, ...],
        columns: tuple[int, ...],
        source: Instruction,
        element_type: ElementType,
    ) -> Array | None:
        """`source`, which has the operand's dimensions, as an array with one stride per group, where it is one."""
        seen = self._seen(source, element_type)
        if seen is None:
            return None
        dims, strides = seen.dims, seen.strides
        row, column = (_joint_stride(group, dims, strides) for group in (rows, columns))
        if row is None or column is None:
            return None
        return Array(self._base_of(seen, _joined([(dims[d], strides[d]) for d in factor.batch])), row, column)

    def _seen(self, source: Instruction, element_type: ElementType) -> View | None:
        """`source` as it lies in an input of that type, where it is not computed."""
        return view(source, dict(self.kernel.leaves)) if source.array.element_type is element_type else None

    def _base_of(self, seen: View, walked: Sequence[tuple[int, int]]) -> Base:
        """Where a view's batches begin, which count through dimensions of these sizes and strides."""
        pointer = arguments(self.kernel).inputs[dict(self.kernel.leaves)[seen.source]]

        def start(builder: Builder) -> Value:
            emission, offset = Emission(builder), integer(seen.offset)
            for dynamic, strides in seen.slices:
                starts = slice_starts(elemental_of(self.kernel, emission), dynamic)
                for index, stride in zip(starts, strides, strict=True):
                    offset = builder.add(offset, emission.value(index.times(stride)))
            return offset

        return _base(pointer, element.storage_type(seen.source.array.element_type), walked, start)

    def _addend(self) -> Array | None:
        """What is added to the product, where that is all the epilogue and lies plainly, or spread, in memory."""
        (root,), leaves = self.kernel.roots, dict(self.kernel.leaves)
        if root.opcode != "add" or self.dot not in root.operands or root.array.element_type is not self.type:
            return None
        (other, *_) = [operand for operand in root.operands if operand is not self.dot] or [self.dot]
        spread = other.opcode == "broadcast" and other not in leaves
        seen = view(other.operands[0] if spread else other, leaves)
        if seen is None:
            return None
        dims, strides = root.array.dims, list(seen.strides)
        if spread:
            strides = [0] * len(dims)
            for dim, stride in zip(other.attributes["dimensions"], seen.strides, strict=True):
                strides[dim] = stride
        columns = len(dims) - len(self.rhs.free)
        rows = columns - len(self.lhs.free)
        if dims[rows:] != (*self.lhs.sizes(self.lhs.free), *self.rhs.sizes(self.rhs.free)):
            return None
        row, column = (
            _joint_stride(group, dims, strides) for group in (range(rows, columns), range(columns, len(dims)))
        )
        if row is None or column is None:
            return None
        return Array(self._base_of(seen, _joined(list(zip(dims[:rows], strides[:rows], strict=True)))), row, column)

    def _result(self) -> Array:
        n = self.rhs.count(self.rhs.free)
        matrix = self.lhs.count(self.lhs.free) * n
        base = _base(arguments(self.kernel).outputs[0], element.storage_type(self.type), [(self.batch, matrix)])
        return Array(base, n, 1)

    def _store(self, builder: Builder, batch: Value, row: Value, column: Value, value: Value) -> None:
        kernel, (root,) = self.kernel, self.kernel.roots
        emission = Emission(builder)
        m, n = self.lhs.count(self.lhs.free), self.rhs.count(self.rhs.free)
        sizes = self.batch, m, n
        places = [emission.opaque(index, size) for index, size in zip((batch, row, column), sizes, strict=True)]
        at = reshape(emission, places, sizes, self.dot.array.dims)
        result = element.convert(builder, value, self.type, self.dot.array.element_type)
        inner = elemental_of(kernel, emission)
        values = Elemental(emission, {**inner.leaves, self.dot: lambda _: result})
        stored = values.value(root, tuple(at)) if root is not self.dot else result
        rows = builder.add(builder.mul(batch, integer(m)), row)
        offset = builder.add(builder.mul(rows, integer(n)), column)
        root_type = root.array.element_type
        address = builder.gep(element.storage_type(root_type), arguments(kernel).outputs[0], offset)
        element.store(builder, root_type, stored, address)


def _joint_stride(group: Sequence[int], dims: Sequence[int], strides: Sequence[int]) -> int | None:
    """The stride of a linear index over dimensions that lie behind one another in memory; None if they do not."""
    walked = [d for d in group if dims[d] != 1]
    for outer, inner in itertools.pairwise(walked):
        if strides[outer] != strides[inner] * dims[inner]:
            return None
    return strides[walked[-1]] if walked else 1


def _run(group: Sequence[int], seen: View) -> int:
    """How many neighbours along a linear index over dimensions are adjacent in memory, from each multiple of it on."""
    run = 1
    for d in reversed([d for d in group if seen.dims[d] != 1]):
        if seen.strides[d] != run:
            break
        run *= seen.dims[d]
    return run


def _joined(walked: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Dimensions as (size, stride), outermost first, those that lie behind one another in memory as one."""
    result: list[tuple[int, int]] = []
    for size, stride in walked:
        if result and result[-1][1] == size * stride:
            result[-1] = result[-1][0] * size, stride
        elif size != 1:
            result.append((size, stride))
    return result


def _base(
    pointer: Value,
    type_: str,
    walked: Sequence[tuple[int, int]],
    start: Callable[[Builder], Value] = lambda _: integer(0),
) -> Base:
    """The address of a batch by its number, which counts through dimensions of these sizes and strides."""

    def base(builder: Builder, batch: Value) -> Value:
        offset, rest = start(builder), batch
        for place, (size, stride) in reversed(list(enumerate(walked))):
            digit = builder.binary("urem", rest, integer(size)) if place else rest
            offset = builder.add(offset, builder.mul(digit, integer(stride)))
            rest = builder.binary("udiv", rest, integer(size)) if place else rest
        return builder.gep(type_, pointer, offset)

    return base
