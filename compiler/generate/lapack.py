"""Recipes of LAPACK's routines, called as JAX calls them: each on any type, option, number and order of matrices.

A tenth of the compiler is theirs, and what of it runs is decided by options and by sizes: loops over all matrices at
once where they are small, kernels by columns and by tiles from 16 rows on.  A seed has one size of each.

Matrices are stored by columns, as the calls say; what other instructions see is copied out of them.  Mostly the results
are the program's as they are, since reflections and vectors are right by what they satisfy together, which nobody can
say any more of what is computed from them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from compiler.generate.choices import chance, permutation, pick
from compiler.generate.matrices import batches, diagonal, positive_definite
from compiler.generate.recipe import Recipe
from compiler.generate.scope import Scope
from compiler.ir.attributes import SliceDimension
from compiler.ir.literal import array_literal
from compiler.ir.matrix_layouts import by_columns
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape, TupleShape
from compiler.ir.types import C64, C128, F32, F64, PRED, S32, ElementType
from compiler.ops.arithmetic import real_part_type
from compiler.ops.build import build, constant

_TYPES = {F32: "s", F64: "d", C64: "c", C128: "z"}
_HERMITIAN = {"syevd": "heevd", "sytrd": "hetrd", "orgqr": "ungqr", "ormqr": "unmqr"}
"""Names of what is done to complex matrices."""
_ORDERS, _LARGE_ORDERS, _PANELS = (1, 2, 3, 4, 5, 6, 7, 8, 9), (15, 16, 17, 18, 20), (33, 36, 41, 66)
"""Rows of matrices: few, so many that there are kernels for them, and such as are done in two or three panels of 32."""
_LARGE_PERCENT, _SPECTRAL_PERCENT, _PANELS_OF_LARGE = 20, 8, 3
"""How often there are kernels for matrices that are not among large arrays, and where they take iterations, which take
a simulator seconds; and how many times as often those among large arrays have several panels."""
_BATCH_OF_PANELS_PERCENT = 25
"""How often there are two matrices with several panels."""
_WANTED = f"{ord('V')} : ui8"
_UNKNOWN_PERCENT, _DEFINITE_PERCENT, _KEPT_PERCENT = 75, 85, 75
"""How often matrices are new parameters; how often they are definite; how often results are the program's."""
_SUBRANGE_PERCENT = 35
"""How often a routine is for a part of a matrix: rows of which the others are triangular, or the first reflections."""
_THIN_PERCENT = 50
"""How often vectors that nobody asks for are said to be as many as values."""

_EXACT, _EXACT_PERCENT = (0, 1, 3, 7), 60
"""Elements besides the first of vectors whose squares are sums that divide 2 to the bit; how often there are such."""

Arrays = list[Instruction]


class Made(NamedTuple):
    """What a routine takes, what it gives, its options as they are written, and which results are left open."""

    operands: Arrays
    shapes: list[ArrayShape]
    options: dict[str, str]
    open: tuple[int, ...] = ()


Draw = Callable[[Scope, ElementType], Made]


def _letter(scope: Scope, letters: str) -> str:
    return f"{ord(pick(scope.choices, letters))} : ui8"


def _truth(scope: Scope) -> str:
    return pick(scope.choices, ("true", "false"))


def _order(scope: Scope, percent: int = _LARGE_PERCENT) -> int:
    if scope.is_large and chance(scope.choices, _PANELS_OF_LARGE * percent):
        return pick(scope.choices, _PANELS)
    is_large = scope.is_large or chance(scope.choices, percent)
    return pick(scope.choices, _LARGE_ORDERS if is_large else _ORDERS)


def _batch(scope: Scope, rows: int) -> tuple[int, ...]:
    if rows < min(_PANELS):
        return batches(scope)
    return (2,) if chance(scope.choices, _BATCH_OF_PANELS_PERCENT) else ()


def _given(scope: Scope, shape: ArrayShape) -> Instruction:
    return scope.unknown(shape) if chance(scope.choices, _UNKNOWN_PERCENT) else scope.like(shape)


def _matrix(scope: Scope, kind: ElementType, *, is_square: bool = False, percent: int = _LARGE_PERCENT) -> Instruction:
    rows = _order(scope, percent)
    columns = rows if is_square or chance(scope.choices, 30) else _order(scope)
    return _given(scope, ArrayShape(kind, (*_batch(scope, max(rows, columns)), rows, columns)))


class _Sizes(NamedTuple):
    """The sizes of a batch of matrices, and of each."""

    batch: tuple[int, ...]
    rows: int
    columns: int


def _sizes(matrix: Instruction) -> _Sizes:
    *batch, rows, columns = matrix.array.dims
    return _Sizes(tuple(batch), rows, columns)


def _info(matrix: Instruction) -> ArrayShape:
    return ArrayShape(S32, matrix.array.dims[:-2])


def _potrf(scope: Scope, kind: ElementType) -> Made:
    if chance(scope.choices, _DEFINITE_PERCENT):
        rows = _order(scope)
        matrix = positive_definite(scope, kind, rows, _batch(scope, rows))
    else:
        matrix = _matrix(scope, kind, is_square=True)
    return Made([matrix], [matrix.array, _info(matrix)], {"uplo": _letter(scope, "LU")})


def _trsm(scope: Scope, kind: ElementType) -> Made:
    matrix = _matrix(scope, kind, is_square=True)
    batch, rows, _ = _sizes(matrix)
    matrix = scope.build("add", [matrix, diagonal(scope, kind, rows, batch)])
    side, columns = pick(scope.choices, "LR"), _order(scope)
    right = _given(scope, ArrayShape(kind, (*batch, *((rows, columns) if side == "L" else (columns, rows)))))
    options = {"diag": _letter(scope, "NU"), "side": f"{ord(side)} : ui8"}
    return Made(
        [matrix, right], [right.array], options | {"trans_x": _letter(scope, "NTC"), "uplo": _letter(scope, "LU")}
    )


def _getrf(scope: Scope, kind: ElementType) -> Made:
    matrix = _matrix(scope, kind)
    batch, rows, columns = _sizes(matrix)
    return Made([matrix], [matrix.array, ArrayShape(S32, (*batch, min(rows, columns))), _info(matrix)], {})


def _geqrf(scope: Scope, kind: ElementType) -> Made:
    matrix = _matrix(scope, kind)
    batch, rows, columns = _sizes(matrix)
    return Made([matrix], [matrix.array, ArrayShape(kind, (*batch, min(rows, columns)))], {})


def _geqp3(scope: Scope, kind: ElementType) -> Made:
    (matrix,), (result, factors), *_ = _geqrf(scope, kind)
    batch, _, columns = _sizes(matrix)
    order = ArrayShape(S32, (*batch, columns))
    free = scope.build("broadcast", [scope.constant(0, S32)], shape=order, dimensions=())
    return Made([matrix, free], [result, order, factors], {})


def _reflections(scope: Scope, kind: ElementType) -> Arrays:
    """Vectors and factors; of these now and then fewer, where the last vectors are not to be looked at."""
    vectors, factors = _all_reflections(scope, kind)
    count = factors.array.dims[-1]
    if not chance(scope.choices, _SUBRANGE_PERCENT):
        return [vectors, factors]
    dims = (*factors.array.dims[:-1], scope.choices.integer(1, count))
    return [vectors, scope.build("slice", [factors], slice=tuple(SliceDimension(0, n, 1) for n in dims))]


def _all_reflections(scope: Scope, kind: ElementType) -> Arrays:
    """Those of a tall matrix, as LAPACK gives them, or ones that are known to the bit, one of two by an input."""
    rows = _order(scope)
    batch = _batch(scope, rows)
    shape = ArrayShape(kind, (*batch, rows, scope.choices.integer(1, rows)))
    factors = ArrayShape(kind, (*batch, shape.dims[-1]))
    if not chance(scope.choices, _EXACT_PERCENT):
        return _called(scope, kind, "geqrf", Made([_given(scope, shape)], [shape, factors], {}))
    which = scope.unknown(ArrayShape(PRED, ()))
    pairs = zip(*(_exact(scope, shape, factors) for _ in range(2)), strict=True)
    return [scope.build("select", [which, *pair]) for pair in pairs]


def _exact(scope: Scope, shape: ArrayShape, factors: ArrayShape) -> Arrays:
    """Vectors of ones and minus ones below a diagonal, as many as make factors exact, and anything above it."""
    *_, rows, columns = shape.dims
    packed, halves = np.zeros((rows, columns)), np.zeros(columns)
    for column in range(columns):
        below = pick(scope.choices, [n for n in _EXACT if n <= rows - column - 1])
        positions = [column + 1 + k for k in permutation(scope.choices, rows - column - 1)[:below]]
        for row in positions:
            packed[row, column] = pick(scope.choices, (1, -1))
        packed[: column + 1, column] = [scope.choices.integer(-4, 4) for _ in range(column + 1)]
        halves[column] = 2 / (1 + below)
    return [_repeated(scope, array, like) for array, like in ((packed, shape), (halves, factors))]


def _repeated(scope: Scope, array: NDArray[Any], shape: ArrayShape) -> Instruction:
    """A constant, once for each matrix of a batch."""
    kind = shape.element_type
    made = constant(scope.computation, array_literal(array.astype(kind.dtype), kind))
    first = shape.rank - array.ndim
    return scope.build("broadcast", [made], shape=shape, dimensions=tuple(range(first, shape.rank))) if first else made


def _orgqr(scope: Scope, kind: ElementType) -> Made:
    vectors, factors = _reflections(scope, kind)
    return Made([vectors, factors], [vectors.array], {})


def _ormqr(scope: Scope, kind: ElementType) -> Made:
    vectors, factors = _reflections(scope, kind)
    batch, rows, _ = _sizes(vectors)
    is_left, columns = _truth(scope), _order(scope)
    sides = (rows, columns) if is_left == "true" else (columns, rows)
    matrix = _given(scope, ArrayShape(kind, (*batch, *sides)))
    return Made([vectors, factors, matrix], [matrix.array], {"left": is_left, "transpose": _truth(scope)})


def _gesdd(scope: Scope, kind: ElementType) -> Made:
    matrix = _matrix(scope, kind, percent=_SPECTRAL_PERCENT)
    batch, rows, columns = _sizes(matrix)
    mode, count = pick(scope.choices, "ASN"), min(rows, columns)
    # Vectors that nobody asks for have shapes all the same.
    is_thin = mode == "S" or (mode == "N" and chance(scope.choices, _THIN_PERCENT))
    left, right = (count, count) if is_thin else (rows, columns)
    shapes = [
        matrix.array,
        ArrayShape(real_part_type(kind), (*batch, count)),
        ArrayShape(kind, (*batch, rows, left)),
        ArrayShape(kind, (*batch, right, columns)),
        _info(matrix),
    ]
    return Made([matrix], shapes, {"mode": f"{ord(mode)} : ui8"}, open=(0, 2, 3) if mode == "N" else (0,))


def _syevd(scope: Scope, kind: ElementType) -> Made:
    matrix = _matrix(scope, kind, is_square=True, percent=_SPECTRAL_PERCENT)
    values = ArrayShape(real_part_type(kind), matrix.array.dims[:-1])
    options = {"mode": _letter(scope, "VN"), "uplo": _letter(scope, "LU")}
    unwanted = () if options["mode"] == _WANTED else (0,)
    return Made([matrix], [matrix.array, values, _info(matrix)], options, unwanted)


def _sytrd(scope: Scope, kind: ElementType) -> Made:
    (matrix,), (result, values, info), options, *_ = _syevd(scope, kind)
    beside = (*values.dims[:-1], values.dims[-1] - 1)
    shapes = [result, values, values.with_dims(beside), result.with_dims(beside), info]
    return Made([matrix], shapes, {"uplo": options["uplo"]})


def _gehrd(scope: Scope, kind: ElementType) -> Made:
    matrix = _matrix(scope, kind, is_square=True)
    batch, rows, _ = _sizes(matrix)
    low, high = 1, rows
    if chance(scope.choices, _SUBRANGE_PERCENT):
        low, high = sorted(scope.choices.integer(1, rows) for _ in range(2))
        matrix = _triangular_around(scope, matrix, slice(low - 1, high))
    shapes = [matrix.array, ArrayShape(kind, (*batch, rows - 1)), _info(matrix)]
    return Made([matrix], shapes, {"low": f"{low} : i32", "high": f"{high} : i32"})


def _triangular_around(scope: Scope, matrix: Instruction, within: slice) -> Instruction:
    """Zeros below the diagonal, as the routine takes it for granted, but for a block on it."""
    shape = matrix.array
    is_kept = np.tri(*shape.dims[-2:], dtype=np.bool_).T
    is_kept[within, within] = True
    kept = _repeated(scope, is_kept, shape.with_type(PRED))
    zeros = scope.build("broadcast", [scope.constant(0, shape.element_type)], shape=shape, dimensions=())
    return scope.build("select", [kept, matrix, zeros])


def _eigenvalues(matrix: Instruction) -> list[ArrayShape]:
    kind = matrix.array.element_type
    return [ArrayShape(kind, matrix.array.dims[:-1])] * (1 if kind.is_complex else 2)


def _gees(scope: Scope, kind: ElementType) -> Made:
    matrix = _matrix(scope, kind, is_square=True, percent=_SPECTRAL_PERCENT)
    shapes, mode = (
        [matrix.array, matrix.array, *_eigenvalues(matrix), _info(matrix), _info(matrix)],
        _letter(scope, "VN"),
    )
    return Made([matrix], shapes, {"mode": mode, "sort": _letter(scope, "N")}, open=() if mode == _WANTED else (1,))


def _geev(scope: Scope, kind: ElementType) -> Made:
    matrix = _matrix(scope, kind, is_square=True, percent=_SPECTRAL_PERCENT)
    vectors = ArrayShape(C128 if kind in (F64, C128) else C64, matrix.array.dims)
    values, wanted = _eigenvalues(matrix), [_letter(scope, "VN") for _ in range(2)]
    options = dict(zip(("compute_left", "compute_right"), wanted, strict=True))
    unwanted = tuple(len(values) + side for side, letter in enumerate(wanted) if letter != _WANTED)
    return Made([matrix], [*values, vectors, vectors, _info(matrix)], options, unwanted)


def _gtsv(scope: Scope, kind: ElementType) -> Made:
    right = _matrix(scope, kind)
    batch, rows, _ = _sizes(right)
    line = ArrayShape(kind, (*batch, rows))
    diagonals = [_given(scope, line) for _ in range(3)]
    return Made([*diagonals, right], [line, line, line, right.array, _info(right)], {}, open=(0, 1, 2))


ROUTINES: dict[str, Draw] = {
    "getrf": _getrf,
    "potrf": _potrf,
    "trsm": _trsm,
    "geqrf": _geqrf,
    "orgqr": _orgqr,
    "ormqr": _ormqr,
    "geqp3": _geqp3,
    "gesdd": _gesdd,
    "gesvd": _gesdd,
    "syevd": _syevd,
    "sytrd": _sytrd,
    "gehrd": _gehrd,
    "gees": _gees,
    "geev": _geev,
    "gtsv": _gtsv,
}
"""By LAPACK's name for real matrices, without the letter of the type."""


def _called(scope: Scope, kind: ElementType, name: str, made: Made) -> Arrays:
    """The results of a routine, copied out of where it leaves them; nobody is offered them yet."""
    operands, shapes, options, is_open = made
    name = _HERMITIAN.get(name, name) if kind.is_complex else name
    rank = max(operand.array.rank for operand in operands)
    stored = [by_columns(shape, rank) for shape in shapes]
    attributes: dict[str, Any] = {
        "custom_call_target": f"lapack_{_TYPES[kind]}{name}_ffi",
        "operand_layout_constraints": tuple(by_columns(operand.array, rank) for operand in operands),
        "api_version": "API_VERSION_TYPED_FFI",
        "backend_config": f"{{{', '.join(f'{key} = {value}' for key, value in sorted(options.items()))}}}",
    }
    shape = stored[0] if len(stored) == 1 else TupleShape(tuple(stored))
    inside = scope.computation
    call = build(inside, "custom-call", operands, shape=shape, **attributes)
    pieces = [call]
    if len(stored) > 1:
        pieces = [build(inside, "get-tuple-element", [call], index=position) for position in range(len(stored))]
    return [
        build(inside, "copy", [piece], shape=bare) if bare.rank == rank else piece
        for position, (piece, bare) in enumerate(zip(pieces, shapes, strict=True))
        if position not in is_open
    ]


def _draw(scope: Scope, name: str, element_type: ElementType) -> Instruction | None:
    """A call of a routine by its name; None where there is no room for its results."""
    made = ROUTINES[name](scope, element_type)
    if not all(scope.fits(shape.dims) for shape in made.shapes):
        return None
    results = _called(scope, element_type, name, made)
    scope.give(results, are_kept=chance(scope.choices, _KEPT_PERCENT))
    return results[0]


def _any(scope: Scope, _: str, element_type: ElementType) -> Instruction | None:
    return _draw(scope, pick(scope.choices, tuple(ROUTINES)), element_type)


def _only(name: str) -> Recipe:
    return Recipe(tuple(_TYPES), lambda scope, _, element_type: _draw(scope, name, element_type))


BY_ROUTINE: dict[str, Recipe] = {name: _only(name) for name in ROUTINES}
"""One routine each."""
RECIPES: dict[str, Recipe] = {"custom-call": Recipe(tuple(_TYPES), _any)}
