"""Products of vectors, systems of three diagonals, sums in logarithms, sparse arrays, and names of dimensions.

What kernels refuse when they run, such as a place twice in a sparse array, compiled code cannot: the last counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from compiler.expansion.elimination import tridiagonal_solve
from compiler.expansion.expression import Expression, concatenate
from compiler.expansion.matrices import conjugate
from compiler.ir.types import F32
from compiler.ops.build import build
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.indexing import gathered
from compiler.tf2xla.ops.reductions import moved
from compiler.tf2xla.ops.shapes import sizes
from compiler.tf2xla.record import Record, record, table
from compiler.tf2xla.reducing import in_f32
from compiler.tf2xla.scattering import scattered


def _cross(operation: Operation) -> Expression:
    a, b = operation["a"], operation["b"]
    fits = a.dims == b.dims and a.dims[-1:] == (3,)
    operation.require(fits, lambda: f"it takes vectors of 3 elements, not {list(a.dims)} and {list(b.dims)}")
    outer = [(0, size) for size in a.dims[:-1]]
    (a0, a1, a2), (b0, b1, b2) = ([one.slice(*outer, (n, n + 1)) for n in range(3)] for one in (a, b))
    return concatenate([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], len(a.dims) - 1)


def _log_sums(operation: Operation) -> Expression:
    """The logarithm of the sum of e^x so far, by arrays moved by 1, 2, 4, ... elements."""
    x = operation["x"]
    axis = operation.integer("axis")
    at = operation.axis(axis, len(x.dims))
    is_back = operation.attribute("reverse")
    wide = x.to(in_f32(x.type))
    if operation.attribute("exclusive"):
        wide = moved(wide, at, 1, -math.inf, is_back=is_back)
    by = 1
    while by < x.dims[at]:
        wide = _log_sum(wide, moved(wide, at, by, -math.inf, is_back=is_back))
        by *= 2
    return wide.to(x.type)


def _log_sum(x: Expression, y: Expression) -> Expression:
    greater, less = x.apply("maximum", y), x.apply("minimum", y)
    sum_ = greater + (less - greater).apply("exponential").apply("log-plus-one")
    return less.compare("EQ", -math.inf).where(greater, sum_)


def _diagonals_times(operation: Operation) -> Expression:
    """Three diagonals, as rows, times columns; the first of the lower and the last of the upper are not looked at."""
    x = operation["rhs"]
    names = ("superdiag", "maindiag", "subdiag")
    wanted = (*x.dims[:-2], 1, x.dims[-2] if len(x.dims) > 1 else 0)
    for name in names:
        fits = len(x.dims) >= 2 and operation[name].dims == wanted
        operation.require(fits, lambda: f"its {name} must have the sizes {list(wanted)}")  # noqa: B023  # called at once
    axis = len(x.dims) - 2
    upper, middle, lower = (operation[name].reshape(*x.dims[:-1]).spread(x.dims, range(axis + 1)) for name in names)
    return upper * moved(x, axis, 1, 0, is_back=True) + middle * x + lower * moved(x, axis, 1, 0, is_back=False)


def _diagonals_solved(operation: Operation) -> Expression:
    diagonals, x = operation["diagonals"], operation["rhs"]
    fits = len(x.dims) >= 2 and diagonals.dims == (*x.dims[:-2], 3, x.dims[-2])
    operation.require(fits, lambda: f"{list(diagonals.dims)} are no three diagonals for {list(x.dims)}")
    if operation.attribute("perturb_singular"):
        raise operation.unsupported("no kernel for CPUs changes equations that have no solution")
    if 0 in x.dims:
        return x
    batch, size = math.prod(x.dims[:-2]), x.dims[-2]
    rows = diagonals.reshape(batch, 3, size)
    upper, middle, lower = (rows.slice((0, batch), (n, n + 1), (0, size)).reshape(batch, size) for n in range(3))
    return tridiagonal_solve(lower, middle, upper, x.reshape(batch, size, x.dims[-1]))[3].reshape(*x.dims)


def _dense(operation: Operation) -> Expression:
    values, indices = operation["sparse_values"], operation["sparse_indices"]
    dims = sizes(operation, "output_shape")
    default = operation["default_value"]
    operation.require(not default.dims, "its default_value must be a scalar")
    indices = indices.reshape(1, 1) if not indices.dims else indices
    indices = indices.reshape(*indices.dims, 1) if len(indices.dims) == 1 else indices
    fits = len(indices.dims) == 2 and indices.dims[1] == len(dims) and values.dims in ((), indices.dims[:1])
    operation.require(fits, lambda: f"places of {list(indices.dims)} are none in {list(dims)}")
    values = values.spread(indices.dims[:1], ()) if not values.dims else values
    return scattered(default.spread(dims, ()), indices, values, None)


def _sparse_product(operation: Operation) -> Expression:
    """A product of matrices, whether elements are 0 or not, in f32."""
    a, b = operation["a"].to(F32), operation["b"].to(F32)
    operation.require(len(a.dims) == len(b.dims) == 2, "it takes matrices")
    inner = [int(operation.attribute("transpose_a") is False), int(operation.attribute("transpose_b"))]
    fits = a.dims[inner[0]] == b.dims[inner[1]]
    operation.require(fits, lambda: f"matrices of {list(a.dims)} and {list(b.dims)} do not go together")
    contracted: dict[str, Any] = {"lhs_contracting_dims": (inner[0],), "rhs_contracting_dims": (inner[1],)}
    return Expression(build(operation.computation, "dot", [a.instruction, b.instruction], **contracted))


def _dense_product(operation: Operation) -> Expression:
    """Rows of b, each times an element of a, added up by the element's row; short floats are added in f32."""
    indices, values, b = operation["a_indices"], operation["a_values"], operation["b"]
    fits = indices.dims == (*values.dims, 2) and len(values.dims) == 1 and len(b.dims) == 2
    operation.require(fits, lambda: f"places of {list(indices.dims)} are none of {list(values.dims)} in a matrix")
    dims, kind = operation.integers("a_shape"), in_f32(values.type)
    operation.require(len(dims) == 2, lambda: f"its a_shape must be 2 numbers, not {len(dims)}")
    rows, columns = (indices.slice((0, indices.dims[0]), (n, n + 1)) for n in (0, 1))
    values, b = values.to(kind), b.to(kind)
    if operation.attribute("adjoint_a"):
        rows, columns, dims, values = columns, rows, dims[::-1], conjugate(values)
    if operation.attribute("adjoint_b"):
        b = conjugate(b.transpose(1, 0))
    operation.require(b.dims[0] == dims[1], lambda: f"{list(dims)} and {list(b.dims)} do not go together")
    taken = gathered(operation, b, columns.reshape(*values.dims), 0, 0)
    found = scattered(
        operation.full(0, kind, (dims[0], b.dims[1])), rows, taken * values.spread(taken.dims, [0]), "add"
    )
    return found.to(operation.type("T"))


def _formats(operation: Operation) -> tuple[str, str]:
    source, target = (operation.attribute(f"{name}_format").decode() for name in ("src", "dst"))
    fits = sorted(source) == sorted(target) and len(set(source)) == len(source) > 0
    operation.require(fits, f"{source!r} and {target!r} are not the same dimensions")
    return source, target


def _dimension_at(operation: Operation) -> Expression:
    """Of dimensions by their numbers in one format those in another; negative ones count from the back."""
    x, (source, target) = operation["x"], _formats(operation)
    rank = len(source)
    wrapped = x.compare("LT", 0).where(x + rank, x)
    found = x.literal(0).spread(x.dims, ())
    for number, letter in enumerate(source):
        found = wrapped.compare("EQ", number).where(x.literal(target.index(letter)), found)
    return found


def _rows_at(operation: Operation) -> Expression:
    """A row for each dimension, or for those of space, in the order of another format."""
    x, (source, target) = operation["x"], _formats(operation)
    count = x.dims[0] if x.dims else 0
    if count == len(source) - 2:
        source, target = ("".join(one for one in text if one not in "NC") for text in (source, target))
    fits = len(x.dims) in (1, 2) and count == len(source)
    operation.require(fits, lambda: f"{list(x.dims)} are not rows for the dimensions {source!r}")
    kept = [(0, size) for size in x.dims[1:]]
    return concatenate([x.slice((n, n + 1), *kept) for n in map(source.index, target)], 0)


_FORMATS = "x: T -> y: T; T: {index} = int32; src_format: string = 'NHWC'; dst_format: string = 'NCHW'"


def _format(name: str, lower: Callable[[Operation], Expression], doc: str) -> Record:
    return record(name, _FORMATS, lower, doc)


_LONG = "complexes float32 float64"
RECORDS = table(
    record("Cross", "a: T, b: T -> product: T; T: {reals}", _cross, "The cross product of vectors."),
    record(
        "CumulativeLogsumexp",
        "x: T, axis: Tidx -> out: T; exclusive: bool = false; reverse: bool = false; T: {floats}; "
        "Tidx: {index} = int32",
        _log_sums,
        "The logarithm of the sum of e^x so far.",
        constants=("axis",),
    ),
    record(
        "TridiagonalMatMul",
        f"superdiag: T, maindiag: T, subdiag: T, rhs: T -> output: T; T: {{{_LONG}}}",
        _diagonals_times,
        "A matrix of three diagonals times another.",
    ),
    record(
        "TridiagonalSolve",
        "diagonals: T, rhs: T -> output: T; partial_pivoting: bool = true; perturb_singular: bool = false; "
        f"T: {{{_LONG}}}",
        _diagonals_solved,
        "The solution of equations of three diagonals.",
    ),
    record(
        "SparseToDense",
        "sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, default_value: T -> dense: T; "
        "validate_indices: bool = true; T: {any}; Tindices: {index}",
        _dense,
        "One number everywhere but at places.",
        constants=("output_shape",),
    ),
    record(
        "SparseTensorDenseMatMul",
        "a_indices: Tindices, a_values: T, a_shape: int64, b: T -> product: T; T: type; "
        "Tindices: {index} = int64; adjoint_a: bool = false; adjoint_b: bool = false",
        _dense_product,
        "A matrix of which most elements are 0, times another.",
        constants=("a_shape",),
    ),
    record(
        "SparseMatMul",
        "a: Ta, b: Tb -> product: float32; transpose_a: bool = false; transpose_b: bool = false; "
        "a_is_sparse: bool = false; b_is_sparse: bool = false; Ta: {bfloat16 float32} = float32; "
        "Tb: {bfloat16 float32} = float32",
        _sparse_product,
        "A product of matrices of which many elements are 0.",
    ),
    _format("DataFormatDimMap", _dimension_at, "Dimensions of one format in another."),
    _format("DataFormatVecPermute", _rows_at, "Rows for dimensions, in the order of another format."),
)
