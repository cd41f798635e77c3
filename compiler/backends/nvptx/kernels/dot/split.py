"""Products whose sums are made in parts: where results are too few to keep a GPU busy and the sums are long.

One launch makes the chunks, each by blocks or warps of its own, into the workspace; a second adds them up in order, a
thread for each element, and stores what the kernel yields.  How many chunks there are depends on shapes alone.
"""

from __future__ import annotations

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.dot.matrix_product import Product, ResultPosition
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.codegen import element
from compiler.codegen.index import Emission, Index, linear
from compiler.codegen.llvm_ir import Builder, Module, Value, integer
from compiler.codegen.signature import arguments

_AHEAD_BYTES = 256
"""Bytes of chunks that a thread loads together, in 64 registers: memory answers after hundreds of cycles."""


def chunks(workers: int, most_workers: int, terms: int, least_terms: int) -> tuple[int, int]:
    """How many chunks sums of so many terms (or slices of them) have, and how many terms each.

    There are `workers` for the whole sums and up to `most_workers` for the chunks, each with `least_terms` at least.
    """
    count = max(1, min(most_workers // max(workers, 1), terms // least_terms))
    each = -(-terms // count)
    return -(-terms // each), each


def store(
    product: Product, emission: Emission, total: Value, position: ResultPosition, chunk: Index, count: int
) -> None:
    """Store the sum of an element, or what a chunk has of it where there are several.

    Args:
        product: whose sums they are.
        emission: where code is emitted.
        total: the sum, or the chunk's.
        position: the element's.
        chunk: the chunk's number.
        count: chunks of a sum.
    """
    if count == 1:
        product.store(emission, total, position)
        return
    at = emission.value(chunk.times(product.size) + linear(position, (product.batch, product.rows, product.columns)))
    array = arguments(product.kernel).workspace
    stored = element.storage_type(product.type)
    element.store(emission.builder, product.type, total, emission.builder.gep(stored, array, at))


def partial_bytes(product: Product, count: int) -> int:
    """Bytes of the sums of so many chunks."""
    return count * product.size * product.type.size_bytes if count > 1 else 0


def finished(module: Module, product: Product, launch: Launch, count: int) -> tuple[Launch, ...]:
    """The launches where one of them makes sums in so many chunks.

    Args:
        module: where the function that adds up is defined.
        product: whose sums are split.
        launch: what computes the chunks.
        count: chunks of a sum.
    """
    if count == 1:
        return (launch,)
    stored, ahead = element.storage_type(product.type), _AHEAD_BYTES // product.type.size_bytes

    def add_up(builder: Builder, number: Value) -> None:
        emission = Emission(builder)
        first = builder.gep(stored, arguments(product.kernel).workspace, number)

        def partial(index: Value, more: int = 0) -> Value:
            at = builder.mul(builder.add(index, integer(more)), integer(product.size))
            return element.load(builder, product.type, builder.gep(stored, first, at))

        # Some chunks are on their way together, and are added in order.
        together = 1 + (count - 1) // ahead * ahead
        total = partial(integer(0))
        with builder.loop(integer(1), integer(together), step=ahead, carried=[total], name="parts") as loop:
            total = loop.carried[0]
            for found in [partial(loop.index, more) for more in range(ahead)]:
                total = product.add(builder, total, found)
            loop.carry(total)
        (total,) = loop.results
        for found in [partial(integer(index)) for index in range(together, count)]:
            total = product.add(builder, total, found)
        product.store(emission, total, product.position(emission, number))

    return launch, grid.for_each(module, product.kernel, product.size, add_up, "_total")
