"""Recipes of sums of products and what is built of them: dot, batch normalisation, factorisations, FFT."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.generate.choices import chance, exchanged, permutation, pick
from compiler.generate.convolutions import convolution
from compiler.generate.matrices import batches, diagonal, numbers, positive_definite
from compiler.generate.recipe import NUMBERS, Recipe, narrowed
from compiler.generate.scope import SIZES, Scope
from compiler.generate.seen import seen
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape, TupleShape
from compiler.ir.types import C64, C128, F16, F32, F64, PRED, S32, TYPES, U32, U64, ElementType, Kind

_PRODUCTS = tuple(t for t in NUMBERS if t is not PRED and t.bits >= 8)
_MOST_PRODUCTS, _MOST_OF_LARGE = 1 << 18, 1 << 23
"""Multiply-adds of a product, and of one where large arrays are drawn: the reference does some 10^8 a second."""
_CROSSWISE_PERCENT, _BATCH_PERCENT, _OTHER_GROUPS_PERCENT = 60, 45, 40
"""How often cubes have batches, and how often others; how often groups are not of rows, and not
the same for all of a batch."""
_SEEN_PERCENT, _TURNED_PERCENT, _ROWS_AND_COLUMNS_PERCENT = 20, 20, 50
"""How often a factor lies in another value; how often a product is transposed, and all rows then change places with all
columns, which is another product, and not what stands elsewhere."""
_MOST_FREE, _MOST_OF_SEVERAL = 3, 5
"""How many dimensions of the second factor stay at most, and of what size where they are several."""
_MOST_ROWS, _MOST_COLUMNS, _LARGER = 9, 5, 8  # of factored matrices, and how many times as many of large ones


def _size(scope: Scope, most: int) -> int:
    return pick(scope.choices, [n for n in SIZES if n <= max(1, most)])


def _dot(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    cube = scope.cube(element_type, scope.choices.integer(3, 4))
    lhs = cube or scope.array(element_type, least_rank=1)
    lhs = seen(scope, lhs.array) if chance(scope.choices, _SEEN_PERCENT) else lhs
    dims = lhs.array.dims
    order = permutation(scope.choices, lhs.array.rank)
    # Batches of equal sizes may be paired crosswise, which shows in nothing but the values.
    is_batch = chance(scope.choices, _CROSSWISE_PERCENT if cube else _BATCH_PERCENT)
    batch = order[: scope.choices.integer(1, 3)][: lhs.array.rank - 1] if is_batch else []
    contracting = [d for d in order if d not in batch][: pick(scope.choices, (1, 1, 1, 2, 2, 0))]
    free = _free(scope)
    kept = [n for d, n in enumerate(dims) if d not in batch and d not in contracting]
    most = _MOST_OF_LARGE if scope.is_large else _MOST_PRODUCTS
    if not scope.fits([*(dims[d] for d in batch), *kept, *free]) or lhs.array.size * _product(free) > most:
        return None
    labelled = [*(("b", d) for d in batch), *(("c", d) for d in contracting), *(("f", k) for k in range(len(free)))]
    placed = [labelled[k] for k in permutation(scope.choices, len(labelled))]
    sizes = [free[number] if label == "f" else dims[number] for label, number in placed]
    if not scope.fits(sizes):
        return None
    rhs = _factor(scope, ArrayShape(element_type, tuple(sizes)))
    position_of = {key: index for index, key in enumerate(placed)}
    columns = [free[number] for label, number in placed if label == "f"]
    result = ArrayShape(sum_type(scope, element_type), (*(dims[d] for d in batch), *kept, *columns))
    product = scope.build(
        opcode,
        [lhs, rhs],
        shape=result,
        lhs_batch_dims=tuple(batch),
        rhs_batch_dims=tuple(position_of["b", d] for d in batch),
        lhs_contracting_dims=tuple(contracting),
        rhs_contracting_dims=tuple(position_of["c", d] for d in contracting),
    )
    if not _is_turned(scope, result):
        return product
    first, second = len(batch), len(batch) + len(kept)
    turned = [*range(first), *range(second, result.rank), *range(first, second)]
    if not chance(scope.choices, _ROWS_AND_COLUMNS_PERCENT):
        turned = exchanged(scope.choices, result.rank)
    return scope.build("transpose", [product], dimensions=tuple(turned))


def _free(scope: Scope) -> list[int]:
    """The columns' dimensions: one of any size, or several that there is room for together."""
    count, most = scope.choices.integer(0, _MOST_FREE), 128 if scope.is_large else 64
    return [_size(scope, most if count == 1 else _MOST_OF_SEVERAL) for _ in range(count)]


def _factor(scope: Scope, shape: ArrayShape) -> Instruction:
    """A value of the shape, now and then one that lies in another."""
    return seen(scope, shape) if chance(scope.choices, _SEEN_PERCENT) else scope.like(shape)


def _is_turned(scope: Scope, shape: ArrayShape) -> bool:
    is_allowed = ("transpose", shape.element_type.name) not in scope.program.space.banned
    return shape.rank > 1 and is_allowed and chance(scope.choices, _TURNED_PERCENT)


def sum_type(scope: Scope, element_type: ElementType, wider_percent: int = 30) -> ElementType:
    """The type that a sum is asked for in: at times a wider one than a narrow type, or that of its real part.

    Narrow integers that are summed in wider ones have instructions, and kernels, of their own.

    Args:
        scope: the source of decisions.
        element_type: that of the factors.
        wider_percent: of the sums of a narrow type, how many are wider.
    """
    known = scope.program.space.element_types
    if element_type.is_complex:
        component = F64 if element_type is C128 else F32
        return component if chance(scope.choices, 10) and component.name in known else element_type
    wide = F32 if element_type.is_float else S32
    is_wider = element_type.bits < wide.bits and chance(scope.choices, wider_percent)
    return wide if is_wider and wide.name in known else element_type


def _product(sizes: Sequence[int]) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result


def _ragged_dot(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    """Groups of rows, of terms, or of a batch, which then mean nothing; batches in any order, of like groups or not."""
    lhs = scope.array(element_type, least_rank=2, most_rank=4, size=scope.at_most(2048))
    depth, order = lhs.array.dims[-1], permutation(scope.choices, lhs.array.rank - 2)
    batch = [lhs.array.dims[d] for d in order]
    groups, columns, last = scope.choices.integer(1, 4), _size(scope, 17), lhs.array.rank - 1
    ragged = scope.choices.integer(0, last) if chance(scope.choices, _OTHER_GROUPS_PERCENT) else last - 1
    of_rows = ragged == last - 1
    dims = [*([groups] if of_rows else []), *batch, depth, columns]
    if not scope.fits(dims) or not scope.fits([groups, *batch, lhs.array.dims[-2], columns]):
        return None
    rhs = scope.like(ArrayShape(element_type, tuple(dims)))
    is_of_each = ragged >= len(batch) and chance(scope.choices, _OTHER_GROUPS_PERCENT)
    sizes = scope.like(ArrayShape(S32, (*(lhs.array.dims[: len(batch)] if is_of_each else ()), groups)))
    sizes = scope.build("clamp", [scope.constant(0, S32), sizes, scope.constant(8, S32)])
    first = int(of_rows)
    paired = {"lhs_batch_dims": tuple(order), "rhs_batch_dims": tuple(range(first, first + len(batch)))}
    return scope.build(
        opcode,
        [lhs, rhs, sizes],
        lhs_contracting_dims=(last,),
        rhs_contracting_dims=(len(dims) - 2,),
        lhs_ragged_dims=(ragged,),
        rhs_group_dims=(0,) if of_rows else (),
        **(paired if batch else {}),
    )


def _scaled_dot(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    lhs = scope.array(element_type, least_rank=2, most_rank=2, size=scope.at_most(2048))
    rows, depth = lhs.array.dims
    columns = _size(scope, 17)
    if not scope.fits([depth, columns]) or not rows * depth * columns:
        return None
    rhs = scope.like(ArrayShape(element_type, (columns, depth)))
    scales = [scope.like(ArrayShape(element_type, (n, 1))) for n in (rows, columns)]
    return scope.build(opcode, [lhs, rhs, *scales], lhs_contracting_dims=(1,), rhs_contracting_dims=(1,))


def _batch_norm(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    value = scope.array(element_type, least_rank=2)
    feature = scope.choices.integer(0, value.array.rank - 1)
    vector = ArrayShape(element_type, (value.array.dims[feature],))
    operands = [value, *(scope.like(vector) for _ in range(2))]
    if opcode != "batch-norm-training":
        # A variance is not negative.
        spread = scope.like(vector)
        operands = [*operands[:3], scope.build("multiply", [spread, spread])]
        if opcode == "batch-norm-inference":
            operands = [operands[0], operands[1], operands[2], scope.like(vector), operands[3]]
        else:
            operands.append(scope.like(value.array))
    done = scope.build(opcode, operands, epsilon=0.0625, feature_index=feature)
    if not isinstance(done.shape, TupleShape):
        return done
    return [scope.build("get-tuple-element", [done], index=k) for k in range(3)][-1]


def _rows(scope: Scope, most: int) -> int:
    """How many rows or columns a matrix has that is factored or solved."""
    return scope.choices.integer(1, most * _LARGER if scope.is_large else most)


def _cholesky(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    size, batch, lower = _rows(scope, _MOST_ROWS), batches(scope), not chance(scope.choices, 40)
    factor = scope.build(opcode, [positive_definite(scope, element_type, size, batch)], lower=lower)
    # What stands on the other side of the diagonal is left open by the language.
    zero = scope.build("subtract", [factor, factor])
    kept = scope.build("compare", numbers(scope, size, batch), direction="GE" if lower else "LE")
    return scope.build("select", [kept, factor, zero])


def _triangular_solve(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    size, columns, batch = _rows(scope, _MOST_ROWS), _rows(scope, _MOST_COLUMNS), batches(scope)
    square = ArrayShape(element_type, (*batch, size, size))
    matrix = scope.build("add", [scope.like(square), diagonal(scope, element_type, size, batch)])
    left = chance(scope.choices, 50)
    sides = (size, columns) if left else (columns, size)
    return scope.build(
        opcode,
        [matrix, scope.like(ArrayShape(element_type, (*batch, *sides)))],
        left_side=left,
        lower=chance(scope.choices, 50),
        unit_diagonal=chance(scope.choices, 30),
        transpose_a=pick(scope.choices, ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")),
    )


_MOST_TRANSFORMED, _COMPOSITE_PERCENT = 1024, 50
"""Elements that are transformed, and how often their length is a product of factors that have stages of their own."""
_FACTORS = (2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 25, 27)
"""Primes and their powers, small and such that no butterfly is written for, which lengths are made of."""
_LINES = (1, 1, 2, 3)
"""How many lines are transformed beside each other."""


def _of_composite_length(scope: Scope, element_type: ElementType) -> Instruction | None:
    """Now and then lines whose length is the product of two or three factors, as far as there is room."""
    if not chance(scope.choices, _COMPOSITE_PERCENT):
        return None
    length = pick(scope.choices, _FACTORS) * pick(scope.choices, _FACTORS)
    if chance(scope.choices, 50):
        length *= pick(scope.choices, _FACTORS)
    dims = (pick(scope.choices, _LINES), length)
    most = scope.at_most(_MOST_TRANSFORMED)
    return scope.like(ArrayShape(element_type, dims)) if length <= most and scope.fits(dims) else None


_FFTS = {Kind.COMPLEX: ("FFT", "IFFT", "IRFFT"), Kind.FLOAT: ("RFFT",)}


def _fft(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    kind = pick(scope.choices, _FFTS[element_type.kind])
    value = _of_composite_length(scope, element_type) or scope.array(
        element_type, least_rank=1, most_rank=3, size=scope.at_most(_MOST_TRANSFORMED)
    )
    *lengths, last = value.array.dims[-scope.choices.integer(1, value.array.rank) :]
    if kind == "IRFFT":
        last = 2 * (last - 1) + chance(scope.choices, 30)
    if last < 1 or 0 in value.array.dims or not narrowed((C64, C128, F32, F64), scope):
        return None
    return scope.build(opcode, [value], fft_type=kind, fft_length=(*lengths, last))


def _rng_bit_generator(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    algorithm, words = pick(scope.choices, (("rng_three_fry", 2), ("rng_philox", 3)))
    state = scope.like(ArrayShape(U64, (words,)))
    bits = ArrayShape(element_type, scope.dims(1, 2, size=512))
    done = scope.build(opcode, [state], shape=TupleShape((state.array, bits)), algorithm=algorithm)
    return [scope.build("get-tuple-element", [done], index=k) for k in range(2)][-1]


_NORMAL = (F16, TYPES["bf16"], F32, F64)
_DECOMPOSED = (F32, F64, C64, C128)

RECIPES: dict[str, Recipe] = {
    "dot": Recipe(_PRODUCTS, _dot),
    "ragged-dot": Recipe(_PRODUCTS, _ragged_dot),
    "scaled-dot": Recipe(tuple(t for t in _PRODUCTS if t.is_float), _scaled_dot),
    "convolution": Recipe(_PRODUCTS, convolution),
    **dict.fromkeys(("batch-norm-training", "batch-norm-inference", "batch-norm-grad"), Recipe(_NORMAL, _batch_norm)),
    "cholesky": Recipe(_DECOMPOSED, _cholesky),
    "triangular-solve": Recipe(_DECOMPOSED, _triangular_solve),
    "fft": Recipe(_DECOMPOSED, _fft),
    "rng-bit-generator": Recipe((U32, U64), _rng_bit_generator),
}
