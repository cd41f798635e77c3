"""dot, cholesky, triangular-solve, fft: computed in f64 and rounded once, matrix by matrix where there is a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.factorizations import cholesky, solve_triangular
from compiler.ir.module import Instruction
from compiler.ir.numbers import Array, narrow, widen
from compiler.ir.opdef import Evaluator, Op
from compiler.ir.products import contract, dot_shape, product_dimensions, rounded, summable, wider_type
from compiler.ir.shape import ArrayShape, Shape
from compiler.ir.shape_rules import operand, require, result_type
from compiler.ir.traits import Trait
from compiler.ir.types import C64, C128, F32, F64, Kind


def _infer_dot(instruction: Instruction) -> Shape:
    lhs, rhs = operand(instruction, 0), operand(instruction, 1)
    return dot_shape(lhs, rhs, product_dimensions(instruction), result_type(instruction, wider_type(lhs, rhs)))


def _dot(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    types = [o.array.element_type for o in instruction.operands[:2]]
    result = instruction.array.element_type
    lhs, rhs = (summable(value, kind, result) for value, kind in zip(values[:2], types, strict=True))
    return rounded(contract(lhs, rhs, product_dimensions(instruction)), result)


def _check_square(instruction: Instruction) -> ArrayShape:
    shape = operand(instruction, 0)
    name = instruction.opcode
    require(shape.rank >= 2 and shape.dims[-1] == shape.dims[-2], f"{name} takes square matrices, not {shape}")
    kind = shape.element_type.kind
    require(kind in (Kind.FLOAT, Kind.COMPLEX), f"{name} takes floats or complex numbers, not {shape}")
    return shape


def _infer_cholesky(instruction: Instruction) -> Shape:
    shape = _check_square(instruction)
    return ArrayShape(shape.element_type, shape.dims, shape.dynamic)


def _cholesky(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    element_type = instruction.array.element_type
    matrix = widen(values[0], element_type, precise=True)
    lower = instruction.attributes.get("lower", False)
    factor, failed = cholesky(matrix if lower else np.conj(np.swapaxes(matrix, -1, -2)))
    # A matrix that is not positive definite has no factor: as XLA has it, the whole result is NaN.
    factor = np.where(failed[..., None, None] != 0, np.nan, factor)
    return narrow(factor if lower else np.conj(np.swapaxes(factor, -1, -2)), element_type)


_TRANSPOSES = {"NO_TRANSPOSE": "N", "TRANSPOSE": "T", "ADJOINT": "C"}


def _infer_triangular_solve(instruction: Instruction) -> Shape:
    matrix, right = _check_square(instruction), operand(instruction, 1)
    require(matrix.element_type is right.element_type, f"operands differ in element type: {matrix} and {right}")
    require(matrix.rank == right.rank, f"operands differ in rank: {matrix} and {right}")
    require(matrix.dims[:-2] == right.dims[:-2], f"operands differ in batch dimensions: {matrix} and {right}")
    side = -2 if instruction.attributes.get("left_side", False) else -1
    require(matrix.dims[-1] == right.dims[side], f"the sizes of {matrix} and {right} do not fit")
    transpose = instruction.attributes.get("transpose_a", "NO_TRANSPOSE")
    require(transpose in _TRANSPOSES, f"transpose_a={transpose} is none of {', '.join(_TRANSPOSES)}")
    return ArrayShape(right.element_type, right.dims, right.dynamic)


def _triangular_solve(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    attributes, element_type = instruction.attributes, instruction.array.element_type
    matrix, right = (widen(value, element_type, precise=True) for value in values)
    solution = solve_triangular(
        matrix,
        right,
        left_side=attributes.get("left_side", False),
        lower=attributes.get("lower", False),
        unit=attributes.get("unit_diagonal", False),
        transpose=_TRANSPOSES[attributes.get("transpose_a", "NO_TRANSPOSE")],
    )
    return narrow(solution, element_type)


_FFT_TYPES = {"FFT": (C64, C128), "IFFT": (C64, C128), "RFFT": (F32, F64), "IRFFT": (C64, C128)}
_COUNTERPART = {F32: C64, F64: C128, C64: F32, C128: F64}


def _infer_fft(instruction: Instruction) -> Shape:
    shape = operand(instruction, 0)
    kind, length = instruction.attributes["fft_type"], tuple(instruction.attributes["fft_length"])
    require(kind in _FFT_TYPES, f"fft_type={kind} is none of {', '.join(_FFT_TYPES)}")
    require(shape.element_type in _FFT_TYPES[kind], f"{kind} does not take {shape.element_type}")
    require(1 <= len(length) <= 3, f"fft_length={list(length)} must name 1 to 3 dimensions")
    require(shape.rank >= len(length), f"fft_length={list(length)} names more dimensions than {shape} has")
    have = shape.dims[-len(length) :]
    want = (*length[:-1], length[-1] // 2 + 1) if kind == "IRFFT" else length
    if kind in ("FFT", "IFFT"):
        return ArrayShape(shape.element_type, shape.dims, shape.dynamic)
    require(
        have == want or 0 in shape.dims, f"{kind} of fft_length={list(length)} takes {list(want)}, not {list(have)}"
    )
    element_type = _COUNTERPART[shape.element_type]
    last = length[-1] // 2 + 1 if kind == "RFFT" else length[-1]
    return ArrayShape(element_type, (*shape.dims[:-1], last), shape.dynamic)


def check_lengths(instruction: Instruction) -> None:
    """Refuse a transform of other lengths than its operand's, which XLA's shape rule lets pass; 0 gives zeros."""
    length, shape = tuple(instruction.attributes["fft_length"]), instruction.operands[0].array
    of_complex = instruction.attributes["fft_type"] in ("FFT", "IFFT")
    if of_complex and 0 not in (*length, *shape.dims) and shape.dims[-len(length) :] != length:
        reason = f"fft_length={list(length)} is not the size of {shape}"
        raise instruction.unsupported(reason)


def _fft(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    kind, length = instruction.attributes["fft_type"], instruction.attributes["fft_length"]
    shape = instruction.array
    check_lengths(instruction)
    if not values[0].size or 0 in length:
        return np.zeros(shape.dims, shape.element_type.dtype)
    wide = widen(values[0], instruction.operands[0].array.element_type, precise=True)
    axes = tuple(range(-len(length), 0))
    return narrow(_TRANSFORMS[kind](wide, s=length, axes=axes), shape.element_type)


_TRANSFORMS: dict[str, Any] = {
    "FFT": np.fft.fftn,
    "IFFT": np.fft.ifftn,
    "RFFT": np.fft.rfftn,
    "IRFFT": np.fft.irfftn,
}

OPS: dict[str, Op] = {
    op.opcode: op
    for op in (
        Op(
            "dot",
            (2, 2),
            _infer_dot,
            _dot,
            "Products summed over contracting dimensions, batch by batch.",
            optional=(
                "lhs_contracting_dims",
                "rhs_contracting_dims",
                "lhs_batch_dims",
                "rhs_batch_dims",
                "operand_precision",
                "algorithm",
            ),
            traits=Trait.PRODUCT | Trait.ACCUMULATES,
        ),
        Op(
            "cholesky",
            (1, 1),
            _infer_cholesky,
            _cholesky,
            "The triangular factor of positive definite matrices.",
            optional=("lower",),
            traits=Trait.ACCUMULATES | Trait.ALGORITHM | Trait.AMPLIFIES,
        ),
        Op(
            "triangular-solve",
            (2, 2),
            _infer_triangular_solve,
            _triangular_solve,
            "Solve systems with triangular matrices.",
            optional=("left_side", "lower", "unit_diagonal", "transpose_a"),
            traits=Trait.ACCUMULATES | Trait.ALGORITHM | Trait.AMPLIFIES,
        ),
        Op(
            "fft",
            (1, 1),
            _infer_fft,
            _fft,
            "Fourier transforms.",
            required=("fft_type", "fft_length"),
            traits=Trait.ACCUMULATES | Trait.ALGORITHM,
        ),
    )
}
