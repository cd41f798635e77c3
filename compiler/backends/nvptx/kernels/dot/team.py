"""Products whose sums are made by teams: a thread, a warp or a block for each element.

A team's threads take terms side by side (`shares`) and put their sums together, by shuffles within warps and through
shared memory between them.  A sum that is long for a block is made in chunks where there are too few to keep a GPU busy
(`split`).  The order of each sum depends on the shape alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.dot import split
from compiler.backends.nvptx.kernels.dot.matrix_product import FactorPosition, Product, ResultPosition
from compiler.backends.nvptx.kernels.dot.shares import Shares
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.strategy import Launches, Plan, planned
from compiler.backends.nvptx.kernels.teams.tree import Block, power_of_two
from compiler.codegen.index import Emission, Index
from compiler.codegen.llvm_ir import Builder, Module, Value, integer, zero

_AHEAD = 8
"""Terms whose factors are loaded together."""
_LEAST_TERMS, _MOST_TERMS = 8, 64
"""Terms that each thread of a block has at least, and beyond which a second launch is sooner done."""
_LANES = 1 << 18
"""Threads that an H100 holds at once, about: more take turns."""
_MANY_BLOCKS = 1056
"""Blocks of `grid.BLOCK` threads that it holds at once."""


def team_of(product: Product) -> Shares:
    """How a team shares the terms of an element of a product whose sums are no shorter than a warp is wide."""
    depth, size = product.depth, product.size
    threads = power_of_two(max(grid.WARP, min(grid.BLOCK, depth // _LEAST_TERMS, _LANES // size)))
    chunks = min(_MANY_BLOCKS // size, depth // (threads * _AHEAD))
    if depth <= threads * _MOST_TERMS or chunks <= 1:
        return Shares(depth, threads, _AHEAD, 1, depth)
    rounds = -(-depth // (chunks * threads * _AHEAD))
    each = rounds * threads * _AHEAD
    return Shares(depth, threads, _AHEAD, -(-depth // each), each)


def plan(product: Product, team: Shares) -> Plan:
    """The plan of a team for each element, or each chunk of one."""
    return planned(
        lambda module: _sum_by_teams(module, product, team),
        workspace_bytes=split.partial_bytes(product, team.chunks),
        details={"threads": team.threads, "parts": team.chunks},
    )


def plan_of_threads(product: Product) -> Plan:
    """The plan of a thread for each element."""
    alone = Shares(product.depth, 1, _AHEAD, 1, product.depth)

    def element(builder: Builder, number: Value) -> None:
        emission = Emission(builder)
        position = product.position(emission, number)
        terms = integer(0), integer(product.depth)
        product.store(emission, _sum(product, emission, position, terms, integer(0), alone), position)

    return planned(lambda module: (grid.for_each(module, product.kernel, product.size, element),))


def _sum(
    product: Product, emission: Emission, at: ResultPosition, terms: tuple[Value, Value], number: Value, team: Shares
) -> Value:
    """The sum of the share of one element's terms that the thread of this number has."""

    def factors(depth: Index) -> list[Value]:
        frees = zip(product.sides, (at.row, at.column), strict=True)
        return [product.load(emission, side, FactorPosition(at.batch, free, depth)) for side, free in frees]

    def add(pair: Sequence[Value], totals: Sequence[Value]) -> list[Value]:
        return [product.multiply_add(emission.builder, *pair, *totals)]

    return team.summed(emission, terms, number, factors, add, [zero(product.value_type)])[0]


def _sum_by_teams(module: Module, product: Product, team: Shares) -> Launches:
    """Each team sums up an element, or a chunk of one."""
    block, sums = max(team.threads, grid.BLOCK if team.threads <= grid.WARP else 0), team.chunks * product.size
    teams = block // team.threads
    builder = grid.begin(module, product.kernel, block, talks=team.threads > grid.WARP)
    mine, thread = grid.block(builder), grid.thread(builder)
    if teams == 1:
        _sum_up(product, builder, (mine, thread), team)
    else:
        which, thread = builder.udivrem(thread, integer(team.threads))
        mine = builder.add(builder.mul(mine, integer(teams)), which)
        # All lanes of a warp take the branch or none does.
        with builder.when(builder.compare("slt", mine, integer(sums)), "inside"):
            _sum_up(product, builder, (mine, thread), team)
    builder.ret()
    launch = Launch(builder.function.name, -(-sums // teams), block)
    return split.finished(module, product, launch, team.chunks)


def _sum_up(product: Product, builder: Builder, who: tuple[Value, Value], team: Shares) -> None:
    """Sum up a chunk of an element, by its number and that of the thread in the team."""
    number, thread = who
    emission = Emission(builder)
    chunk, element = emission.divide(emission.opaque(number, team.chunks * product.size), product.size)
    position = product.position(emission, emission.value(element))
    total = _sum(product, emission, position, team.of_chunk(emission, chunk), thread, team)

    def combine(_: Emission, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        return [product.add(builder, left[0], right[0])]

    if team.threads <= grid.WARP:
        (total,) = grid.reduce_lanes(emission, [total], combine, team.threads)
    else:
        (total,) = Block(product.kernel.name, team.threads, [product.type]).reduce(emission, [total], combine)
    with builder.when(builder.compare("eq", thread, integer(0)), "first"):
        emission.enter()
        split.store(product, emission, total, position, chunk, team.chunks)
        emission.leave()
