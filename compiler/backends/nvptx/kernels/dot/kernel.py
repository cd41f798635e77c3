"""Dot kernels: a matrix by few vectors (`vector`), in tiles (`tile`), a warp or a thread for each element.

Where the result is too narrow for either but the sums are long, the lanes of a warp share each sum and put it together
by shuffles.  Small products have a thread per element.  Where results are few and sums are long, those are made in
parts (`split`).  Conversions of the operands are evaluated where they are loaded, the epilogue where an element is
stored.  The order of each sum depends on the shape alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.dot import split, tile, vector
from compiler.backends.nvptx.kernels.dot.matrix_product import FactorPosition, Product, ResultPosition, of_dot
from compiler.backends.nvptx.kernels.grid import Gpu, Launch
from compiler.backends.nvptx.kernels.strategy import (
    Given,
    Kind,
    Launches,
    Plan,
    Strategy,
    decide_nothing,
    first_of,
    planned,
)
from compiler.backends.strategy import Declined
from compiler.codegen.index import Emission, Variable, whole
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, Value, integer, zero
from compiler.diagnostics import UnsupportedError

_LEAST = 16
"""Rows and columns from which on products are made in tiles."""
_LONG_SUM = 64
"""Terms from which on the lanes of a warp share a sum: two for each."""
_AHEAD = 4
"""Terms whose factors are loaded together: memory answers after hundreds of cycles."""
_MANY_WARPS = 1024
"""Warps that keep a GPU busy."""
_LEAST_CHUNK = 32 * grid.WARP
"""Terms from which on a chunk of a sum is worth a warp of its own."""


@dataclass(frozen=True)
class ProductGiven(Given):
    """A kernel around a product."""

    product: Product


def given_of(kernel: Kernel, gpu: Gpu) -> ProductGiven:
    """A dot kernel with its operands, as strategies are given it.

    Raises:
        UnsupportedError: the kernel is a fusion of another form.
    """
    dots = kernel.of_opcode("dot")
    if len(dots) != 1 or len(kernel.roots) != 1 or kernel.roots[0].array.dims != dots[0].array.dims:
        raise UnsupportedError("a fusion of this form around dot", "the NVPTX back end", kernel.name)
    return ProductGiven(kernel, gpu, of_dot(kernel, dots[0]))


def _tiles(given: ProductGiven) -> Plan | Declined:
    """The plan of tiles."""
    product = given.product
    if min(product.rows, product.columns) < _LEAST or not product.depth:
        return Declined(f"fewer than {_LEAST} rows or columns, or nothing to sum")
    return tile.plan(product, given.gpu)


def _warps(given: ProductGiven) -> Plan | Declined:
    """The plan of a warp for each element."""
    if given.product.depth < _LONG_SUM:
        return Declined(f"sums have fewer than {_LONG_SUM} terms")
    return warp_per_element(given.product)


def _threads(given: ProductGiven) -> Plan:
    """The plan of a thread for each element."""
    product = given.product

    def element(builder: Builder, number: Value) -> None:
        _element(product, builder, number)

    return planned(lambda module: (grid.for_each(module, product.kernel, product.size, element),))


PRODUCTS: tuple[Strategy[ProductGiven, Launches], ...] = (
    Strategy("a matrix by few vectors", lambda given: vector.decide(given.product)),
    Strategy("tiles", _tiles),
    Strategy("a warp for each element", _warps),
    Strategy("a thread for each element", _threads),
)
"""How batches of matrix products are computed."""

DOT = Kind((Strategy("nothing", decide_nothing), *PRODUCTS), given_of)
"""Dot kernels."""


def plan_of(given: Given, product: Product) -> Plan:
    """The plan of a kernel that a product, which is not empty, amounts to."""
    chosen = first_of(PRODUCTS, ProductGiven(given.kernel, given.gpu, product))
    return replace(chosen.plan, inner=chosen, details={})


def _element(product: Product, builder: Builder, number: Value) -> None:
    """Sum up one element of the result and store it."""
    emission = Emission(builder)
    position = product.position(emission, number)
    total = _sum(product, emission, position, _Terms(integer(0), integer(product.depth), 1))
    product.store(emission, total, position)


class _Terms(NamedTuple):
    """Terms of a sum: from which, up to which, and every so many."""

    first: Value
    end: Value
    step: int


def _sum(product: Product, emission: Emission, at: ResultPosition, terms: _Terms) -> Value:
    """The sum of some terms of one element."""
    builder, (first, end, step) = emission.builder, terms

    def factors(index: Value) -> list[Value]:
        depth = whole(Variable(index, product.depth))
        frees = zip(product.sides, (at.row, at.column), strict=True)
        return [product.load(emission, side, FactorPosition(at.batch, free, depth)) for side, free in frees]

    # Factors of some terms are on their way together, and are added in order; what is left over comes one by one.
    start, behind = zero(product.value_type), builder.sub(end, integer((_AHEAD - 1) * step))
    with builder.loop(first, behind, step=_AHEAD * step, carried=[start, first], name="terms") as loop:
        emission.enter()
        found = [factors(builder.add(loop.index, integer(n * step))) for n in range(_AHEAD)]
        total = loop.carried[0]
        for left, right in found:
            total = product.multiply_add(builder, left, right, total)
        loop.carry(total, builder.add(loop.index, integer(_AHEAD * step)))
        emission.leave()
    total, rest = loop.results
    with builder.loop(rest, end, step=step, carried=[total], name="term") as loop:
        emission.enter()
        left, right = factors(loop.index)
        loop.carry(product.multiply_add(builder, left, right, loop.carried[0]))
        emission.leave()
    return loop.results[0]


def warp_per_element(product: Product) -> Plan:
    """The plan where each warp sums up one element, or where those are few a chunk of one."""
    count, each = split.chunks(product.size, _MANY_WARPS, product.depth, _LEAST_CHUNK)
    return planned(
        lambda module: _sum_by_warps(module, product, count, each),
        workspace_bytes=split.partial_bytes(product, count),
        details={"parts": count},
    )


def _sum_by_warps(module: Module, product: Product, count: int, each: int) -> Launches:
    warps = grid.BLOCK // grid.WARP
    builder = grid.begin(module, product.kernel, grid.BLOCK)
    thread = grid.thread(builder)
    lane = builder.binary("and", thread, integer(grid.WARP - 1))
    warp = builder.binary("lshr", thread, integer(5))
    number = builder.add(builder.mul(grid.block(builder), integer(warps)), warp)
    # All lanes of a warp take the branch or none does.
    with builder.when(builder.compare("slt", number, integer(count * product.size)), "inside"):
        emission = Emission(builder)
        chunk, element = emission.divide(emission.opaque(number, count * product.size), product.size)
        position = product.position(emission, emission.value(element))
        first = builder.mul(emission.value(chunk), integer(each))
        end = builder.smin(builder.add(first, integer(each)), integer(product.depth))
        total = _sum(product, emission, position, _Terms(builder.add(first, lane), end, grid.WARP))
        (total,) = grid.reduce_lanes(emission, [total], lambda _, *sums: [_add(product, builder, *sums)], grid.WARP)
        with builder.when(builder.compare("eq", lane, integer(0)), "first"):
            emission.enter()
            if count > 1:
                split.store(product, emission, total, chunk, position)
            else:
                product.store(emission, total, position)
            emission.leave()
    builder.ret()
    launch = Launch(builder.function.name, -(-count * product.size // warps), grid.BLOCK)
    return split.finished(module, product, launch, count)


def _add(product: Product, builder: Builder, left: Sequence[Value], right: Sequence[Value]) -> Value:
    return product.add(builder, left[0], right[0])
