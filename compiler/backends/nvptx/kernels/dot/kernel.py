"""Dot kernels: a matrix by few vectors (`vector`), tiles (`tile`), strips (`strip`), a team for each element (`team`).

Where the result is too narrow for tiles but the sums are long, the threads of a block, or of a warp, share each sum and
put it together.  Small products have a thread per element.  Where results are few and sums are long, those are made in
parts (`split`).  Conversions of the operands are evaluated where they are loaded, the epilogue where an element is
stored.  The order of each sum depends on the shape alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.dot import strip, team, tile, vector
from compiler.backends.nvptx.kernels.dot.matrix_product import DotOperand, Operand, Product, of_dot
from compiler.backends.nvptx.kernels.grid import Gpu
from compiler.backends.nvptx.kernels.strategy import (
    Given,
    Kind,
    Launches,
    Plan,
    Strategy,
    decide_nothing,
    first_of,
)
from compiler.backends.strategy import Declined
from compiler.codegen.kernel import Kernel
from compiler.diagnostics import UnsupportedError
from compiler.ops import Trait, having

_LEAST = 16
"""Rows and columns from which on products are made in tiles."""
_LONG_SUM = 64
"""Terms from which on threads share a sum: two for each lane of a warp."""


_SMALL = 1 << 25
"""Operations of a product, what is computed of its factors among them, up to which to load factors again for each
element takes less than to wait for slices of tiles one after the other."""
_LOAD = 4
"""Operations that it takes to load two factors, about: two lines at once for a warp."""
_DIVISIONS = 12
"""Operations that it takes to find a factor by divisions, about."""
_FREE = having(Trait.STRUCTURAL | Trait.VIEW | Trait.GENERATES | Trait.MOVES)
"""Opcodes that compute nothing."""


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
    if is_small(product, given.gpu):
        return Declined(
            "there is so little to multiply that waiting for slices takes longer than loading factors again"
        )
    return tile.plan(product, given.gpu)


def _strips(given: ProductGiven) -> Plan | Declined:
    """The plan of a block for each strip of columns."""
    return strip.plan(given.product, _LONG_SUM)


def _blocks(given: ProductGiven) -> Plan | Declined:
    """The plan of a block for each element."""
    return block_per_element(given.product, _LONG_SUM)


def _warps(given: ProductGiven) -> Plan | Declined:
    """The plan of a warp for each element."""
    return warp_per_element(given.product, _LONG_SUM)


def _threads(given: ProductGiven) -> Plan:
    """The plan of a thread for each element."""
    return team.plan_of_threads(given.product)


PRODUCTS: tuple[Strategy[ProductGiven, Launches], ...] = (
    Strategy("a matrix by few vectors", lambda given: vector.decide(given.product)),
    Strategy("tiles", _tiles),
    Strategy("a block for each strip", _strips),
    Strategy("a block for each element", _blocks),
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


def is_small(product: Product, gpu: Gpu) -> bool:
    """Whether a product is so small that its factors are loaded again for each element."""
    if gpu.share_all:
        return False
    each = _LOAD + sum(1 for instruction in product.kernel.body() if instruction.opcode not in _FREE)
    each += _DIVISIONS * sum(map(_divides, product.sides))
    return product.size * product.depth * each <= _SMALL


def _divides(side: Operand) -> bool:
    """Whether divisions find a factor: of the term, where that is an index of several dimensions."""
    return side.divides or (isinstance(side, DotOperand) and len(side.factor.depth) > 1)


def block_per_element(product: Product, least: int) -> Plan | Declined:
    """The plan where each block sums up one element, or where those are few a chunk of one.

    Args:
        product: whose elements they are.
        least: terms of a sum that threads share.
    """
    if product.depth < least:
        return Declined(f"sums have fewer than {least} terms")
    found = team.team_of(product)
    return team.plan(product, found) if found.threads > grid.WARP else Declined("sums are short, or many")


def warp_per_element(product: Product, least: int) -> Plan | Declined:
    """The plan where each warp sums up one element, of sums that are no block's.

    Args:
        product: whose elements they are.
        least: terms of a sum that threads share.
    """
    if product.depth < least:
        return Declined(f"sums have fewer than {least} terms")
    return team.plan(product, team.team_of(product))
