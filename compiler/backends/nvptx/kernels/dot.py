"""Dot kernels: one thread for each element of the result, the terms summed in order.

Plain, and exact in the sense of f32: no tensor cores, no reordering.  Conversions of the operands and the epilogue are
fused in, as on the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import EmittedKernel, Launch
from compiler.codegen import element, nest, scalar
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import Emission, Index, Variable, reshape, whole
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import FLOAT_TYPES, Builder, Module, Value, integer, zero
from compiler.codegen.product import Factor, accumulation_type, factor
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.diagnostics import UnsupportedError
from compiler.ir.module import Instruction


def emit(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit a dot kernel."""
    dots = kernel.of_opcode("dot")
    if len(dots) != 1 or len(kernel.roots) != 1 or kernel.roots[0].array.dims != dots[0].array.dims:
        raise UnsupportedError("a fusion of this form around dot", "the NVPTX back end", kernel.name)
    dot, root = dots[0], kernel.roots[0]
    if root.array.size == 0:
        return EmittedKernel(kernel, ())
    threads = min(grid.BLOCK, root.array.size)
    builder = grid.begin(module, kernel, threads)
    number = grid.linear_thread(builder, threads)
    with builder.when(builder.compare("slt", number, integer(root.array.size)), "inside"):
        emission = Emission(builder)
        linear = emission.opaque(number, root.array.size)
        indices = nest.coordinates(emission, linear, root.array.dims)
        total = _sum(kernel, dot, emission, indices)
        result = element.convert(builder, total, accumulation_type(dot), dot.array.element_type)
        values = Elemental(emission, {**elemental_of(kernel, emission).leaves, dot: lambda _: result})
        stored = result if root is dot else values.value(root, indices)
        store(emission, root.array, stored, arguments(kernel).outputs[0], linear)
    builder.ret()
    return EmittedKernel(kernel, (Launch(builder.function.name, grid.blocks_for(root.array.size, threads), threads),))


def _sum(kernel: Kernel, dot: Instruction, emission: Emission, indices: Sequence[Index]) -> Value:
    """The sum of the products that make one element."""
    builder, type_ = emission.builder, accumulation_type(dot)
    lhs, rhs = factor(dot, 0), factor(dot, 1)
    batch = indices[: len(lhs.batch)]
    rows = indices[len(lhs.batch) : len(lhs.batch) + len(lhs.free)]
    columns = indices[len(lhs.batch) + len(lhs.free) :]
    depth = lhs.count(lhs.depth)

    def step(counters: list[Value], carried: list[Value]) -> list[Value]:
        sizes = lhs.sizes(lhs.depth)
        position = reshape(emission, (whole(Variable(counters[0], depth)),), (depth,), sizes)
        terms = [
            _load(kernel, emission, side, ((side.batch, batch), (side.free, free), (side.depth, position)))
            for side, free in ((lhs, rows), (rhs, columns))
        ]
        left, right = (
            element.convert(builder, term, side.instruction.array.element_type, type_)
            for term, side in zip(terms, (lhs, rhs), strict=True)
        )
        return [_multiply_add(builder, left, right, carried[0])]

    start = zero(element.value_type(type_))
    return nest.nested(emission, [nest.all_of(depth)], [start], step)[0]


def _load(
    kernel: Kernel,
    emission: Emission,
    side: Factor,
    parts: Sequence[tuple[Sequence[int], Sequence[Index]]],
) -> Value:
    at = {d: index for dims, found in parts for d, index in zip(dims, found, strict=True)}
    return elemental_of(kernel, emission).value(side.instruction, tuple(at[d] for d in range(len(at))))


def _multiply_add(builder: Builder, left: Value, right: Value, total: Value) -> Value:
    if left.type in FLOAT_TYPES:
        product = builder.binary("fmul", left, right, scalar.CONTRACT)
        return builder.binary("fadd", total, product, scalar.CONTRACT)
    return builder.binary("add", total, builder.binary("mul", left, right))
