"""Programs around one kernel, of sizes at which back ends go other ways about it: in tiles, blocks, chunks, by tables.

What threads share, and what is cut, is computed by code of its own: a last tile that overlaps the one before or is
lower, sums that go on in another block of their terms, partial results that are put together, an epilogue over sums
that wait in memory.  Sizes drawn at random hardly ever come to any of that, since it hangs on several dimensions at
once.  So here each kernel has its regimes (`compiler.generate.regimes`).  What a kernel reads is at times computed, or
left by another kernel, and what it yields goes into what is fused behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.generate import regimes
from compiler.generate.choices import chance, permutation, pick, turned
from compiler.generate.combining import RECIPES as COMBINING
from compiler.generate.combining import combiner, combiners, identity_constant, running
from compiler.generate.products import RECIPES as PRODUCTS
from compiler.generate.products import sum_type
from compiler.generate.recipe import Recipe
from compiler.generate.regimes import Regime, sizes
from compiler.generate.scope import Scope
from compiler.ir.attributes import ConvolutionDimensions, SliceDimension, WindowDimension
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ir.types import BF16, F16, PRED, S32, TYPES, ElementType
from compiler.ir.windows import output_size
from compiler.ops import OPS, Trait, having

Draw = Callable[[Scope, ElementType], Instruction]

_PLAIN_PERCENT, _TWICE_PERCENT, _SEEN_PERCENT = 50, 15, 15
"""How often what a kernel reads is a parameter as it is; how often both operands are one; how often what the kernel
yields is a result besides what is made of it."""
_SEVERAL_PERCENT, _AGAIN_PERCENT, _BENT_PERCENT = 25, 30, 30
"""How often rows are reduced over several dimensions; how often what was read is, not what was made of it so far; how
often each element is such that none is computed twice."""
_BEHIND = (0, 1, 1, 2)
"""How many operations stand behind a kernel."""

_BLOCKED_PERCENT, _WIDER_PERCENT = 35, 50
"""How often sums of products are longer than a block; how often narrow numbers are summed in a wider type."""
_LEAST_SUMMED_BITS = 32
"""Bits of a term of a sum: narrower numbers are widened."""
_ANY_PERCENT = 30
"""How often something runs along any dimension, and not along the longest."""
_MOST_CHOSEN = (4, 20, 300)
"""How many of a line are chosen at most: such as vectors hold, and more."""
_LINE_PERCENT, _ACROSS_PERCENT = 30, 30
"""How often rows lie in one line, where they may begin anywhere and overlap; how often windows lie across rows."""
_MOST_TERMS = 5
"""Terms, or columns, of a product that stands before or behind a kernel."""
_PRODUCT_TYPES = tuple(t for t in PRODUCTS["dot"].element_types if t.bits >= 8 and not t.is_complex)
_CHAIN = tuple(opcode for opcode in sorted(having(Trait.APPROXIMATE)) if OPS[opcode].operands[0] == 1)
"""Functions of one number that take long enough to be looked up."""


def _read(scope: Scope, element_type: ElementType, dims: Sequence[int]) -> Instruction:
    """What a kernel reads: a parameter, or what is made of one step by step."""
    shape = ArrayShape(element_type, tuple(dims))
    if chance(scope.choices, _PLAIN_PERCENT):
        return scope.parameter(shape)
    return pick(scope.choices, _MADE)(scope, shape)


def _converted(scope: Scope, shape: ArrayShape) -> Instruction:
    others = [t for t in _others(scope, shape.element_type) if not t.is_complex]
    given = _read(scope, pick(scope.choices, others), shape.dims)
    return scope.build("convert", [given], shape=shape)


def _others(scope: Scope, element_type: ElementType) -> list[ElementType]:
    """Types that the program may use, that one among them."""
    known = [t for t in scope.program.element_types if t.bits >= 8 and t is not PRED]
    return [element_type, *known]


def _turned(scope: Scope, shape: ArrayShape) -> Instruction:
    order = permutation(scope.choices, shape.rank)
    dims = [0] * shape.rank
    for position, source in enumerate(order):
        dims[source] = shape.dims[position]
    return scope.build("transpose", [_read(scope, shape.element_type, dims)], dimensions=tuple(order))


def _cut(scope: Scope, shape: ArrayShape) -> Instruction:
    """The inner one of an array: its rows do not begin where vectors do."""
    given = _read(scope, shape.element_type, [n + 3 for n in shape.dims])
    return scope.build("slice", [given], slice=tuple(SliceDimension(1, n + 1, 1) for n in shape.dims))


def _computed(scope: Scope, shape: ArrayShape) -> Instruction:
    return _biased(scope, scope.parameter(shape))


def _multiplied(scope: Scope, shape: ArrayShape) -> Instruction:
    """What another kernel leaves, in memory that nobody reads afterwards: a kernel may write over it."""
    if not shape.rank or shape.element_type not in _PRODUCT_TYPES:
        return _computed(scope, shape)
    terms, (*rows, columns) = scope.choices.integer(1, _MOST_TERMS), shape.dims
    factors = [scope.parameter(ArrayShape(shape.element_type, dims)) for dims in ((*rows, terms), (terms, columns))]
    return scope.build("dot", factors, shape=shape, lhs_contracting_dims=(len(rows),), rhs_contracting_dims=(0,))


_MADE: Sequence[Callable[[Scope, ArrayShape], Instruction]] = (_converted, _turned, _cut, _computed, _multiplied)
"""What may stand before a kernel."""


def _added(scope: Scope, value: Instruction) -> Instruction:
    return scope.build("add", [value, scope.parameter(value.array)])


def _biased(scope: Scope, value: Instruction) -> Instruction:
    """A number for each position of one dimension."""
    if not value.array.rank:
        return _added(scope, value)
    along = scope.choices.integer(0, value.array.rank - 1)
    line = scope.parameter(ArrayShape(value.array.element_type, (value.array.dims[along],)))
    return scope.build("add", [value, scope.build("broadcast", [line], shape=value.array, dimensions=(along,))])


def _scaled(scope: Scope, value: Instruction) -> Instruction:
    factor = scope.build("broadcast", [scope.constant(3, value.array.element_type)], shape=value.array, dimensions=())
    return scope.build("multiply", [value, factor])


def _narrowed(scope: Scope, value: Instruction) -> Instruction:
    if value.array.element_type.is_complex:
        return scope.build("negate", [value])
    kind = pick(scope.choices, [t for t in _others(scope, value.array.element_type) if not t.is_complex])
    return scope.build("convert", [value], shape=ArrayShape(kind, value.array.dims))


def _exchanged(scope: Scope, value: Instruction) -> Instruction:
    return scope.build("transpose", [value], dimensions=tuple(permutation(scope.choices, value.array.rank)))


def _contracted(scope: Scope, value: Instruction) -> Instruction:
    """A product of the rows: what a kernel yields is no result then, and may lie where its operand did."""
    if not value.array.rank or value.array.element_type not in _PRODUCT_TYPES:
        return _added(scope, value)
    *rows, terms = value.array.dims
    columns = scope.choices.integer(1, _MOST_TERMS)
    other = scope.parameter(ArrayShape(value.array.element_type, (terms, columns)))
    shape = ArrayShape(value.array.element_type, (*rows, columns))
    return scope.build("dot", [value, other], shape=shape, lhs_contracting_dims=(len(rows),), rhs_contracting_dims=(0,))


_BEHIND_KERNELS: Sequence[Callable[[Scope, Instruction], Instruction]] = (
    _added, _biased, _scaled, _narrowed, _exchanged, _contracted, lambda scope, value: scope.build("negate", [value]),
)  # fmt: skip
"""What may stand behind a kernel."""


def _finished(scope: Scope, value: Instruction) -> Instruction:
    """What is made of the elements that a kernel yields, which are at times a result as well."""
    if chance(scope.choices, _SEEN_PERCENT):
        scope.kept.append(value)
    for _ in range(pick(scope.choices, _BEHIND)):
        if value.array.element_type is not PRED:
            value = pick(scope.choices, _BEHIND_KERNELS)(scope, value)
    return value


def _bytes(element_type: ElementType) -> int:
    return max(element_type.bits, _LEAST_SUMMED_BITS) // 8


def _product(scope: Scope, element_type: ElementType) -> Instruction:
    """A batch of matrix products, dimensions in any order."""
    choices = scope.choices
    if chance(choices, _BLOCKED_PERCENT):
        batch, rows, *wide = sizes(choices, regimes.BLOCKED)
        columns, depth = (size // _bytes(element_type) for size in wide)
    else:
        batch, rows, columns, depth = sizes(scope.choices, regimes.FACTORS)
    is_twice = chance(choices, _TWICE_PERCENT)
    columns = rows if is_twice else columns
    left, at = _factor(scope, element_type, (batch, rows, depth))
    right, beside = (left, at) if is_twice else _factor(scope, element_type, (batch, columns, depth))
    is_batch = batch > 1
    dims = (*([batch] if is_batch else []), rows, columns)
    return scope.build(
        "dot",
        [left, right],
        shape=ArrayShape(sum_type(scope, element_type, _WIDER_PERCENT), dims),
        lhs_batch_dims=tuple(at[:-2]),
        rhs_batch_dims=tuple(beside[:-2]),
        lhs_contracting_dims=(at[-1],),
        rhs_contracting_dims=(beside[-1],),
    )


def _factor(scope: Scope, element_type: ElementType, sizes: tuple[int, int, int]) -> tuple[Instruction, list[int]]:
    """A factor, and which of its dimensions is the batch, if there are several, the free one, and the terms."""
    used = sizes if sizes[0] > 1 else sizes[1:]
    order = permutation(scope.choices, len(used))
    return _read(scope, element_type, [used[number] for number in order]), [order.index(n) for n in range(len(used))]


def _normalised(scope: Scope, element_type: ElementType) -> Instruction:
    return _by_rows(scope, _read(scope, element_type, sizes(scope.choices, regimes.ROWS)))


def _attended(scope: Scope, element_type: ElementType) -> Instruction:
    """Rows between two products, as in attention: nobody else sees what they are, before or after."""
    shape = ArrayShape(element_type, tuple(sizes(scope.choices, regimes.ROWS)))
    return _contracted(scope, _by_rows(scope, _multiplied(scope, shape)))


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
        if chance(scope.choices, _SEEN_PERCENT):
            scope.kept.append(reduced)
        shape = ArrayShape(element_type, dims)
        spread = scope.build("broadcast", [reduced], shape=shape, dimensions=tuple(range(first)))
        value = scope.build(pick(scope.choices, ("subtract", "add")), [value, spread])
        if element_type.is_float and chance(scope.choices, _BENT_PERCENT):
            value = scope.build("tanh", [value])
    return value


def _columns(scope: Scope, element_type: ElementType) -> Instruction:
    """Columns, few or many, each reduced along all rows."""
    value = _read(scope, element_type, sizes(scope.choices, regimes.REDUCED))
    opcode = pick(scope.choices, combiners(element_type))
    reducer, start = combiner(scope, opcode, element_type), identity_constant(scope, opcode, element_type)
    return scope.build("reduce", [value, start], to_apply=reducer, dimensions=tuple(range(value.array.rank - 1)))


def _running(scope: Scope, element_type: ElementType) -> Instruction:
    """Along the longest dimension, or any."""
    value = _read(scope, element_type, sizes(scope.choices, regimes.SCANNED))
    dims = value.array.dims
    return running(scope, value, None if chance(scope.choices, _ANY_PERCENT) else dims.index(max(dims)))


def _chosen(scope: Scope, element_type: ElementType) -> Instruction:
    """A few of the greatest numbers of each line, or of the least, and where they are."""
    value = _read(scope, element_type, sizes(scope.choices, regimes.CHOSEN))
    count = scope.choices.integer(1, pick(scope.choices, _MOST_CHOSEN))
    done = scope.build("topk", [value], k=count, largest=chance(scope.choices, 50))
    return [scope.build("get-tuple-element", [done], index=k) for k in (1, 0)][-1]


def _turned_around(scope: Scope, element_type: ElementType) -> Instruction:
    value = _read(scope, element_type, sizes(scope.choices, regimes.TRANSPOSED))
    order = turned(scope.choices, value.array.rank) if value.array.rank > 2 else (1, 0)
    return scope.build("transpose", [value], dimensions=tuple(order))


def _looked_up(scope: Scope, element_type: ElementType) -> Instruction:
    """Single numbers of a short table, by many indices."""
    entries, *dims = sizes(scope.choices, regimes.LOOKED_UP)
    indices = scope.parameter(ArrayShape(pick(scope.choices, _INDICES), tuple(dims)))
    return scope.build(
        "gather",
        [scope.parameter(ArrayShape(element_type, (entries,))), indices],
        offset_dims=(),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=len(dims),
        slice_sizes=(1,),
    )


def _updated(scope: Scope, element_type: ElementType) -> Instruction:
    """Rows, or columns, to which many updates go, several to one of them."""
    rows, width, count = sizes(scope.choices, regimes.UPDATED)
    is_flat, is_line = width == 1, width > 1 and chance(scope.choices, _LINE_PERCENT)
    is_across = not is_flat and not is_line and chance(scope.choices, _ACROSS_PERCENT)
    dims, updated = ((rows,), (count,)) if is_flat else ((rows, width), (count, width))
    dims, updated = (dims[::-1], updated[::-1]) if is_across else (dims, updated)
    opcode = pick(scope.choices, combiners(element_type))
    return scope.build(
        "scatter",
        [
            _read(scope, element_type, (rows + width,) if is_line else dims),
            scope.parameter(ArrayShape(pick(scope.choices, _INDICES), (count, 1))),
            _read(scope, element_type, updated),
        ],
        update_window_dims=() if is_flat else (int(not is_across),),
        inserted_window_dims=() if is_line else (int(is_across),),
        scatter_dims_to_operand_dims=(int(is_across),),
        index_vector_dim=1,
        to_apply=combiner(scope, opcode, element_type),
    )


def _convolved(scope: Scope, element_type: ElementType) -> Instruction:
    """Images of many features, or of single ones; windows of one element, of several, or with steps between them."""
    choices = scope.choices
    inputs, outputs, groups, extent = sizes(scope.choices, regimes.FEATURES)
    window = (pick(choices, _WINDOWS),) * 2
    batch, out = choices.integer(1, 3), output_size(extent, window[0])
    if chance(choices, _FEATURES_LAST_PERCENT):
        labels = ConvolutionDimensions(0, 3, (1, 2), 2, 3, (0, 1), 0, 3, (1, 2))
        image, kernel = (batch, extent, extent, groups * inputs), (window[0].size, window[1].size)
        weights, dims = (*kernel, inputs, groups * outputs), (batch, out, out, groups * outputs)
    else:
        labels = ConvolutionDimensions(0, 1, (2, 3), 1, 0, (2, 3), 0, 1, (2, 3))
        image, kernel = (batch, groups * inputs, extent, extent), (window[0].size, window[1].size)
        weights, dims = (groups * outputs, inputs, *kernel), (batch, groups * outputs, out, out)
    return scope.build(
        "convolution",
        [_read(scope, element_type, image), _read(scope, element_type, weights)],
        shape=ArrayShape(sum_type(scope, element_type, _WIDER_PERCENT), dims),
        dim_labels=labels,
        window=window,
        feature_group_count=groups,
    )


def _chained(scope: Scope, element_type: ElementType) -> Instruction:
    """Functions of one number each, of so many numbers that all their results are tabled."""
    value = scope.parameter(ArrayShape(element_type, tuple(sizes(scope.choices, regimes.CHAINED))))
    for _ in range(3):
        value = scope.build(pick(scope.choices, _CHAIN), [value])
    return value


_WINDOWS = (
    WindowDimension(1),
    WindowDimension(3),
    WindowDimension(3, 1, 1, 1),
    WindowDimension(2, 2, 0, 1),
    WindowDimension(3, 1, 1, 2, 1, 2),
)
"""Windows in both dimensions: one element, neighbours, padded, with steps, padded unevenly with holes."""
_FEATURES_LAST_PERCENT = 60
"""How often features lie side by side."""
_INDICES = (S32, S32, TYPES["u8"], TYPES["s64"])


def _like(opcode: str, recipe: Recipe, of: Sequence[Regime]) -> Recipe:
    """The recipe of an opcode, on arrays of such sizes."""

    def draw(scope: Scope, _: str, element_type: ElementType) -> Instruction | None:
        dims = sizes(scope.choices, of)
        _read(scope, element_type, dims)
        scope.parameter(ArrayShape(pick(scope.choices, [S32, *scope.program.element_types]), tuple(dims)))
        return recipe.draw(scope, opcode, element_type)

    return Recipe(recipe.element_types, draw)


def _form(element_types: Sequence[ElementType], make: Draw) -> Recipe:
    """A kernel with what stands behind it."""
    return Recipe(element_types, lambda scope, _, element_type: _finished(scope, make(scope, element_type)))


_MOVED = tuple(t for t in COMBINING["reduce"].element_types if t is not PRED)

KERNELS: dict[str, Recipe] = {
    "product": _form(_PRODUCT_TYPES, _product),
    "complex product": _form((TYPES["c64"], TYPES["c128"]), _product),
    "convolution": _form(_PRODUCT_TYPES, _convolved),
    "rows": _form(_MOVED, _normalised),
    "attention": _form([t for t in _PRODUCT_TYPES if t is not PRED], _attended),
    "reduce": _like("reduce", COMBINING["reduce"], regimes.REDUCED),
    "columns": _form(_MOVED, _columns),
    "running": _form(_MOVED, _running),
    "sort": _like("sort", COMBINING["sort"], regimes.SORTED),
    "topk": _form(COMBINING["topk"].element_types, _chosen),
    "scatter": _form(_MOVED, _updated),
    "gather": _form(_MOVED, _looked_up),
    "transpose": _form(_MOVED, _turned_around),
    "fft": _like("fft", PRODUCTS["fft"], regimes.TRANSFORMED),
    "chain": _form((BF16, F16), _chained),
}
"""The kernels by name, and how one is drawn with what stands before and behind it."""
