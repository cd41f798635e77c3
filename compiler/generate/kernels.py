"""Programs around one kernel, of sizes at which back ends go other ways about it: in tiles, blocks, chunks, by tables.

What threads share, and what is cut, is computed by code of its own: a last tile that overlaps the one before or is
lower, sums that go on in another block of their terms, partial results that are put together, an epilogue over sums
that wait in memory.  Sizes drawn at random hardly ever come to any of that, since it hangs on several dimensions at
once.  So here each kernel has its regimes (`compiler.generate.regimes`).  What a kernel reads is at times computed, or
left by another kernel, and what it yields goes into what is fused behind it (`compiler.generate.around`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from compiler.generate import images, regimes, repeated, sparse, updates
from compiler.generate.around import PRODUCT_TYPES, SEEN_PERCENT, contracted, finished, multiplied, read
from compiler.generate.choices import chance, permutation, pick, turned
from compiler.generate.combining import RECIPES as COMBINING
from compiler.generate.combining import arg_reduce, combiner, combiners, identity_constant, running
from compiler.generate.matrices import diagonal, numbers, positive_definite
from compiler.generate.movement import RECIPES as MOVEMENT
from compiler.generate.products import RECIPES as PRODUCTS
from compiler.generate.products import sum_type
from compiler.generate.recipe import Recipe
from compiler.generate.regimes import Regime, sizes
from compiler.generate.scope import Scope
from compiler.generate.sorting import RECIPES as SORTING
from compiler.generate.sorting import how_many, sort
from compiler.ir import csr
from compiler.ir.attributes import SliceDimension
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ir.types import BF16, F16, PRED, S32, TYPES, ElementType
from compiler.ops import OPS, Trait, having

Draw = Callable[[Scope, ElementType], Instruction]

_WORDS_PERCENT, _TWICE_PERCENT = 35, 15
"""How often factors lie in memory as tensor cores read them, parameters as they are, in whole words of narrow types;
how often both are one."""
_SEVERAL_PERCENT, _AGAIN_PERCENT, _BENT_PERCENT, _BESIDE_PERCENT = 25, 30, 30, 35
"""How often rows are reduced over several dimensions; how often what was read is, not what was made of it so far; how
often each element is such that none is computed twice; how often other rows are added."""
_LONG_ROWS_PERCENT = 15
"""How often rows are longer than registers hold."""
_BATCH, _FREE, _TERMS = "batch", "free", "terms"
_SPLIT_PERCENT, _LEAST_SPLIT, _ONE_PERCENT = 15, 4, 30
"""How often there are two dimensions of a kind, and of how many elements at least; how often one has size 1 where there
might be none."""
_BLOCKED_PERCENT, _WIDER_PERCENT = 30, 50
"""How often sums of products are longer than a block; how often narrow numbers are summed in a wider type."""
_LEAST_SUMMED_BITS = 32
"""Bits of a term of a sum: narrower numbers are widened."""
_COLUMNS_PERCENT, _END_PERCENT, _REVERSED_PERCENT = 60, 40, 20
"""How often the greatest are those of columns; how often only the first or the last of sorted elements are read; how
often they are read from the last on."""
_ANY_PERCENT = 30
"""How often something runs along any dimension, and not along the longest."""
_MOST_CHOSEN = (4, 20, 300)
"""How many of a line are chosen at most: such as vectors hold, and more."""
_CHAIN = tuple(opcode for opcode in sorted(having(Trait.APPROXIMATE)) if OPS[opcode].operands[0] == 1)
"""Functions of one number that take long enough to be looked up."""


def _bytes(element_type: ElementType) -> int:
    return max(element_type.bits, _LEAST_SUMMED_BITS) // 8


def _product(scope: Scope, element_type: ElementType) -> Instruction:
    """A batch of matrix products, dimensions in any order, several of a kind perhaps, or none of what is one."""
    choices = scope.choices
    if chance(choices, _BLOCKED_PERCENT):
        batch, rows, *wide = sizes(choices, regimes.BLOCKED)
        columns, depth = (size // _bytes(element_type) for size in wide)
    else:
        batch, rows, columns, depth = sizes(choices, regimes.FACTORS)
    is_plain = chance(choices, _WORDS_PERCENT)
    if is_plain:
        rows, columns, depth = (regimes.in_words(size) for size in (rows, columns, depth))
        narrow = [t for t in scope.program.element_types if t in PRODUCT_TYPES and t.bits < _LEAST_SUMMED_BITS]
        element_type = pick(choices, [t for t in narrow if t is not PRED] or [element_type])
    shared = {_BATCH: _dims_of(scope, batch), _TERMS: _dims_of(scope, depth)}
    down, across = ({**shared, _FREE: _dims_of(scope, size)} for size in (rows, columns))
    left = _factor(scope, element_type, down, is_plain=is_plain)
    right = left if chance(choices, _TWICE_PERCENT) else _factor(scope, element_type, across, is_plain=is_plain)
    dims = (*shared[_BATCH], *left.free_dims, *right.free_dims)
    return scope.build(
        "dot",
        [left.array, right.array],
        shape=ArrayShape(sum_type(scope, element_type, _WIDER_PERCENT), dims),
        lhs_batch_dims=tuple(left.at[_BATCH]),
        rhs_batch_dims=tuple(right.at[_BATCH]),
        lhs_contracting_dims=tuple(left.at[_TERMS]),
        rhs_contracting_dims=tuple(right.at[_TERMS]),
    )


def _dims_of(scope: Scope, size: int) -> list[int]:
    """Dimensions of about so many elements: one, at times two, and of one element mostly none."""
    if size == 1:
        return [1] if chance(scope.choices, _ONE_PERCENT) else []
    if size < _LEAST_SPLIT or not chance(scope.choices, _SPLIT_PERCENT):
        return [size]
    first = scope.choices.integer(2, 3)
    return [first, size // first] if chance(scope.choices, 50) else [size // first, first]


class _Factor(NamedTuple):
    """A factor, where its dimensions of each kind are, in the order in which both factors have them."""

    array: Instruction
    at: Mapping[str, list[int]]

    @property
    def free_dims(self) -> list[int]:
        """The sizes of the dimensions that are the product's, in its order."""
        return [self.array.array.dims[d] for d in sorted(self.at[_FREE])]


def _factor(scope: Scope, element_type: ElementType, kinds: Mapping[str, list[int]], *, is_plain: bool) -> _Factor:
    """A factor with dimensions in any order, which at times is a parameter as it is."""
    named = [(kind, number) for kind, dims in kinds.items() for number in range(len(dims))]
    order = [named[k] for k in permutation(scope.choices, len(named))]
    dims = [kinds[kind][number] for kind, number in order]
    array = scope.parameter(ArrayShape(element_type, tuple(dims))) if is_plain else read(scope, element_type, dims)
    return _Factor(array, {kind: [order.index((kind, n)) for n in range(len(dims))] for kind, dims in kinds.items()})


def _normalised(scope: Scope, element_type: ElementType) -> Instruction:
    of = regimes.LONG_ROWS if chance(scope.choices, _LONG_ROWS_PERCENT) else regimes.ROWS
    return _by_rows(scope, read(scope, element_type, sizes(scope.choices, of)))


def _attended(scope: Scope, element_type: ElementType) -> Instruction:
    """Rows between two products, as in attention: nobody else sees what they are, before or after."""
    shape = ArrayShape(element_type, tuple(sizes(scope.choices, regimes.ROWS)))
    return contracted(scope, _by_rows(scope, multiplied(scope, shape)))


def _by_rows(scope: Scope, given: Instruction) -> Instruction:
    """Rows, each combined with what it or the first one is reduced to, several of them perhaps, once or more often."""
    value, element_type, dims = given, given.array.element_type, given.array.dims
    last = len(dims) - 1
    for _ in range(scope.choices.integer(1, 3)):
        opcode = pick(scope.choices, combiners(element_type)[:3])
        reducer, start = combiner(scope, opcode, element_type), identity_constant(scope, opcode, element_type)
        first = scope.choices.integer(0, last) if chance(scope.choices, _SEVERAL_PERCENT) else last
        source, axes = given if chance(scope.choices, _AGAIN_PERCENT) else value, tuple(range(first, last + 1))
        reduced = scope.build("reduce", [source, start], to_apply=reducer, dimensions=axes)
        if chance(scope.choices, SEEN_PERCENT):
            scope.kept.append(reduced)
        shape = ArrayShape(element_type, dims)
        spread = scope.build("broadcast", [reduced], shape=shape, dimensions=tuple(range(first)))
        value = scope.build(pick(scope.choices, ("subtract", "add")), [value, spread])
        if chance(scope.choices, _BESIDE_PERCENT):
            value = scope.build("add", [value, scope.parameter(shape)])
        if element_type.is_float and chance(scope.choices, _BENT_PERCENT):
            value = scope.build("tanh", [value])
    return value


def _columns(scope: Scope, element_type: ElementType) -> Instruction:
    """Columns, few or many, each reduced along all rows."""
    value = read(scope, element_type, sizes(scope.choices, regimes.REDUCED))
    opcode = pick(scope.choices, combiners(element_type))
    reducer, start = combiner(scope, opcode, element_type), identity_constant(scope, opcode, element_type)
    return scope.build("reduce", [value, start], to_apply=reducer, dimensions=tuple(range(value.array.rank - 1)))


def _argmax(scope: Scope, element_type: ElementType) -> Instruction:
    """The greatest of each row, or of each column, and where it is."""
    value = read(scope, element_type, sizes(scope.choices, regimes.REDUCED))
    return arg_reduce(scope, value, 0 if chance(scope.choices, _COLUMNS_PERCENT) else value.array.rank - 1)


def _sorted(scope: Scope, element_type: ElementType) -> Instruction:
    """Lines in order, with others that go along, of which all is read or one end, from either side."""
    choices, dims = scope.choices, sizes(scope.choices, regimes.SORTED)
    keys, along = read(scope, element_type, dims), dims.index(max(dims))
    others = [pick(choices, _OTHERS) for _ in range(choices.integer(0, _MOST_OTHERS))]
    results = sort(scope, [keys, *(other(scope, keys, along) for other in others)], along)
    for number, result in enumerate(results):
        if chance(choices, _END_PERCENT):
            count = choices.integer(1, min(pick(choices, _MOST_CHOSEN), dims[along]))
            first = pick(choices, (0, dims[along] - count))
            cut = [SliceDimension(0, n, 1) for n in dims]
            cut[along] = SliceDimension(first, first + count, 1)
            results[number] = scope.build("slice", [result], slice=tuple(cut))
        if chance(choices, _REVERSED_PERCENT):
            results[number] = scope.build("reverse", [results[number]], dimensions=(along,))
    scope.kept += results[:-1]
    return results[-1]


def _numbers(scope: Scope, keys: Instruction, along: int) -> Instruction:
    return scope.build("iota", shape=keys.array.with_type(S32), iota_dimension=along)


def _any_kind(scope: Scope, keys: Instruction, _: int) -> Instruction:
    return read(scope, pick(scope.choices, [S32, *scope.program.element_types]), keys.array.dims)


def _widest(scope: Scope, keys: Instruction, _: int) -> Instruction:
    """What makes a key, with what is before it, of more bits than words have."""
    kinds = [kind for kind in (S32, *scope.program.element_types) if kind in SORTING["sort"].element_types]
    return read(scope, max(kinds, key=lambda kind: kind.bits), keys.array.dims)


def _flat(scope: Scope, element_type: ElementType) -> Instruction:
    """Elements each computed alone, of which a last vector, thread or block has too few."""
    value = read(scope, element_type, sizes(scope.choices, regimes.FLAT))
    for _ in range(scope.choices.integer(1, 2)):
        value = finished(scope, value)
    return value


def _factorised(scope: Scope, element_type: ElementType) -> Instruction:
    """Definite matrices in factors, with zeros where the language leaves open what there is."""
    batch, rows, _ = sizes(scope.choices, regimes.FACTORISED)
    lower = chance(scope.choices, 60)
    outer = (batch,) if batch > 1 else ()
    factor = scope.build("cholesky", [positive_definite(scope, element_type, rows, outer)], lower=lower)
    kept = scope.build("compare", numbers(scope, rows, outer), direction="GE" if lower else "LE")
    return scope.build("select", [kept, factor, scope.build("subtract", [factor, factor])])


def _solved(scope: Scope, element_type: ElementType) -> Instruction:
    """Triangular systems, from either side, for few right-hand sides and many."""
    choices = scope.choices
    batch, rows, columns = sizes(choices, regimes.SOLVED)
    outer, is_left = (batch,) if batch > 1 else (), chance(choices, 50)
    square = scope.parameter(ArrayShape(element_type, (*outer, rows, rows)))
    # Divided by what is added to the diagonal, rows weigh less than it.
    share = scope.build("broadcast", [scope.constant(1 / rows, element_type)], shape=square.array, dimensions=())
    small = scope.build("multiply", [square, share])
    return scope.build(
        "triangular-solve",
        [
            scope.build("add", [small, diagonal(scope, element_type, rows, outer)]),
            read(scope, element_type, (*outer, *((rows, columns) if is_left else (columns, rows)))),
        ],
        left_side=is_left,
        lower=chance(choices, 50),
        unit_diagonal=chance(choices, 20),
        transpose_a=pick(choices, ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")),
    )


def _running(scope: Scope, element_type: ElementType) -> Instruction:
    """Along the longest dimension, or any."""
    value = read(scope, element_type, sizes(scope.choices, regimes.SCANNED))
    dims = value.array.dims
    return running(scope, value, None if chance(scope.choices, _ANY_PERCENT) else dims.index(max(dims)))


def _chosen(scope: Scope, element_type: ElementType) -> Instruction:
    """A few of the greatest numbers of each line, or of the least, and where they are."""
    value = read(scope, element_type, sizes(scope.choices, regimes.CHOSEN))
    count = how_many(scope.choices, value.array.dims[-1], pick(scope.choices, _MOST_CHOSEN))
    done = scope.build("topk", [value], k=count, largest=chance(scope.choices, 50))
    return [scope.build("get-tuple-element", [done], index=k) for k in (1, 0)][-1]


def _turned_around(scope: Scope, element_type: ElementType) -> Instruction:
    value = read(scope, element_type, sizes(scope.choices, regimes.TRANSPOSED))
    order = turned(scope.choices, value.array.rank) if value.array.rank > 2 else (1, 0)
    return scope.build("transpose", [value], dimensions=tuple(order))


def _chained(scope: Scope, element_type: ElementType) -> Instruction:
    """Functions of one number each, of so many numbers that all their results are tabled."""
    value = scope.parameter(ArrayShape(element_type, tuple(sizes(scope.choices, regimes.CHAINED))))
    for _ in range(3):
        value = scope.build(pick(scope.choices, _CHAIN), [value])
    return value


def _like(opcode: str, recipe: Recipe, of: Sequence[Regime]) -> Recipe:
    """The recipe of an opcode, on arrays of such sizes."""

    def draw(scope: Scope, _: str, element_type: ElementType) -> Instruction | None:
        dims = sizes(scope.choices, of)
        read(scope, element_type, dims)
        scope.parameter(ArrayShape(pick(scope.choices, [S32, *scope.program.element_types]), tuple(dims)))
        return recipe.draw(scope, opcode, element_type)

    return Recipe(recipe.element_types, draw)


def _form(element_types: Sequence[ElementType], make: Draw) -> Recipe:
    """A kernel with what stands behind it."""
    return Recipe(element_types, lambda scope, _, element_type: finished(scope, make(scope, element_type)))


_OTHERS: Sequence[Callable[[Scope, Instruction, int], Instruction]] = (_numbers, _any_kind, _widest)
"""What goes along with keys, the first of which may decide between equal ones: their numbers, or any type."""
_MOST_OTHERS = 2
"""How many go along."""
_MOVED = tuple(t for t in COMBINING["reduce"].element_types if t is not PRED)
_POOLED = tuple(t for t in _MOVED if not t.is_complex)
_SOLVED = PRODUCTS["cholesky"].element_types

KERNELS: dict[str, Recipe] = {
    "product": _form(PRODUCT_TYPES, _product),
    "complex product": _form((TYPES["c64"], TYPES["c128"]), _product),
    "sparse product": _form(csr.TYPES, sparse.multiplied),
    "convolution": _form(PRODUCT_TYPES, images.convolved),
    "pool": _form(_POOLED, images.pooled),
    "rows": _form(_MOVED, _normalised),
    "attention": _form([t for t in PRODUCT_TYPES if t is not PRED], _attended),
    "reduce": _like("reduce", COMBINING["reduce"], regimes.REDUCED),
    "columns": _form(_MOVED, _columns),
    "running": _form(_MOVED, _running),
    "argmax": _form(_POOLED, _argmax),
    "sort": _form(SORTING["sort"].element_types, _sorted),
    "topk": _form(SORTING["topk"].element_types, _chosen),
    "scatter": _form(_MOVED, updates.updated),
    "gather": _form(_MOVED, updates.looked_up),
    "slices": _like("gather", MOVEMENT["gather"], regimes.SLICED),
    "update": _like("dynamic-update-slice", MOVEMENT["dynamic-update-slice"], regimes.SLICED),
    "flat": _form(_MOVED, _flat),
    "elements of a loop": _form(_MOVED, repeated.in_each_element),
    "transpose": _form(_MOVED, _turned_around),
    "fft": _like("fft", PRODUCTS["fft"], regimes.TRANSFORMED),
    "chain": _form((BF16, F16), _chained),
    "factorisation": _form(_SOLVED, _factorised),
    "solution": _form(_SOLVED, _solved),
    "row of kernels": _form(_MOVED, repeated.in_a_row),
    "loop of kernels": _form(_MOVED, repeated.in_a_loop),
}
"""The kernels by name, and how one is drawn with what stands before and behind it."""
