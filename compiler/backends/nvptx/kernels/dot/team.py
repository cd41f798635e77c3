"""Products whose sums are made by teams: a thread, a warp or a block for each element.

A team's threads take terms side by side and put their sums together, by shuffles within warps and through shared memory
between them.  Terms that a thread loads are on their way together, those that are left over at the end too: memory
answers after hundreds of cycles, so what counts is how often a thread waits.  A sum that is long for a block is made in
chunks where there are too few to keep a GPU busy (`split`).  The order of each sum depends on the shape alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.dot import split
from compiler.backends.nvptx.kernels.dot.matrix_product import FactorPosition, Product, ResultPosition
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.strategy import Launches, Plan, planned
from compiler.backends.nvptx.kernels.teams.tree import Block, power_of_two
from compiler.codegen.index import Emission, Variable, whole
from compiler.codegen.llvm_ir import Builder, Module, Value, integer, zero

_AHEAD = 8
"""Terms whose factors are loaded together."""
_LEAST_TERMS, _MOST_TERMS = 8, 64
"""Terms that each thread of a block has at least, and beyond which a second launch is sooner done."""
_LANES = 1 << 18
"""Threads that an H100 holds at once, about: more take turns."""
_MANY_BLOCKS = 1056
"""Blocks of `grid.BLOCK` threads that it holds at once."""


@dataclass(frozen=True, slots=True)
class Team:
    """How sums are made.

    Attributes:
        threads: of a team, a power of two: up to a warp, or a block.
        chunks: of each sum, made by a team each.
        each: terms of a chunk; the last may have fewer.
    """

    threads: int
    chunks: int
    each: int

    @property
    def round(self) -> int:
        """Terms that the team loads together."""
        return self.threads * _AHEAD


def team_of(product: Product) -> Team:
    """The team that sums up an element of a product whose sums are no shorter than a warp is wide."""
    depth, size = product.depth, product.size
    threads = power_of_two(max(grid.WARP, min(grid.BLOCK, depth // _LEAST_TERMS, _LANES // size)))
    chunks = min(_MANY_BLOCKS // size, depth // (threads * _AHEAD))
    if depth <= threads * _MOST_TERMS or chunks <= 1:
        return Team(threads, 1, depth)
    rounds = -(-depth // (chunks * threads * _AHEAD))
    each = rounds * threads * _AHEAD
    return Team(threads, -(-depth // each), each)


def plan(product: Product, team: Team) -> Plan:
    """The plan of a team for each element, or each chunk of one."""
    return planned(
        lambda module: _sum_by_teams(module, product, team),
        workspace_bytes=split.partial_bytes(product, team.chunks),
        details={"threads": team.threads, "parts": team.chunks},
    )


def plan_of_threads(product: Product) -> Plan:
    """The plan of a thread for each element."""

    def element(builder: Builder, number: Value) -> None:
        emission = Emission(builder)
        position = product.position(emission, number)
        terms = _Terms(integer(0), integer(product.depth), integer(0), Team(1, 1, product.depth))
        product.store(emission, _sum(product, emission, position, terms), position)

    return planned(lambda module: (grid.for_each(module, product.kernel, product.size, element),))


class _Terms(NamedTuple):
    """Terms of a sum: the first of the team, up to which, the thread's number in the team, and the team."""

    first: Value
    end: Value
    number: Value
    team: Team


def _sum(product: Product, emission: Emission, at: ResultPosition, terms: _Terms) -> Value:
    """The sum of a thread's terms of one element."""
    builder, (first, end, number, team) = emission.builder, terms

    def factors(term: Value) -> list[Value]:
        depth = whole(Variable(term, product.depth))
        frees = zip(product.sides, (at.row, at.column), strict=True)
        return [product.load(emission, side, FactorPosition(at.batch, free, depth)) for side, free in frees]

    behind = builder.sub(end, integer(team.round - 1))
    carried = [zero(product.value_type), first]
    with builder.loop(first, behind, step=team.round, carried=carried, name="terms") as loop:
        emission.enter()
        mine = builder.add(loop.index, number)
        found = [factors(builder.add(mine, integer(n * team.threads))) for n in range(_AHEAD)]
        total = loop.carried[0]
        for left, right in found:
            total = product.multiply_add(builder, left, right, total)
        loop.carry(total, builder.add(loop.index, integer(team.round)))
        emission.leave()
    total, rest = loop.results
    left_over, mine = product.depth % team.round, builder.add(rest, number)
    tail: list[tuple[Value | None, list[Value]]] = []
    for n in range(-(-left_over // team.threads)):
        term, inside = builder.add(mine, integer(n * team.threads)), None
        if team.chunks > 1 or (n + 1) * team.threads > left_over:
            inside = builder.compare("slt", term, end)
            term = builder.smin(term, integer(product.depth - 1))
        tail.append((inside, factors(term)))
    for inside, (left, right) in tail:
        more = product.multiply_add(builder, left, right, total)
        total = more if inside is None else builder.select(inside, more, total)
    return total


def _sum_by_teams(module: Module, product: Product, team: Team) -> Launches:
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


def _sum_up(product: Product, builder: Builder, who: tuple[Value, Value], team: Team) -> None:
    """Sum up a chunk of an element, by its number and that of the thread in the team."""
    number, thread = who
    emission = Emission(builder)
    chunk, element = emission.divide(emission.opaque(number, team.chunks * product.size), product.size)
    position = product.position(emission, emission.value(element))
    first = builder.mul(emission.value(chunk), integer(team.each))
    end = builder.smin(builder.add(first, integer(team.each)), integer(product.depth))
    total = _sum(product, emission, position, _Terms(first, end, thread, team))

    def combine(_: Emission, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        return [product.add(builder, left[0], right[0])]

    if team.threads <= grid.WARP:
        (total,) = grid.reduce_lanes(emission, [total], combine, team.threads)
    else:
        (total,) = Block(product.kernel.name, team.threads, [product.type]).reduce(emission, [total], combine)
    with builder.when(builder.compare("eq", thread, integer(0)), "first"):
        emission.enter()
        if team.chunks > 1:
            split.store(product, emission, total, chunk, position)
        else:
            product.store(emission, total, position)
        emission.leave()
