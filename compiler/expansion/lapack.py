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

import numpy as np

from compiler.expansion.eigenvectors import eigenvalues, eigenvectors
from compiler.expansion.elimination import first_failure, lu, tridiagonal_solve
from compiler.expansion.expression import Expression, element, number
from compiler.expansion.lapack_shapes import (
    TRANSPOSES,
    Options,
    gees_shapes,
    geev_shapes,
    gehrd_shapes,
    geqp3_shapes,
    geqrf_shapes,
    gesdd_shapes,
    getrf_shapes,
    gtsv_shapes,
    orgqr_shapes,
    ormqr_shapes,
    potrf_shapes,
    syevd_shapes,
    sytrd_shapes,
    trsm_shapes,
)
from compiler.expansion.matrices import (
    adjoint,
    alike,
    corner,
    each,
    hermitian,
    index_along,
    is_finite,
    kept,
    real,
    scaled,
)
from compiler.expansion.reflections import (
    Reduction,
    hessenberg,
    householder,
    householder_applied,
    householder_product,
    pivoted_householder,
    tridiagonal,
)
from compiler.expansion.rotations import LOOPS, Methods, eigen, singular
from compiler.expansion.schur import Schur, schur
from compiler.ir.matrix_layouts import is_by_columns
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape, TupleShape, without_layout
from compiler.ir.types import C64, C128, F32, F64, S32
from compiler.ops.build import build
from compiler.ops.custom_call import SPECTRAL, TARGET, computed_options, has_no_elements, nothing_found

Shapes = Callable[[Sequence[ArrayShape], Options], list[ArrayShape]]
Routine = Callable[[Sequence[Expression], Options], Sequence[Expression]]

KERNELS = frozenset(
    ("getrf", "syevd", "heevd", "geqrf", "geqp3", "orgqr", "ungqr", "ormqr", "unmqr", "gehrd", "gees", "geev")
)
"""Routines that kernels may be there for."""
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
        return self.name in KERNELS and self._is_whole and self._is_large and not has_no_elements(self.instruction)

    @property
    def _is_large(self) -> bool:
        return min(self.instruction.operands[0].array.dims[-2:]) >= _LARGE

    @property
    def _is_whole(self) -> bool:
        """Whether the routine works on all rows, from the left, or for eigenvalues alone."""
        ends = self.options.get("low", "1"), self.options.get("high")
        whole = {("1", None), ("1", str(self.instruction.operands[0].array.dims[-1]))}
        vectors = {self.options.get("compute_left", "N"), self.options.get("compute_right", "N")}
        return ends in whole and self.options.get("left", "true") == "true" and vectors == {"N"}

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
            operands = [Expression(operand) for operand in instruction.operands]
            results = routine(operands, self.options)
            if self.name in SPECTRAL:
                results = self._spoilt(operands[0], results)
        arrays = [result.reshape(*shape.dims).instruction for result, shape in zip(results, self.shapes, strict=True)]
        is_tuple = isinstance(instruction.shape, TupleShape)
        return build(instruction.computation, "tuple", arrays) if is_tuple else arrays[0]

    def _spoilt(self, operand: Expression, results: Sequence[Expression]) -> list[Expression]:
        """The results of a spectral routine, NaN where a matrix is not finite."""
        matrix = _batched(operand)
        if "uplo" in self.options:
            matrix = hermitian(matrix, lower=self.options["uplo"] == "L")
        finite = is_finite(matrix)
        *found, info = results
        said = info.literal(nothing_found(self.name, matrix.dims[1])).spread(info.dims, ())
        nan = complex(np.nan, np.nan)
        return [
            *(r if r.type is S32 else kept(each(finite, r), r, nan if r.type.is_complex else np.nan) for r in found),
            finite.where(info, said),
        ]


def call_of(instruction: Instruction) -> Call | None:
    """A custom call as that of a routine, or None."""
    found = TARGET.fullmatch(instruction.attributes["custom_call_target"])
    row = ROUTINES.get(found[1]) if found is not None else None
    if found is None or row is None or not all(_is_matrix_or_more(operand) for operand in instruction.operands):
        return None
    shapes, _ = row
    try:
        options = computed_options(instruction)
        expected = shapes([operand.array for operand in instruction.operands], options)
    except (KeyError, ValueError):
        return None
    stated = instruction.shape.elements if isinstance(instruction.shape, TupleShape) else (instruction.shape,)
    if [without_layout(shape) for shape in stated] != expected or not is_by_columns(instruction):
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


def _potrf(operands: Sequence[Expression], options: Options) -> list[Expression]:
    matrix = _batched(operands[0])
    lower = options["uplo"] == "L"
    factor = Expression(build(matrix.instruction.computation, "cholesky", [matrix.instruction], lower=lower))
    row, column = index_along(matrix, 1), index_along(matrix, 2)
    given = row.compare("GE" if lower else "LE", column)
    # Where there is no factor all of it is NaN.
    first = real(corner(factor, 1, 1).reshape(matrix.dims[0]))
    failed = first.compare("NE", first)
    return [given.where(factor, matrix), first_failure(matrix if lower else adjoint(matrix), failed)]


def _trsm(operands: Sequence[Expression], options: Options) -> list[Expression]:
    solution = build(
        operands[0].instruction.computation,
        "triangular-solve",
        [operand.instruction for operand in operands],
        left_side=options["side"] == "L",
        lower=options["uplo"] == "L",
        unit_diagonal=options["diag"] == "U",
        transpose_a=TRANSPOSES[options["trans_x"]],
    )
    return [Expression(solution)]


def _getrf(operands: Sequence[Expression], _: Options) -> Sequence[Expression]:
    return lu(_batched(operands[0]))


def _geqrf(operands: Sequence[Expression], _: Options) -> Sequence[Expression]:
    return householder(_batched(operands[0]))


def _orgqr(operands: Sequence[Expression], _: Options) -> list[Expression]:
    vectors, factors = operands
    return [householder_product(_batched(vectors), factors.reshape(prod(factors.dims[:-1]), factors.dims[-1]))]


def _ormqr(
    operands: Sequence[Expression], options: Options, apply: Callable[..., Expression] = householder_applied
) -> list[Expression]:
    vectors, factors, matrix = operands
    given = _batched(vectors), factors.reshape(prod(factors.dims[:-1]), factors.dims[-1])
    transposed = options["transpose"] == "true"
    if options["left"] == "true":
        return [apply(*given, _batched(matrix), transposed=transposed)]
    return [adjoint(apply(*given, adjoint(_batched(matrix)), transposed=not transposed))]


def _syevd(operands: Sequence[Expression], options: Options) -> list[Expression]:
    matrix = _batched(operands[0])
    return [*eigen(matrix, lower=options["uplo"] == "L"), _success(matrix)]


def _gesdd(operands: Sequence[Expression], options: Options, by: Methods = LOOPS) -> list[Expression]:
    matrix = _batched(operands[0])
    left, values, right = singular(matrix, full=options["mode"] != "S", by=by)
    return [matrix, values, left, right, _success(matrix)]


def _geqp3(operands: Sequence[Expression], _: Options) -> Sequence[Expression]:
    matrix, fixed = operands
    return pivoted_householder(_batched(matrix), fixed.reshape(prod(fixed.dims[:-1]), fixed.dims[-1]))


def _gehrd(operands: Sequence[Expression], options: Options) -> list[Expression]:
    matrix = _batched(operands[0])
    return [*hessenberg(matrix, int(options["low"]) - 1, int(options["high"])), _success(matrix)]


def _sytrd(operands: Sequence[Expression], options: Options, reduce: Reduction = hessenberg) -> list[Expression]:
    matrix = _batched(operands[0])
    return [*tridiagonal(matrix, lower=options["uplo"] == "L", reduce=reduce), _success(matrix)]


def _gtsv(operands: Sequence[Expression], _: Options) -> Sequence[Expression]:
    lower, diagonal, upper = (value.reshape(prod(value.dims[:-1]), value.dims[-1]) for value in operands[:3])
    return tridiagonal_solve(lower, diagonal, upper, _batched(operands[3]))


def _eigenvalues(form: Schur) -> list[Expression]:
    arrays = [value * each(form.scale, value) for value in eigenvalues(form)]
    return [arrays[0].apply("complex", arrays[1])] if form.triangle.type.is_complex else arrays


def _gees(operands: Sequence[Expression], options: Options) -> list[Expression]:
    matrix = _batched(operands[0])
    form = schur(matrix)
    triangle = form.triangle * each(alike(form.scale, matrix), matrix)
    return [triangle, _wanted(form.vectors, options["mode"]), *_eigenvalues(form), _success(matrix), form.failed]


def _geev(
    operands: Sequence[Expression], options: Options, decompose: Callable[[Expression], Schur] = schur
) -> list[Expression]:
    form = decompose(_batched(operands[0]))
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
    "potrf": (potrf_shapes, _potrf),
    "trsm": (trsm_shapes, _trsm),
    "getrf": (getrf_shapes, _getrf),
    "geqrf": (geqrf_shapes, _geqrf),
    "orgqr": (orgqr_shapes, _orgqr),
    "ungqr": (orgqr_shapes, _orgqr),
    "ormqr": (ormqr_shapes, _ormqr),
    "unmqr": (ormqr_shapes, _ormqr),
    "syevd": (syevd_shapes, _syevd),
    "heevd": (syevd_shapes, _syevd),
    "gesdd": (gesdd_shapes, _gesdd),
    "gesvd": (gesdd_shapes, _gesdd),
    "gees": (gees_shapes, _gees),
    "geev": (geev_shapes, _geev),
    "geqp3": (geqp3_shapes, _geqp3),
    "gehrd": (gehrd_shapes, _gehrd),
    "sytrd": (sytrd_shapes, _sytrd),
    "hetrd": (sytrd_shapes, _sytrd),
    "gtsv": (gtsv_shapes, _gtsv),
}
"""By LAPACK's name without the letter of the type: what the routine gives, and how it is done."""


_COMPLEX = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd"}
_LETTERS = {F32: "s", F64: "d", C64: "c", C128: "z"}


def _by_kernel(
    name: str, operands: Sequence[Expression], shapes: Sequence[ArrayShape], options: str = ""
) -> list[Expression]:
    """The results of a routine that is left to a kernel."""
    letter, name = _LETTERS[operands[0].type], _COMPLEX.get(name, name) if operands[0].type.is_complex else name
    call = build(
        operands[0].instruction.computation,
        "custom-call",
        [operand.instruction for operand in operands],
        shape=TupleShape(tuple(shapes)) if len(shapes) > 1 else shapes[0],
        custom_call_target=f"lapack_{letter}{name}_ffi",
        backend_config=f"{{{options}}}",
    )
    return [Expression(element(call, index)) for index in range(len(shapes))] if len(shapes) > 1 else [Expression(call)]


def _reflect(matrix: Expression) -> tuple[Expression, Expression]:
    packed, factors = _by_kernel("geqrf", [matrix], geqrf_shapes([matrix.instruction.array], {}))
    return packed, factors


def _multiply(vectors: Expression, factors: Expression) -> Expression:
    return _by_kernel("orgqr", [vectors, factors], [vectors.instruction.array])[0]


_LOWER = "mode = 86 : ui8, uplo = 76 : ui8"


def _vectors(matrix: Expression) -> Expression:
    return _by_kernel("syevd", [matrix], syevd_shapes([matrix.instruction.array], {"uplo": "L"}), _LOWER)[0]


def _reduce(matrix: Expression, low: int, high: int) -> tuple[Expression, Expression]:
    shapes = gehrd_shapes([matrix.instruction.array], {"low": str(low + 1), "high": str(high)})
    packed, factors, _ = _by_kernel("gehrd", [matrix], shapes, f"low = {low + 1} : i32, high = {high} : i32")
    return packed, factors


def _apply(vectors: Expression, factors: Expression, matrix: Expression, *, transposed: bool) -> Expression:
    options = f"left = true, transpose = {'true' if transposed else 'false'}"
    return _by_kernel("ormqr", [vectors, factors, matrix], [matrix.instruction.array], options)[0]


def _decompose(matrix: Expression) -> Schur:
    shapes = gees_shapes([matrix.instruction.array], {"mode": "V"})
    triangle, vectors, *values, _, failed = _by_kernel("gees", [matrix], shapes, "mode = 86 : ui8, sort = 78 : ui8")
    form, scale = scaled(triangle)
    # Those of a complex matrix come alone.
    rise = values[-1] - values[-1] if matrix.type.is_complex else values[-1]
    return Schur(form, scale, vectors, real(rise).compare("GT", 0), failed)


_gesdd_with_kernels = partial(_gesdd, by=Methods(_reflect, _multiply, _vectors))
_sytrd_with_kernels = partial(_sytrd, reduce=_reduce)
_ormqr_with_kernels = partial(_ormqr, apply=_apply)
WITH_KERNELS: dict[str, Routine] = {
    "geev": partial(_geev, decompose=_decompose),
    "gesdd": _gesdd_with_kernels,
    "gesvd": _gesdd_with_kernels,
    "sytrd": _sytrd_with_kernels,
    "hetrd": _sytrd_with_kernels,
    "ormqr": _ormqr_with_kernels,
    "unmqr": _ormqr_with_kernels,
}
"""How large matrices are done where there are kernels for `KERNELS`."""
