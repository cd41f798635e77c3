"""Products with few rows or few columns: a matrix by a vector, or by some, where reading the matrix is all the work.

The matrix is read once, in order, for all vectors.  Where neighbours in memory are terms of one sum, a block has a few
lines of the matrix, and its threads take words of them a block's width apart.  Where neighbours belong to neighbouring
sums, a warp has a strip of those and the warps of a block share the terms.  Memory is as fast as what is on its way at
once allows, so a thread asks for several words before it multiplies.  Sums too few to keep a GPU busy are made in parts
(`split`).  The order of each sum depends on the shape alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.dot import split
from compiler.backends.nvptx.kernels.dot.matrix_product import FactorPosition, Operand, Product, ResultPosition
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.strategy import Launches, Plan, planned
from compiler.backends.nvptx.kernels.teams.tree import Block, power_of_two
from compiler.backends.strategy import Declined
from compiler.codegen.index import Emission, Index, constant, reshape
from compiler.codegen.llvm_ir import Builder, Module, Value, integer, zero

_FEW = 15
"""Vectors at most: of more, tiles use what they have read more often."""
_SUM_BYTES = 128
"""Bytes of a thread's sums at most, in 32 registers."""
_SHORT = 64
"""Terms of a sum from which on several threads share it."""
_LINE_WORD, _STRIP_WORD = 16, 8
"""Bytes that a thread reads at once: along lines the widest word; of strips less, so that there are more of them."""
_AHEAD_BYTES, _AHEAD = 64, 16
"""Bytes that a thread asks for together, in 16 registers, and how many words at most."""
_LINES = 4
"""Lines of a block at most: for all of them it reads the vectors once."""
_WARPS = 8
"""Warps of a block at most."""
_MANY_BLOCKS = 512
"""Blocks that sums are cut for: about four for each of the 108 to 132 multiprocessors of an A100 or H100."""
_LONG_ROUNDS = 4
"""Times that a thread waits for memory beyond which sums are worth parts: their launch takes about as long."""


def decide(product: Product) -> Plan | Declined:
    """The plan of a product with few rows or columns."""
    few = min(product.rows, product.columns)
    if few > _FEW or few * product.type.size_bytes > _SUM_BYTES:
        return Declined(f"more than {_FEW} rows and columns, or sums for which a thread has no registers")
    if product.depth < _SHORT:
        return Declined(f"sums have fewer than {_SHORT} terms")
    form = _form(product)
    if form is None:
        return Declined("what lies side by side in the matrix is too little for a warp")
    count, _ = form.chunks
    return planned(
        lambda module: _emit(module, form),
        workspace_bytes=split.partial_bytes(product, count),
        details={"word": form.word, "lines": form.lines, "at_once": form.at_once, "parts": count},
    )


@dataclass(frozen=True, slots=True)
class _Form:
    """How the threads of a block lie on the matrix.

    Attributes:
        product: what is computed.
        number: which operand is the matrix.
        word: elements of it that a thread reads at once.
        lines: how many lines of it a thread reads words of, where words hold terms of one sum.
        at_once: words of each line, or rows of a strip, that a thread asks for together.
        warps: of a block, which share its sums.
        groups: of lines, or strips: so many blocks make a product's sums, or a part of each.
        units: words of a line, or as many rows of a strip as a thread asks for together, which whole sums have.
    """

    product: Product
    number: int
    word: int
    lines: int
    at_once: int
    warps: int
    groups: int
    units: int

    @property
    def matrix(self) -> Operand:
        """The operand that is the matrix."""
        return self.product.sides[self.number]

    @property
    def vectors(self) -> Operand:
        """The operand of few rows or columns."""
        return self.product.sides[1 - self.number]

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.warps * grid.WARP

    @property
    def round(self) -> int:
        """Units that all threads of a block, or warps where those have strips, take in one go."""
        return self.at_once * self.threads if self.matrix.is_deep else self.warps

    @property
    def chunks(self) -> tuple[int, int]:
        """How many parts sums are made in, and how many rounds each has."""
        rounds = -(-self.units // self.round)
        least = 1 if rounds > _LONG_ROUNDS else rounds
        return split.chunks(self.product.batch * self.groups, _MANY_BLOCKS, rounds, least)

    def added(self, emission: Emission, at: _Elements, totals: Sequence[Value]) -> list[Value]:
        """The sums of all vectors after some terms, whose elements of the matrix are on their way together."""
        product, found = self.product, list(totals)
        loaded = [
            [product.load(emission, self.matrix, FactorPosition(at.batch, free, depth)) for free in at.frees]
            for depth in at.depths
        ]
        for depth, elements in zip(at.depths, loaded, strict=True):
            for vector in range(self.vectors.count):
                other = product.load(emission, self.vectors, FactorPosition(at.batch, constant(vector), depth))
                for number, element in enumerate(elements, vector * len(elements)):
                    pair = (other, element) if self.number else (element, other)
                    found[number] = product.multiply_add(emission.builder, *pair, found[number])
        return found

    def range(self, builder: Builder, chunk: Value) -> tuple[Value, Value]:
        """The units of a part of the sums: the first, and the one behind the last."""
        each = self.chunks[1] * self.round
        start = builder.mul(chunk, integer(each))
        return start, builder.smin(builder.add(start, integer(each)), integer(self.units))

    def combine(self, emission: Emission, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        """The sums of two threads added up."""
        return [self.product.add(emission.builder, one, other) for one, other in zip(left, right, strict=True)]


class _Elements(NamedTuple):
    """Elements of the matrix: of a batch, all pairs of these."""

    batch: Index
    frees: Sequence[Index]
    depths: Sequence[Index]


class _Work(NamedTuple):
    """What a block does: the part of the sums, the batch, and the number of its lines or its strip."""

    chunk: Index
    batch: Index
    group: Index


def _form(product: Product) -> _Form | None:
    """How threads lie on the matrix, the operand with more rows or columns if that will do; None where none will."""
    numbers = sorted((0, 1), key=lambda number: -product.sides[number].count)
    forms = (_form_with(product, number) for number in numbers if product.sides[1 - number].count <= _FEW)
    return next(filter(None, forms), None)


def _form_with(product: Product, number: int) -> _Form | None:
    """How threads lie on an operand; None where lanes of a warp would have nothing to read."""
    matrix, size = product.sides[number], product.source(product.sides[number]).array.element_type.size_bytes
    most = power_of_two(max(1, _SUM_BYTES // (product.sides[1 - number].count * product.type.size_bytes)))
    if matrix.is_deep:
        word = min(matrix.run, max(1, _LINE_WORD // size), power_of_two(product.depth // grid.WARP))
        enough = product.batch * matrix.count // (2 * _MANY_BLOCKS)
        lines, words = power_of_two(max(1, min(_LINES, most, enough))), product.depth // word
        at_once = power_of_two(max(1, min(_AHEAD_BYTES // (lines * word * size), _AHEAD // lines)))
        warps = power_of_two(max(1, min(_WARPS, words // (2 * at_once * grid.WARP))))
        groups = -(-matrix.count // lines)
        return _Form(product, number, word, lines, at_once, warps, groups, words)
    if matrix.count < grid.WARP:
        return None
    word = min(matrix.run, max(1, _STRIP_WORD // size), most, power_of_two(matrix.count // grid.WARP))
    at_once = min(_AHEAD, max(1, _AHEAD_BYTES // (word * size)))
    groups, units = -(-matrix.count // (grid.WARP * word)), product.depth // at_once
    return _Form(product, number, word, 1, at_once, power_of_two(min(_WARPS, units)), groups, units)


def _emit(module: Module, form: _Form) -> Launches:
    product, (count, _) = form.product, form.chunks
    builder = grid.begin(module, product.kernel, form.threads)
    emission, sizes = Emission(builder), (count, product.batch, form.groups)
    blocks = count * product.batch * form.groups
    found = reshape(emission, (emission.opaque(grid.block(builder), blocks),), (blocks,), sizes)
    work = _Work(*(emission.opaque(emission.value(i), size) for i, size in zip(found, sizes, strict=True)))
    (_lines if form.matrix.is_deep else _strips)(emission, form, work)
    builder.ret()
    return split.finished(module, product, Launch(builder.function.name, blocks, form.threads), count)


def _lines(emission: Emission, form: _Form, work: _Work) -> None:
    """Make the sums of some lines of the matrix: threads take words a block's width apart."""
    builder, product, count = emission.builder, form.product, form.matrix.count
    thread, threads = grid.thread(builder), form.threads
    first = work.group.times(form.lines)
    frees = [first.plus(number) for number in range(form.lines)]
    if count % form.lines:
        # Behind the last line that is read, and stored by the same thread, once more.
        last = integer(count - 1)
        frees = [emission.opaque(builder.umin(emission.value(free), last), count) for free in frees]
    start, end = form.range(builder, emission.value(work.chunk))
    totals, following = [zero(product.value_type)] * (form.vectors.count * form.lines), builder.add(start, thread)
    is_whole = form.units % form.round == 0
    for many in (form.at_once,) if is_whole else dict.fromkeys((form.at_once, 1)):
        behind, step = builder.sub(end, integer((many - 1) * threads)), many * threads
        carried = [*totals, following]
        with builder.loop(following, behind, step=step, carried=carried, name="words", nonempty=is_whole) as loop:
            emission.enter()
            words = [builder.add(loop.index, integer(number * threads)) for number in range(many)]
            depths = [
                emission.opaque(word, form.units).times(form.word).plus(n) for word in words for n in range(form.word)
            ]
            totals = form.added(emission, _Elements(work.batch, frees, depths), loop.carried[:-1])
            loop.carry(*totals, builder.add(loop.index, integer(step)))
            emission.leave()
        *totals, following = loop.results
    block = Block(product.kernel.name, threads, [product.type] * len(totals))
    totals = block.reduce(emission, totals, form.combine)
    with builder.when(builder.compare("eq", thread, integer(0)), "first"):
        emission.enter()
        _store(emission, form, work, frees, totals)
        emission.leave()


def _strips(emission: Emission, form: _Form, work: _Work) -> None:
    """Make the sums of a strip: lanes have neighbours, and warps share the terms."""
    builder, product = emission.builder, form.product
    lane = builder.binary("and", grid.thread(builder), integer(grid.WARP - 1))
    warp = builder.binary("lshr", grid.thread(builder), integer(5))
    words = form.matrix.count // form.word
    number = builder.add(emission.value(work.group.times(grid.WARP)), lane)
    # Lanes behind the last word do its work again, and do not store it.
    word = builder.umin(number, integer(words - 1)) if words % grid.WARP else number
    frees = [emission.opaque(word, words).times(form.word).plus(n) for n in range(form.word)]
    start, end = form.range(builder, emission.value(work.chunk))
    totals = [zero(product.value_type)] * (form.vectors.count * form.word)
    with builder.loop(builder.add(start, warp), end, step=form.warps, carried=totals, name="rows") as loop:
        emission.enter()
        first = emission.opaque(loop.index, form.units).times(form.at_once)
        depths = [first.plus(n) for n in range(form.at_once)]
        loop.carry(*form.added(emission, _Elements(work.batch, frees, depths), loop.carried))
        emission.leave()
    totals = loop.results
    rest = form.units * form.at_once
    if rest < product.depth:
        # The last part has the rows that are too few to be asked for together.
        is_last = builder.compare("eq", emission.value(work.chunk), integer(form.chunks[0] - 1))
        first_row = builder.add(warp, integer(rest))
        first_row = builder.select(is_last, first_row, integer(product.depth))
        with builder.loop(first_row, integer(product.depth), step=form.warps, carried=totals, name="row") as loop:
            emission.enter()
            depth = emission.opaque(loop.index, product.depth)
            loop.carry(*form.added(emission, _Elements(work.batch, frees, [depth]), loop.carried))
            emission.leave()
        totals = loop.results
    block = Block(product.kernel.name, form.threads, [product.type] * len(totals))
    totals = block.reduce_strips(emission, totals, form.combine)
    mine = builder.compare("eq", warp, integer(0))
    if words % grid.WARP:
        mine = builder.binary("and", mine, builder.compare("slt", number, integer(words)))
    with builder.when(mine, "first"):
        emission.enter()
        _store(emission, form, work, frees, totals)
        emission.leave()


def _store(emission: Emission, form: _Form, work: _Work, frees: Sequence[Index], totals: Sequence[Value]) -> None:
    """Store the sums of all vectors with some rows or columns of the matrix, or what this part has of them."""
    for number, total in enumerate(totals):
        vector, free = constant(number // len(frees)), frees[number % len(frees)]
        position = ResultPosition(work.batch, *((vector, free) if form.number else (free, vector)))
        split.store(form.product, emission, total, position, work.chunk, form.chunks[0])
