"""LAPACK's routines as custom calls: which shapes each gives, how each is done in HLO, and which are left to kernels.

What can be is left to ops that back ends have kernels for; the loops are those of `elimination`, `reflections`,
`rotations`, `schur` and `eigenvectors`.  A back end may have kernels for whole routines, which pay where matrices are
large: many small ones are better off in loops, all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from compiler.expansion.eigenvectors import eigenvalues, eigenvectors
from compiler.expansion.elimination import first_failure, lu, tridiagonal_solve
from compiler.expansion.expression import Expression, element, number
from compiler.expansion.matrices import adjoint, alike, corner, each, place, real
from compiler.expansion.reflections import (
    hessenberg,
    householder,
    householder_product,
    pivoted_householder,
    tridiagonal,
)
from compiler.expansion.rotations import LOOPS, Methods, eigen, singular
from compiler.expansion.schur import Schur, schur
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape, TupleShape, without_layout
from compiler.ir.types import C64, C128, F32, F64, S32
from compiler.ops.arithmetic import real_part_type
from compiler.ops.build import build
from compiler.ops.custom_call import TARGET, has_no_elements, options_of

Options = dict[str, str]
Shapes = Callable[[Sequence[ArrayShape], Options], list[ArrayShape]]
Routine = Callable[[Sequence[Expression], Options], Sequence[Expression]]

KERNELS = frozenset({"getrf", "geqrf", "orgqr", "syevd"})
"""Routines that kernels may be there for, of real matrices."""
_LARGE = 16
"""Rows or columns from which on a kernel is better."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a routine whose operands and results have the shapes that the routine gives."""

    instruction: Instruction
    name: str
    options: Options
    shapes: tuple[ArrayShape, ...]

    @property
    def suits_kernel(self) -> bool:
        """Whether a back end that has kernels should keep it."""
        return self.name in KERNELS and self._is_large and not has_no_elements(self.instruction)

    @property
    def _is_large(self) -> bool:
        matrix = self.instruction.operands[0].array
        return matrix.element_type in (F32, F64) and min(matrix.dims[-2:]) >= _LARGE

    def expand(self, *, with_kernels: bool) -> Instruction:
        """The routine in HLO, in the call's computation; what it is made of may be left to kernels where there are."""
        instruction = self.instruction
        _, routine = ROUTINES[self.name]
        if with_kernels and self._is_large:
            routine = WITH_KERNELS.get(self.name, routine)
        results: Sequence[Expression]
        if has_no_elements(instruction):
            results = [number(instruction.computation, 0, s.element_type).spread(s.dims, ()) for s in self.shapes]
        else:
            results = routine([Expression(operand) for operand in instruction.operands], self.options)
        parts = [result.reshape(*shape.dims).instruction for result, shape in zip(results, self.shapes, strict=True)]
        is_tuple = isinstance(instruction.shape, TupleShape)
        return build(instruction.computation, "tuple", parts) if is_tuple else parts[0]


def call_of(instruction: Instruction) -> Call | None:
    """A custom call as that of a routine, or None."""
    found = TARGET.fullmatch(instruction.attributes["custom_call_target"])
    row = ROUTINES.get(found[1]) if found is not None else None
    if found is None or row is None or not all(_is_matrix_or_more(operand) for operand in instruction.operands):
        return None
    shapes, _ = row
    try:
        options = options_of(instruction)
        expected = shapes([operand.array for operand in instruction.operands], options)
    except (KeyError, ValueError):
        return None
    stated = instruction.shape.elements if isinstance(instruction.shape, TupleShape) else (instruction.shape,)
    if [without_layout(shape) for shape in stated] != expected:
        return None
    if any(0 in operand.array.dims for operand in instruction.operands) and not has_no_elements(instruction):
        return None
    return Call(instruction, found[1], options, tuple(expected))


def _is_matrix_or_more(operand: Instruction) -> bool:
    shape = operand.shape
    return isinstance(shape, ArrayShape) and not shape.is_dynamic


def _batched(matrix: Expression) -> Expression:
    """As [batch, rows, columns]."""
    return matrix.reshape(prod(matrix.dims[:-2]), *matrix.dims[-2:])


def _square(matrix: ArrayShape) -> None:
    if matrix.rank < 2 or matrix.dims[-1] != matrix.dims[-2]:
        raise ValueError(f"{matrix} holds no square matrices")


def _like(matrix: ArrayShape) -> ArrayShape:
    if matrix.rank < 2:
        raise ValueError(f"{matrix} holds no matrices")
    return ArrayShape(matrix.element_type, matrix.dims)


def _potrf_shapes(operands: Sequence[ArrayShape], options: Options) -> list[ArrayShape]:
    (matrix,) = operands
    _square(matrix)
    if options["uplo"] not in "LU":
        raise ValueError("uplo is L or U")
    return [_like(matrix), ArrayShape(S32, matrix.dims[:-2])]


def _potrf(operands: Sequence[Expression], options: Options) -> list[Expression]:
    matrix = _batched(operands[0])
    lower = options["uplo"] == "L"
    factor = Expression(build(matrix.instruction.computation, "cholesky", [matrix.instruction], lower=lower))
    row, column = place(matrix, 1), place(matrix, 2)
    given = row.compare("GE" if lower else "LE", column)
    # Where there is no factor all of it is NaN.
    first = real(corner(factor, 1, 1).reshape(matrix.dims[0]))
    failed = first.compare("NE", first)
    return [given.where(factor, matrix), first_failure(matrix if lower else adjoint(matrix), failed)]


def _trsm_shapes(operands: Sequence[ArrayShape], options: Options) -> list[ArrayShape]:
    matrix, right = operands
    _square(matrix)
    side = {"L": -2, "R": -1}[options["side"]]
    fits = right.rank == matrix.rank and right.dims[:-2] == matrix.dims[:-2] and right.dims[side] == matrix.dims[-1]
    known = options["uplo"] in "LU" and options["diag"] in "UN" and options["trans_x"] in _TRANSPOSES
    if not fits or not known or right.element_type is not matrix.element_type:
        raise ValueError(f"{matrix} and {right} do not fit")
    return [_like(right)]


_TRANSPOSES = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}


def _trsm(operands: Sequence[Expression], options: Options) -> list[Expression]:
    solution = build(
        operands[0].instruction.computation,
        "triangular-solve",
        [operand.instruction for operand in operands],
        left_side=options["side"] == "L",
        lower=options["uplo"] == "L",
        unit_diagonal=options["diag"] == "U",
        transpose_a=_TRANSPOSES[options["trans_x"]],
    )
    return [Expression(solution)]


def _getrf_shapes(operands: Sequence[ArrayShape], _: Options) -> list[ArrayShape]:
    (matrix,) = operands
    result, batch = _like(matrix), matrix.dims[:-2]
    return [result, ArrayShape(S32, (*batch, min(matrix.dims[-2:]))), ArrayShape(S32, batch)]


def _getrf(operands: Sequence[Expression], _: Options) -> Sequence[Expression]:
    return lu(_batched(operands[0]))


def _geqrf_shapes(operands: Sequence[ArrayShape], _: Options) -> list[ArrayShape]:
    (matrix,) = operands
    result = _like(matrix)
    return [result, result.with_dims((*matrix.dims[:-2], min(matrix.dims[-2:])))]


def _geqrf(operands: Sequence[Expression], _: Options) -> Sequence[Expression]:
    return householder(_batched(operands[0]))


def _orgqr_shapes(operands: Sequence[ArrayShape], _: Options) -> list[ArrayShape]:
    vectors, factors = operands
    fits = factors.dims[:-1] == vectors.dims[:-2] and factors.dims[-1] <= min(vectors.dims[-2:])
    if not fits or factors.element_type is not vectors.element_type:
        raise ValueError(f"{factors} are no factors of {vectors}")
    return [_like(vectors)]


def _orgqr(operands: Sequence[Expression], _: Options) -> list[Expression]:
    vectors, factors = operands
    return [householder_product(_batched(vectors), factors.reshape(prod(factors.dims[:-1]), factors.dims[-1]))]


def _syevd_shapes(operands: Sequence[ArrayShape], options: Options) -> list[ArrayShape]:
    (matrix,) = operands
    _square(matrix)
    if options["uplo"] not in "LU":
        raise ValueError("uplo is L or U")
    values = ArrayShape(real_part_type(matrix.element_type), matrix.dims[:-1])
    return [_like(matrix), values, ArrayShape(S32, matrix.dims[:-2])]


def _syevd(operands: Sequence[Expression], options: Options) -> list[Expression]:
    matrix = _batched(operands[0])
    return [*eigen(matrix, lower=options["uplo"] == "L"), _success(matrix)]


def _gesdd_shapes(operands: Sequence[ArrayShape], options: Options) -> list[ArrayShape]:
    (matrix,) = operands
    result, batch = _like(matrix), matrix.dims[:-2]
    rows, columns = matrix.dims[-2:]
    count, full = min(rows, columns), options["mode"] != "S"
    return [
        result,
        ArrayShape(real_part_type(matrix.element_type), (*batch, count)),
        result.with_dims((*batch, rows, rows if full else count)),
        result.with_dims((*batch, columns if full else count, columns)),
        ArrayShape(S32, batch),
    ]


def _gesdd(operands: Sequence[Expression], options: Options, by: Methods = LOOPS) -> list[Expression]:
    matrix = _batched(operands[0])
    left, values, right = singular(matrix, full=options["mode"] != "S", by=by)
    return [matrix, values, left, right, _success(matrix)]


def _geqp3_shapes(operands: Sequence[ArrayShape], options: Options) -> list[ArrayShape]:
    matrix, fixed = operands
    result, factors = _geqrf_shapes([matrix], options)
    pivots = ArrayShape(S32, (*matrix.dims[:-2], matrix.dims[-1]))
    if without_layout(fixed) != pivots:
        raise ValueError(f"{fixed} are no columns of {matrix}")
    return [result, pivots, factors]


def _geqp3(operands: Sequence[Expression], _: Options) -> Sequence[Expression]:
    matrix, fixed = operands
    return pivoted_householder(_batched(matrix), fixed.reshape(prod(fixed.dims[:-1]), fixed.dims[-1]))


def _gehrd_shapes(operands: Sequence[ArrayShape], options: Options) -> list[ArrayShape]:
    (matrix,) = operands
    _square(matrix)
    size, low, high = matrix.dims[-1], int(options["low"]), int(options["high"])
    if not 1 <= low <= high <= size:
        raise ValueError(f"rows {low} to {high} are not in {matrix}")
    result, batch = _like(matrix), matrix.dims[:-2]
    return [result, result.with_dims((*batch, size - 1)), ArrayShape(S32, batch)]


def _gehrd(operands: Sequence[Expression], options: Options) -> list[Expression]:
    matrix = _batched(operands[0])
    return [*hessenberg(matrix, int(options["low"]) - 1, int(options["high"])), _success(matrix)]


def _sytrd_shapes(operands: Sequence[ArrayShape], options: Options) -> list[ArrayShape]:
    result, values, info = _syevd_shapes(operands, options)
    beside = (*values.dims[:-1], values.dims[-1] - 1)
    return [result, values, values.with_dims(beside), result.with_dims(beside), info]


def _sytrd(operands: Sequence[Expression], options: Options) -> list[Expression]:
    matrix = _batched(operands[0])
    return [*tridiagonal(matrix, lower=options["uplo"] == "L"), _success(matrix)]


def _gtsv_shapes(operands: Sequence[ArrayShape], _: Options) -> list[ArrayShape]:
    *diagonals, right = operands
    expected = _like(right).with_dims(right.dims[:-1])
    if len(diagonals) != 3 or any(without_layout(diagonal) != expected for diagonal in diagonals):
        raise ValueError(f"{diagonals} are no diagonals for {right}")
    return [expected, expected, expected, _like(right), ArrayShape(S32, right.dims[:-2])]


def _gtsv(operands: Sequence[Expression], _: Options) -> Sequence[Expression]:
    lower, diagonal, upper = (part.reshape(prod(part.dims[:-1]), part.dims[-1]) for part in operands[:3])
    return tridiagonal_solve(lower, diagonal, upper, _batched(operands[3]))


def _eigenvalue_shapes(matrix: ArrayShape) -> list[ArrayShape]:
    """Of a complex matrix one array, of a real one real and imaginary parts."""
    _square(matrix)
    return [_like(matrix).with_dims(matrix.dims[:-1])] * (1 if matrix.element_type.is_complex else 2)


def _eigenvalues(form: Schur) -> list[Expression]:
    parts = [part * each(form.scale, part) for part in eigenvalues(form)]
    return [parts[0].apply("complex", parts[1])] if form.triangle.type.is_complex else parts


def _gees_shapes(operands: Sequence[ArrayShape], options: Options) -> list[ArrayShape]:
    (matrix,) = operands
    if options.get("sort", "N") != "N" or options["mode"] not in "NV":
        raise ValueError("eigenvalues cannot be sorted, and vectors are wanted or not")
    info = ArrayShape(S32, matrix.dims[:-2])
    return [_like(matrix), _like(matrix), *_eigenvalue_shapes(matrix), info, info]


def _gees(operands: Sequence[Expression], options: Options) -> list[Expression]:
    matrix = _batched(operands[0])
    form = schur(matrix)
    triangle = form.triangle * each(alike(form.scale, matrix), matrix)
    return [triangle, _wanted(form.vectors, options["mode"]), *_eigenvalues(form), _success(matrix), form.failed]


def _geev_shapes(operands: Sequence[ArrayShape], options: Options) -> list[ArrayShape]:
    (matrix,) = operands
    if not {options["compute_left"], options["compute_right"]} <= set("NV"):
        raise ValueError("vectors are wanted or not")
    double = matrix.element_type in (F64, C128)
    vectors = ArrayShape(C128 if double else C64, matrix.dims)
    return [*_eigenvalue_shapes(matrix), vectors, vectors, ArrayShape(S32, matrix.dims[:-2])]


def _geev(operands: Sequence[Expression], options: Options) -> list[Expression]:
    form = schur(_batched(operands[0]))
    vectors = [
        _wanted(side, options[name])
        for side, name in zip(eigenvectors(form), ("compute_left", "compute_right"), strict=True)
    ]
    return [*_eigenvalues(form), *vectors, form.failed]


def _wanted(vectors: Expression, option: str) -> Expression:
    return vectors if option == "V" else vectors.literal(0).spread(vectors.dims, ())


def _success(matrix: Expression) -> Expression:
    """What a routine says that did not fail, for each matrix."""
    return number(matrix.instruction.computation, 0, S32).spread(matrix.dims[:1], ())


ROUTINES: dict[str, tuple[Shapes, Routine]] = {
    "potrf": (_potrf_shapes, _potrf),
    "trsm": (_trsm_shapes, _trsm),
    "getrf": (_getrf_shapes, _getrf),
    "geqrf": (_geqrf_shapes, _geqrf),
    "orgqr": (_orgqr_shapes, _orgqr),
    "ungqr": (_orgqr_shapes, _orgqr),
    "syevd": (_syevd_shapes, _syevd),
    "heevd": (_syevd_shapes, _syevd),
    "gesdd": (_gesdd_shapes, _gesdd),
    "gesvd": (_gesdd_shapes, _gesdd),
    "gees": (_gees_shapes, _gees),
    "geev": (_geev_shapes, _geev),
    "geqp3": (_geqp3_shapes, _geqp3),
    "gehrd": (_gehrd_shapes, _gehrd),
    "sytrd": (_sytrd_shapes, _sytrd),
    "hetrd": (_sytrd_shapes, _sytrd),
    "gtsv": (_gtsv_shapes, _gtsv),
}
"""By LAPACK's name without the letter of the type: what the routine gives, and how it is done."""


def _by_kernel(name: str, operands: Sequence[Expression], shapes: Sequence[ArrayShape]) -> list[Expression]:
    """The results of a routine that is left to a kernel."""
    letter = {F32: "s", F64: "d"}[operands[0].type]
    call = build(
        operands[0].instruction.computation,
        "custom-call",
        [operand.instruction for operand in operands],
        shape=TupleShape(tuple(shapes)) if len(shapes) > 1 else shapes[0],
        custom_call_target=f"lapack_{letter}{name}_ffi",
        backend_config="{mode = 86 : ui8, uplo = 76 : ui8}",
    )
    return [Expression(element(call, index)) for index in range(len(shapes))] if len(shapes) > 1 else [Expression(call)]


def _reflect(matrix: Expression) -> tuple[Expression, Expression]:
    packed, factors = _by_kernel("geqrf", [matrix], _geqrf_shapes([matrix.instruction.array], {}))
    return packed, factors


def _multiply(vectors: Expression, factors: Expression) -> Expression:
    return _by_kernel("orgqr", [vectors, factors], [vectors.instruction.array])[0]


def _vectors(matrix: Expression) -> Expression:
    return _by_kernel("syevd", [matrix], _syevd_shapes([matrix.instruction.array], {"uplo": "L"}))[0]


_gesdd_with_kernels = partial(_gesdd, by=Methods(_reflect, _multiply, _vectors))
WITH_KERNELS: dict[str, Routine] = {"gesdd": _gesdd_with_kernels, "gesvd": _gesdd_with_kernels}
"""How large real matrices are done where there are kernels for `KERNELS`."""
