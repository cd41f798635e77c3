"""Ops that are HLO's own, which TensorFlow has no other kernels for: their goldens are those of its XLA.

What is said of devices has no meaning in a program for one: sharding is left out, and bounds of sizes that are known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from compiler.expansion import matrices
from compiler.expansion.expression import Expression, concatenate, element
from compiler.expansion.rotations import eigen, singular
from compiler.ir.attributes import PaddingDimension, WindowDimension
from compiler.ir.shape import ArrayShape, TupleShape
from compiler.ir.types import BF16, S32
from compiler.ops.build import build
from compiler.tf2xla.dimension_numbers import convolution_numbers, dot_numbers, gather_numbers
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.linear import einsum
from compiler.tf2xla.record import Lower, Record, Trait, record, table
from compiler.tf2xla.reducing import in_f32


def made(operation: Operation, opcode: str, *operands: Expression, **attributes: Any) -> Expression:
    """An instruction on arrays.

    Args:
        operation: whose computation gets the instruction.
        opcode: HLO's.
        operands: in order.
        attributes: of the instruction.
    """
    return Expression(build(operation.computation, opcode, [one.instruction for one in operands], **attributes))


def _target(operation: Operation, x: Expression) -> Any:
    has_own = "preferred_element_type" in operation.signature.attributes
    return operation.type("preferred_element_type") if has_own else x.type


def _dot(operation: Operation) -> Expression:
    left, right = operation["lhs"], operation["rhs"]
    target = _target(operation, left)
    return made(operation, "dot", left.to(target), right.to(target), **dot_numbers(operation))


def _convolution(operation: Operation) -> Expression:
    left, right = operation["lhs"], operation["rhs"]
    target = _target(operation, left)
    labels = convolution_numbers(operation)
    count = len(labels.kernel_spatial)
    strides, before, behind = (operation.integers(name) for name in ("window_strides", "lhs_dilation", "rhs_dilation"))
    padding = pairs(operation, "padding", count)
    fits = len(strides) == len(before) == len(behind) == count
    operation.require(fits, lambda: f"strides and dilations must be {count} numbers")
    window = tuple(
        WindowDimension(right.dims[axis], stride, low, high, lhs_dilate=lhs, rhs_dilate=rhs)
        for axis, stride, (low, high), lhs, rhs in zip(
            labels.kernel_spatial, strides, padding, before, behind, strict=True
        )
    )
    groups: dict[str, int] = {"feature_group_count": operation.integers("feature_group_count")[0]}
    if "batch_group_count" in operation.signature.attributes:
        groups["batch_group_count"] = operation.attribute("batch_group_count")
    stated = {name: count for name, count in groups.items() if count != 1}
    return made(operation, "convolution", left.to(target), right.to(target), dim_labels=labels, window=window, **stated)


def pairs(operation: Operation, name: str, count: int) -> list[tuple[int, int]]:
    """Two numbers for each of several dimensions.

    Args:
        operation: the node.
        name: of the input.
        count: dimensions.
    """
    value = operation.value(name)
    operation.require(value.shape == (count, 2), lambda: f"its {name} must have the sizes [{count}, 2]")
    return [(int(low), int(high)) for low, high in value]


def _padded(operation: Operation) -> Expression:
    rows = zip(*(operation.integers(f"padding_{name}") for name in ("low", "high", "interior")), strict=True)
    padding = tuple(PaddingDimension(*row) for row in rows)
    return made(operation, "pad", operation["input"], operation["padding_value"], padding=padding)


def _starts(operation: Operation, x: Expression, name: str) -> list[Expression]:
    starts = operation[name]
    operation.require(starts.dims == (len(x.dims),), f"its {name} must be one number for each dimension")
    return [starts.slice((n, n + 1)).reshape() for n in range(len(x.dims))]


def _sliced(operation: Operation) -> Expression:
    x = operation["input"]
    sizes = operation.integers("size_indices")
    return made(operation, "dynamic-slice", x, *_starts(operation, x, "start_indices"), dynamic_slice_sizes=sizes)


def _updated(operation: Operation) -> Expression:
    x = operation["input"]
    return made(operation, "dynamic-update-slice", x, operation["update"], *_starts(operation, x, "indices"))


def _gathered(operation: Operation) -> Expression:
    stated = gather_numbers(operation, is_scatter=False)
    sizes = operation.integers("slice_sizes")
    return made(operation, "gather", operation["operand"], operation["start_indices"], slice_sizes=sizes, **stated)


def _einsum(operation: Operation) -> Expression:
    return einsum(operation, [operation["a"], operation["b"]])


def _precision(operation: Operation) -> Expression:
    stated = {name: operation.attribute(name) for name in ("exponent_bits", "mantissa_bits")}
    return made(operation, "reduce-precision", operation["operand"], **stated)


def _barrier(operation: Operation) -> list[list[Expression]]:
    return [[made(operation, "opt-barrier", one) for one in operation.list("input")]]


def _replica(operation: Operation) -> Expression:
    return made(operation, "replica-id").to(S32)


def _same(operation: Operation) -> Expression:
    return operation["input"]


def _spread_both(operation: Operation) -> Sequence[Expression]:
    """Of two arrays the one of fewer dimensions has as many as the other: its own where they are named, else ones."""
    left, right, dims = operation["lhs"], operation["rhs"], operation.integers("broadcast_dims")
    if len(left.dims) == len(right.dims):
        operation.require(not dims, "arrays of as many dimensions have none to be spread along")
        return left, right
    less, more = sorted((left, right), key=lambda one: len(one.dims))
    operation.require(len(dims) == len(less.dims), f"{list(dims)} are not the places of {len(less.dims)} dimensions")
    sizes = [1] * len(more.dims)
    for own, at in zip(less.dims, dims, strict=True):
        sizes[operation.axis(at, len(sizes), "broadcast_dims")] = own
    moved = less.spread(sizes, dims)
    return (moved, right) if less is left else (left, moved)


def _random_bits(operation: Operation) -> Sequence[Expression]:
    names = {1: "rng_philox", 2: "rng_three_fry", 3: "rng_default"}
    algorithm, kind = int(operation.value("algorithm")), operation.type("dtype")
    operation.require(algorithm in names, f"algorithm {algorithm} is none of {list(names)}")
    state, dims = operation["initial_state"], operation.integers("shape")
    shape = TupleShape((ArrayShape(state.type, state.dims), ArrayShape(kind, dims)))
    drawn = build(
        operation.computation, "rng-bit-generator", [state.instruction], shape=shape, algorithm=names[algorithm]
    )
    return [Expression(element(drawn, number)) for number in (0, 1)]


class _Matrices(NamedTuple):
    """Matrices in one batch, the sizes of the batch before, and of each."""

    x: Expression
    outer: tuple[int, ...]
    rows: int
    columns: int


def _matrices(operation: Operation) -> _Matrices:
    x = operation["a"]
    fits = len(x.dims) >= 2 and 0 not in x.dims
    operation.require(fits, lambda: f"it takes matrices, not arrays of the sizes {list(x.dims)}")
    outer, (rows, columns) = x.dims[:-2], x.dims[-2:]
    return _Matrices(x.to(in_f32(x.type)).reshape(math.prod(outer), rows, columns), outer, rows, columns)


def _eigen(operation: Operation) -> Sequence[Expression]:
    x, outer, rows, columns = _matrices(operation)
    operation.require(rows == columns, "it takes square matrices")
    vectors, values = eigen(x, lower=operation.attribute("lower"))
    kind = operation["a"].type
    return matrices.alike(values, x).reshape(*outer, rows).to(kind), vectors.reshape(*outer, rows, rows).to(kind)


def _singular(operation: Operation) -> Sequence[Expression]:
    x, outer, rows, columns = _matrices(operation)
    least, kind = min(rows, columns), operation["a"].type
    left, values, right = singular(x, full=True)
    found = matrices.alike(values, x).reshape(*outer, least)
    sides = left.reshape(*outer, rows, rows), matrices.adjoint(right).reshape(*outer, columns, columns)
    return [one.to(kind) for one in (found, *sides)]


def _custom(operation: Operation) -> Expression:
    kind, shape = operation.type("dtype"), operation.attribute("shape").static
    operation.require(shape is not None, "its shape must be known")
    return made(
        operation,
        "custom-call",
        *operation.list("args"),
        shape=ArrayShape(kind, shape),
        custom_call_target=operation.attribute("target_name").decode(),
        backend_config=operation.attribute("backend_config").decode(),
    )


def _custom_all(operation: Operation) -> list[list[Expression]]:
    """As many results as types are stated: one alone, or a tuple's elements."""
    kinds, stated = operation.types("result_dtypes"), operation.attribute("result_shapes")
    same = len(kinds) == len(stated)
    operation.require(same, lambda: f"{len(kinds)} result_dtypes and {len(stated)} result_shapes do not go together")
    dims = [one.static for one in stated]
    shapes = []
    for kind, one in zip(kinds, dims, strict=True):
        operation.require(one is not None, "its result_shapes must be known")
        shapes.append(ArrayShape(kind, one))
    call = made(
        operation,
        "custom-call",
        *operation.list("operands"),
        shape=shapes[0] if len(shapes) == 1 else TupleShape(tuple(shapes)),
        custom_call_target=operation.attribute("call_target_name").decode(),
        backend_config=operation.attribute("backend_config").decode(),
        **({"custom_call_has_side_effect": True} if operation.attribute("has_side_effect") else {}),
    )
    return [[call] if len(shapes) == 1 else [Expression(element(call.instruction, n)) for n in range(len(shapes))]]


def _unpacked(operation: Operation) -> Expression:
    """Four numbers of eight bits in each word, the first in its uppermost, and the floats that they stand for."""
    x = operation["input"]
    operation.require(x.dims, "it takes arrays, not scalars")
    mode = operation.attribute("mode")
    operation.require(mode == b"MIN_COMBINED", f"its mode must be MIN_COMBINED, not {mode!r}")
    low, high = (float(operation.attribute(name)) for name in ("min_range", "max_range"))
    whole = concatenate([(x >> shift & 255).reshape(*x.dims, 1) for shift in (24, 16, 8, 0)], len(x.dims))
    values = whole.reshape(*x.dims[:-1], 4 * x.dims[-1]).to(BF16)
    found = values * ((high - low) / 255) + low
    return found.transpose(*reversed(range(len(x.dims)))) if operation.attribute("transpose_output") else found


def _row(name: str, text: str, lower: Lower, doc: str, *constants: str) -> Record:
    return record(f"Xla{name}", text, lower, doc, constants)


_WORD = "dimension_numbers: string; precision_config: string"
_MIXED = "LhsT: {numbers}; RhsT: {numbers}; preferred_element_type: {numbers}"
_CONVOLVED = ("window_strides", "padding", "lhs_dilation", "rhs_dilation", "feature_group_count")
_WINDOW = ", ".join(f"{name}: Tindices" for name in _CONVOLVED)
_PADDED = ("padding_low", "padding_high", "padding_interior")
_ANY = "input: T -> output: T; T: {any}"
RECORDS = table(
    _row("Dot", f"lhs: T, rhs: T -> output: T; T: {{numbers}}; {_WORD}", _dot, "Sums of products."),
    _row(
        "DotV2", f"lhs: LhsT, rhs: RhsT -> output: preferred_element_type; {_MIXED}; {_WORD}", _dot, "Sums of products."
    ),
    _row(
        "Conv",
        f"lhs: T, rhs: T, {_WINDOW} -> output: T; T: {{numbers}}; Tindices: {{index}}; {_WORD}",
        _convolution,
        "Arrays with filters.",
        *_CONVOLVED,
    ),
    _row(
        "ConvV2",
        f"lhs: LhsT, rhs: RhsT, {_WINDOW} -> output: preferred_element_type; {_MIXED}; Tindices: {{index}}; {_WORD}; "
        "batch_group_count: int = 1",
        _convolution,
        "Arrays with filters.",
        *_CONVOLVED,
    ),
    _row(
        "Pad",
        f"input: T, padding_value: T, {', '.join(f'{name}: Tindices' for name in _PADDED)} -> output: T; T: {{any}}; "
        "Tindices: {index}",
        _padded,
        "A number put around elements, and between them.",
        *_PADDED,
    ),
    _row(
        "DynamicSlice",
        "input: T, start_indices: Tindices, size_indices: Tindices -> output: T; T: {any}; Tindices: {index}",
        _sliced,
        "A part, from a place that is known at run time.",
        "size_indices",
    ),
    _row(
        "DynamicUpdateSlice",
        "input: T, update: T, indices: Tindices -> output: T; T: {any}; Tindices: {index}",
        _updated,
        "An array with a part replaced.",
    ),
    _row(
        "Gather",
        "operand: T, start_indices: Tindices, slice_sizes: Tindices -> output: T; dimension_numbers: string; "
        "indices_are_sorted: bool; T: {numbers bool}; Tindices: {index}",
        _gathered,
        "Slices by places.",
        "slice_sizes",
    ),
    _row(
        "Einsum",
        "a: T, b: T -> product: T; equation: string; T: {bfloat16 complex64 float32}",
        _einsum,
        "A product by letters.",
    ),
    _row(
        "ReducePrecision",
        "operand: T -> output: T; T: {floats}; exponent_bits: int; mantissa_bits: int",
        _precision,
        "Numbers rounded as a type of fewer bits has them.",
    ),
    _row("OptimizationBarrier", "input: T[] -> output: T[]; T: list(type)", _barrier, "What no pass moves across."),
    record("XlaReplicaId", "-> id: int32", _replica, "The number of the replica.", traits=Trait.COLLECTIVE),
    _row("Sharding", f"{_ANY}; sharding: string = ''; unspecified_dims: list(int) = []", _same, "Where an array is."),
    _row(
        "RemoveDynamicDimensionSize",
        "input: T, dim_index: int32 -> output: T; T: {any}",
        _same,
        "An array of sizes that are known.",
        "dim_index",
    ),
    _row("SetBound", "input: int32, bound: int32 -> output: int32", _same, "A size and its bound.", "bound"),
    _row(
        "BroadcastHelper",
        "lhs: T, rhs: T, broadcast_dims: Tindices -> lhs_output: T, rhs_output: T; T: {numbers}; Tindices: {index}",
        _spread_both,
        "Two arrays in as many dimensions.",
        "broadcast_dims",
    ),
    _row(
        "RngBitGenerator",
        "algorithm: int32, initial_state: uint64, shape: Tshape -> output_key: uint64, output: dtype; "
        "dtype: {int32 int64 int8 uint32 uint64 uint8} = uint64; Tshape: {index} = int32",
        _random_bits,
        "Random bits, and the state of the generator after them.",
        "algorithm",
        "shape",
    ),
    _row(
        "SelfAdjointEig",
        "a: T -> w: T, v: T; lower: bool; max_iter: int; epsilon: float; T: {numbers}",
        _eigen,
        "Eigenvalues in ascending order, and eigenvectors.",
    ),
    _row(
        "Svd",
        "a: T -> s: T, u: T, v: T; max_iter: int; epsilon: float; precision_config: string; T: {numbers}",
        _singular,
        "Singular values in descending order, and singular vectors.",
    ),
    _row(
        "CustomCall",
        "args: T[] -> output: dtype; target_name: string; backend_config: string; T: list(type); dtype: {any}; "
        "shape: shape",
        _custom,
        "What a name means elsewhere.",
    ),
    _row(
        "CustomCallV2",
        "operands: operand_dtypes[] -> results: result_dtypes[]; call_target_name: string; backend_config: string; "
        "has_side_effect: bool; operand_dtypes: list(type); result_dtypes: list(type); result_shapes: list(shape)",
        _custom_all,
        "What a name means elsewhere, with several results.",
    ),
    record(
        "XlaDequantize",
        "input: uint32 -> output: bfloat16; min_range: float; max_range: float; mode: string; transpose_output: bool",
        _unpacked,
        "The floats that words of four small numbers stand for.",
        traits=Trait.STATEFUL,
    ),
)
