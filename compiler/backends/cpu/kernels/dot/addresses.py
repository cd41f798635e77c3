"""Addresses of the batches of a dot: in inputs, seen through slices, transposes and reshapes, and in the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.analysis.views import View
from compiler.backends.cpu.kernels.gemm.product import Base
from compiler.codegen import element
from compiler.codegen.index import Emission
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Value, integer
from compiler.codegen.movement import slice_starts
from compiler.codegen.signature import arguments, elemental_of


def of_view(kernel: Kernel, seen: View, batch: Sequence[int]) -> Base:
    """The addresses of the batches of a view, which count through those dimensions of it.

    Args:
        kernel: the product.
        seen: the array through which an operand is seen.
        batch: the dimensions of the view that count batches.
    """
    pointer = arguments(kernel).inputs[dict(kernel.leaves)[seen.source]]

    def start(builder: Builder) -> Value:
        emission, offset = Emission(builder), integer(seen.offset)
        for dynamic, strides in seen.slices:
            starts = slice_starts(elemental_of(kernel, emission), dynamic)
            for index, stride in zip(starts, strides, strict=True):
                offset = builder.add(offset, emission.value(index.times(stride)))
        return offset

    return of_batches(pointer, element.storage_type(seen.source.array.element_type), seen.stretches(batch), start)


def of_batches(
    pointer: Value,
    type_: str,
    walked: Sequence[tuple[int, int]],
    start: Callable[[Builder], Value] = lambda _: integer(0),
) -> Base:
    """The address of a batch by its number, which counts through dimensions of these sizes and strides.

    Args:
        pointer: where the array begins.
        type_: LLVM's type of its elements.
        walked: size and stride, in elements, of each batch dimension, the outermost first.
        start: elements from the array's first to that of the first batch.
    """

    def base(builder: Builder, batch: Value) -> Value:
        offset, rest = start(builder), batch
        for level, (size, stride) in reversed(list(enumerate(walked))):
            digit = builder.binary("urem", rest, integer(size)) if level else rest
            offset = builder.add(offset, builder.mul(digit, integer(stride)))
            rest = builder.binary("udiv", rest, integer(size)) if level else rest
        return builder.gep(type_, pointer, offset)

    return base
