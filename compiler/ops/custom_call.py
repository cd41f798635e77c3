"""custom-call: code from outside the program.

A meaning is given to targets that merely mark their operand, to XLA's own name for topk, and to what JAX emits for the
CPU: products with sparse matrices, and LAPACK's routines (typed FFI: integers and truth values by name in
`backend_config`; matrices are batched over leading dimensions).  Any other target is refused by its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from compiler.diagnostics import UnsupportedError
from compiler.ir import csr, meanings
from compiler.ir.factorizations import cholesky, householder, householder_product, lu, solve_triangular
from compiler.ir.lapack import ROUTINES, batched
from compiler.ir.manual import CROSSINGS, target_of
from compiler.ir.matrix_layouts import is_by_columns
from compiler.ir.module import Instruction
from compiler.ir.numbers import Array, narrow, ranking, widen
from compiler.ir.opdef import Evaluator, Op, Value
from compiler.ir.shape import ArrayShape, Shape, TupleShape, leaves
from compiler.ir.shape_rules import agree, stated
from compiler.ir.traits import Trait
from compiler.ir.types import S32

Routine = Callable[[Sequence[Array], dict[str, str]], tuple[Array, ...]]

MARKS = frozenset(
    {
        *CROSSINGS,
        "Sharding",
        "LayoutConstraint",
        "MoveToHost",
        "MoveToDevice",
        "annotate_device_placement",
        "xla.sdy.FuncResultSharding",
        "xla.sdy.PropagationBarrier",
        "xla.sdy.ShardingGroup",
    }
)
"""Targets that only mark their operands; on one device they yield them."""


def is_mark(call: Instruction) -> bool:
    """Whether an instruction is a custom call that yields its operands: several as a tuple, none as an empty one.

    Where there are several devices, those between whole arrays and parts are more than that (`compiler.ir.manual`).
    """
    if call.opcode != "custom-call" or target_of(call) not in MARKS:
        return False
    shapes = call.shape.elements if isinstance(call.shape, TupleShape) else (call.shape,)
    return len(shapes) == len(call.operands) and all(
        agree(shape, operand.shape) for shape, operand in zip(shapes, call.operands, strict=True)
    )


def _infer(instruction: Instruction) -> Shape:
    return stated(instruction)


def _top_k(instruction: Instruction, values: Sequence[Array]) -> Value:
    """XLA's name for topk on the CPU: the greatest of each row with their indices, as many as the result holds."""
    if instruction.operands[0].array.element_type.is_complex:
        raise instruction.unsupported("complex numbers have no order")
    count = next(leaves(instruction.shape)).dims[-1]
    order = ranking(values[0], instruction.operands[0].array.element_type, descending=True)[..., :count]
    return (np.take_along_axis(values[0], order, axis=-1), order.astype(np.int32))


def _potrf(values: Sequence[Array], options: dict[str, str]) -> tuple[Array, ...]:
    (matrix,) = values
    lower = options["uplo"] == "L"
    factor, failed = cholesky(matrix if lower else np.conj(np.swapaxes(matrix, -1, -2)))
    mask = np.tri(matrix.shape[-1], dtype=np.bool_)
    if lower:
        return np.where(mask, factor, matrix), failed
    return np.where(mask.T, np.conj(np.swapaxes(factor, -1, -2)), matrix), failed


def _trsm(values: Sequence[Array], options: dict[str, str]) -> tuple[Array, ...]:
    return (
        solve_triangular(
            *values,
            left_side=options["side"] == "L",
            lower=options["uplo"] == "L",
            unit=options["diag"] == "U",
            transpose=options["trans_x"],
        ),
    )


def _getrf(values: Sequence[Array], _: dict[str, str]) -> tuple[Array, ...]:
    return lu(values[0])


def _geqrf(values: Sequence[Array], _: dict[str, str]) -> tuple[Array, ...]:
    return householder(values[0])


def _orgqr(values: Sequence[Array], _: dict[str, str]) -> tuple[Array, ...]:
    return (householder_product(*values),)


def _ormqr(values: Sequence[Array], options: dict[str, str]) -> tuple[Array, ...]:
    vectors, factors, matrix = values
    rows, count = vectors.shape[-2], factors.shape[-1]
    square = np.zeros((*vectors.shape[:-1], rows), vectors.dtype)
    square[..., :count] = vectors[..., :count]
    product = householder_product(square, factors)
    if options["transpose"] == "true":
        product = np.conj(np.swapaxes(product, -1, -2))
    return (product @ matrix if options["left"] == "true" else matrix @ product,)


def _gesdd(values: Sequence[Array], options: dict[str, str]) -> tuple[Array, ...]:
    (matrix,) = values
    # Mode N leaves the vectors open; they are given all the same.
    left, singular, right = np.linalg.svd(matrix, full_matrices=options["mode"] != "S")
    return matrix, singular, left, right, np.zeros(matrix.shape[:-2], np.int32)


def _syevd(values: Sequence[Array], options: dict[str, str]) -> tuple[Array, ...]:
    (matrix,) = values
    eigenvalues, vectors = np.linalg.eigh(matrix, UPLO="L" if options["uplo"] == "L" else "U")
    return vectors, eigenvalues, np.zeros(matrix.shape[:-2], np.int32)


LAPACK: dict[str, Routine] = {
    "potrf": _potrf,
    "trsm": _trsm,
    "getrf": _getrf,
    "geqrf": _geqrf,
    "orgqr": _orgqr,
    "ungqr": _orgqr,
    "ormqr": _ormqr,
    "unmqr": _ormqr,
    "gesdd": _gesdd,
    "syevd": _syevd,
    "heevd": _syevd,
    **{name: partial(batched, name) for name in ROUTINES},
}
"""LAPACK's routines by their names without the letter of the type."""

SPECTRAL = frozenset(("syevd", "heevd", "gesdd", "gesvd", "gees", "geev"))
"""Routines each of whose results hangs on every element that they read.

Of a matrix with a NaN or an infinity among these all floats are NaN, and the last result says that nothing was found
(`nothing_found`); LAPACK's own steps may then give anything, or not end.  Other routines give what their steps make of
such elements.
"""


def nothing_found(name: str, rows: int) -> int:
    """What a spectral routine says of a matrix of that many rows that is not finite."""
    # LAPACK's word for a NaN in the fourth argument; other routines count the values that they did not find.
    return -4 if name == "gesdd" else rows


def _spectral(name: str, values: Sequence[Array], options: dict[str, str]) -> tuple[Array, ...]:
    """A spectral routine on those matrices that are finite."""
    matrix = _read(values[0], options.get("uplo", ""))
    finite = np.asarray(np.isfinite(matrix).all(axis=(-2, -1)))
    *results, info = LAPACK[name]([np.where(finite[..., None, None], matrix, 0).astype(matrix.dtype)], options)
    spoilt = tuple(
        np.where(finite.reshape(finite.shape + (1,) * (r.ndim - finite.ndim)), r, _NAN[r.dtype.kind])
        if r.dtype.kind in _NAN
        else r
        for r in results
    )
    return *spoilt, np.where(finite, info, nothing_found(name, matrix.shape[-2]))


_NAN = {"f": np.float32(np.nan), "c": np.complex64(complex(np.nan, np.nan))}


def _read(matrix: Array, uplo: str) -> Array:
    """Of a Hermitian matrix the triangle that is given, whose diagonal is real; of any other all."""
    if not uplo:
        return matrix
    triangle = np.tril(matrix, -1) if uplo == "L" else np.triu(matrix, 1)
    return np.asarray(np.where(np.eye(matrix.shape[-1], dtype=np.bool_), matrix.real, triangle))


TARGET = re.compile(r"lapack_[sdcz](\w+)_ffi")
"""The names that JAX calls LAPACK's routines by."""
NOT_BY_COLUMNS = (
    "LAPACK's routines take and give matrices by columns, and the call states other layouts: state those that "
    "JAX does, as f32[2,3]{0,1}, or none"
)
"""What to say of a call that states how its matrices lie in memory, and not as its routine has them."""
_OPTION = re.compile(r"(\w+) = (?:(\d+) : (ui8|i32)|(true|false))")


def options_of(instruction: Instruction) -> dict[str, str]:
    """The attributes of a typed call by name, integers of one byte as the letters that they stand for."""
    text = str(instruction.attributes.get("backend_config", ""))
    return {
        name: truth or (chr(int(code)) if kind == "ui8" else code) for name, code, kind, truth in _OPTION.findall(text)
    }


def computed_options(instruction: Instruction) -> dict[str, str]:
    """The attributes of a routine's call, where singular values alone are asked for those that vectors' shapes fit.

    Vectors that nobody asks for have either shape, as JAX's `full_matrices` says all the same; they are open, so that
    those of a routine that is asked for them are as right as any.
    """
    options, shapes = options_of(instruction), list(leaves(instruction.shape))
    if routine_of(instruction) in _SINGULAR and options.get("mode") == "N" and len(shapes) == _SINGULAR_RESULTS:
        _, values, left, right, _ = shapes
        if left.rank and right.rank > 1 and left.dims[-1:] == right.dims[-2:-1] == values.dims[-1:]:
            return options | {"mode": "S"}
    return options


_SINGULAR, _SINGULAR_RESULTS = ("gesdd", "gesvd"), 5
"""The routines that give singular values, and what they give: the matrix, values, vectors of both sides, success."""


def routine_of(instruction: Instruction) -> str:
    """LAPACK's routine that an instruction calls, without the letter of the type; empty where it calls none."""
    found = (
        TARGET.fullmatch(instruction.attributes["custom_call_target"]) if instruction.opcode == "custom-call" else None
    )
    return found[1] if found else ""


def has_no_elements(instruction: Instruction) -> bool:
    """Whether a routine is called for empty matrices: all that it gives is that it succeeded, or not even that."""
    operands = [operand.array.dims for operand in instruction.operands]
    info = operands[0][:-2] if operands else ()
    return any(0 in dims for dims in operands) and all(
        0 in shape.dims or (shape.element_type is S32 and shape.dims == info) for shape in leaves(instruction.shape)
    )


def _lapack(instruction: Instruction, name: str, values: Sequence[Array]) -> Value:
    if not is_by_columns(instruction):
        raise instruction.unsupported(NOT_BY_COLUMNS, by="the interpreter")
    options = computed_options(instruction)
    types = [operand.array.element_type for operand in instruction.operands]
    if name not in ROUTINES:
        values = [widen(v, kind, precise=True) for v, kind in zip(values, types, strict=True)]
    try:
        if has_no_elements(instruction):
            results = tuple(np.zeros(shape.dims) for shape in leaves(instruction.shape))
        else:
            results = _spectral(name, values, options) if name in SPECTRAL else LAPACK[name](values, options)
        rounded = tuple(_fitted(r, shape) for r, shape in zip(results, leaves(instruction.shape), strict=True))
    except (AttributeError, LookupError, TypeError, ValueError, np.linalg.LinAlgError) as error:
        # No rule says what operands and options a target takes: it is the routine that finds out.
        reason = f"its operands, options or result are not what the routine has ({error})"
        raise instruction.unsupported(reason, by="the interpreter") from error
    return rounded if isinstance(instruction.shape, TupleShape) else rounded[0]


def _sparse_product(instruction: Instruction, values: Sequence[Array]) -> Array:
    kind = instruction.array.element_type
    elements, starts, columns, right = values
    factors = [widen(factor, kind, precise=True) for factor in (elements, right)]
    return narrow(csr.product(factors[0], starts, columns, factors[1]), kind)


def _fitted(value: Array, shape: ArrayShape) -> Array:
    return narrow(value.real if not shape.element_type.is_complex else value, shape.element_type)


def _custom_call(instruction: Instruction, values: Sequence[Any], _: Evaluator) -> Value:
    target: str = instruction.attributes["custom_call_target"]
    if target == "TopK" and len(values) == 1 and isinstance(instruction.shape, TupleShape):
        return _top_k(instruction, values)
    if is_mark(instruction):
        marked: Value = tuple(values) if isinstance(instruction.shape, TupleShape) else values[0]
        return marked
    if csr.is_product(instruction):
        return _sparse_product(instruction, values)
    found = TARGET.fullmatch(target)
    if found is not None and found[1] in LAPACK:
        return _lapack(instruction, found[1], values)
    if meanings.given(instruction):
        return meanings.called(instruction, values)
    raise unknown(instruction, "the interpreter")


def has_meaning(target: str) -> bool:
    """Whether custom calls to a target mean something here, at least with some operands."""
    found = TARGET.fullmatch(target)
    return target in MARKS or target in ("TopK", csr.TARGET) or (found is not None and found[1] in LAPACK)


def unknown(call: Instruction, by: str) -> UnsupportedError:
    """The error to raise where a custom call means nothing."""
    target: str = call.attributes["custom_call_target"]
    return UnsupportedError(f"custom-call to {target!r} ({call.name})", by, _remedy(call))


def _remedy(call: Instruction) -> str:
    """What to do about a call that has no meaning, or whose target has one by another name."""
    target: str = call.attributes["custom_call_target"]
    if not target.endswith("_ffi") and TARGET.fullmatch(f"{target}_ffi"):
        return (
            "under this name old versions of jaxlib passed sizes and flags as operands; "
            f"lower the program with a later one, which calls {target}_ffi"
        )
    if has_meaning(target) and TARGET.fullmatch(target) and not is_by_columns(call):
        return NOT_BY_COLUMNS
    if has_meaning(target):
        return "its operands or results are not those of this target"
    return (
        f"say what it means by --custom-call {target}=module:function, NumPy arrays in and out, "
        "or compiler.register_custom_call"
    )


OPS: dict[str, Op] = {
    "custom-call": Op(
        "custom-call",
        (0, None),
        _infer,
        _custom_call,
        "Code from outside the program, by its name.",
        required=("custom_call_target",),
        optional=(
            "window",
            "dim_labels",
            "feature_group_count",
            "batch_group_count",
            "operand_layout_constraints",
            "custom_call_has_side_effect",
            "to_apply",
            "called_computations",
            "output_to_operand_aliasing",
            "padding_type",
            "literal",
            "operand_precision",
            "schedule",
            "api_version",
        ),
        traits=Trait.SIDE_EFFECT | Trait.STRICT_TYPES | Trait.STATED_SHAPE,
    )
}
