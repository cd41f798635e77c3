"""Ops whose results have sizes that follow from values: in a program, whose sizes are fixed, these must be known.

XLA compiles them with sizes up to a bound, which of these only `XlaSetDynamicDimensionSize` has here; what a host runs
op by op is free of this.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.expansion.expression import Expression, with_size
from compiler.graph import PartialShape
from compiler.ir.types import S32, S64
from compiler.tf2xla.distinct import first_seen
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.indexing import gathered
from compiler.tf2xla.record import Lower, Record, Shapes, Trait, record, sized, table, with_shapes
from compiler.tf2xla.terms import Built

Array = NDArray[Any]
_REASON = (
    "the sizes of its results depend on the values of its inputs: let these be constants, or run the "
    "graph on arrays that are given before it is lowered (`xlabench run GRAPH --inputs FILE.npz`)"
)


def _known(operation: Operation, name: str) -> Array:
    value = operation.library.value(operation[name])
    if value is None:
        raise operation.unsupported(_REASON)
    return value


def _where(operation: Operation) -> Expression:
    return operation.constant(np.argwhere(_known(operation, "input")), S64)


def _unique(operation: Operation) -> list[Expression]:
    x = _known(operation, "x")
    axes = operation.integers("axis") if len(operation.signature.inputs) > 1 else ()
    operation.require(len(axes) <= 1 and (axes or x.ndim == 1), "it takes a vector, or one axis")
    axis = operation.axis(axes[0], x.ndim) if axes else 0
    first, number = first_seen(x, axis)
    kind = operation.type("out_idx")
    values = operation.constant(np.take(x, first, axis), operation["x"].type)
    return [values, operation.constant(number.astype(kind.dtype), kind)]


def _difference(operation: Operation) -> list[Expression]:
    """Those of x that y has not, and where they stand."""
    x, y = operation.value("x"), operation.value("y")
    operation.require(x.ndim == y.ndim == 1, "it takes vectors")
    positions = np.flatnonzero(~np.isin(x, y))
    kind = operation.type("out_idx")
    return [
        operation.constant(x[positions], operation["x"].type),
        operation.constant(positions.astype(kind.dtype), kind),
    ]


def _parted(operation: Operation) -> list[list[Expression]]:
    """The rows of each number."""
    data, numbers = operation["data"], operation.value("partitions")
    rank, count = numbers.ndim, operation.attribute("num_partitions")
    fits = data.dims[:rank] == numbers.shape
    operation.require(fits, lambda: f"{list(numbers.shape)} do not number the rows of {list(data.dims)}")
    operation.require(((numbers >= 0) & (numbers < count)).all(), f"a number is not below {count}")
    rows = data.reshape(numbers.size, *data.dims[rank:])
    found = []
    for number in range(count):
        positions = np.flatnonzero(numbers.reshape(-1) == number).astype(np.int32)
        if positions.size:
            found.append(gathered(operation, rows, operation.constant(positions, S32), 0, 0))
        else:
            found.append(operation.full(0, data.type, (0, *rows.dims[1:])))
    return [found]


def _with_size(operation: Operation) -> Expression:
    x, size = operation["input"], operation["size"]
    operation.require(not size.dims, "its size must be a scalar")
    return with_size(x, operation.axis(operation.integer("dim_index"), len(x.dims), "dim_index"), size)


def _of_rank(node: Built) -> list[PartialShape]:
    dims = node.takes["input"][0].shape.dims
    return [PartialShape(None if dims is None else (None,) * len(dims))]


_OUT = "out_idx: {index} = int32"


_VECTOR = PartialShape((None,))


def _where_shapes(node: Built) -> list[PartialShape]:
    dims = node.takes["input"][0].shape.dims
    return [PartialShape((None, None if dims is None else len(dims)))]


def _unique_shapes(node: Built) -> list[PartialShape]:
    x = node.takes["x"][0].shape
    return [_VECTOR, x if x.dims is not None and len(x.dims) == 1 else _VECTOR]


def _sliced_shapes(node: Built) -> list[PartialShape]:
    dims = node.takes["x"][0].shape.dims
    return [PartialShape(None if dims is None else (None,) * len(dims)), _VECTOR]


def _parted_shapes(node: Built) -> list[PartialShape]:
    data, numbers = (node.takes[name][0].shape.dims for name in ("data", "partitions"))
    known = None if data is None or numbers is None else (None, *data[len(numbers) :])
    count: Any = node.attribute("num_partitions")
    return [PartialShape(known)] * count


def _of_host(name: str, text: str, lower: Lower, doc: str, shapes: Shapes, constants: tuple[str, ...]) -> Record:
    """What a host runs where the values are not known: of its sizes little can be told before."""
    return with_shapes(record(name, text, lower, doc, constants, Trait.HOST), shapes)


RECORDS = table(
    *sized(
        with_shapes(
            record(
                "XlaSetDynamicDimensionSize",
                "input: T, dim_index: int32, size: int32 -> output: T; T: {any}",
                _with_size,
                "An array that ends after so many elements of a dimension.",
                constants=("dim_index",),
            ),
            _of_rank,
        )
    ),
    _of_host(
        "Where",
        "input: T -> index: int64; T: {numbers bool} = bool",
        _where,
        "Where it is true.",
        _where_shapes,
        ("input",),
    ),
    _of_host(
        "Unique",
        f"x: T -> y: T, idx: out_idx; T: {{any}}; {_OUT}",
        _unique,
        "Its elements once.",
        _unique_shapes,
        ("x",),
    ),
    _of_host(
        "UniqueV2",
        f"x: T, axis: Taxis -> y: T, idx: out_idx; T: {{any}}; Taxis: {{index}} = int64; {_OUT}",
        _unique,
        "Its slices along an axis once.",
        _sliced_shapes,
        ("x", "axis"),
    ),
    with_shapes(
        record(
            "ListDiff",
            f"x: T, y: T -> out: T, idx: out_idx; T: {{any}}; {_OUT}",
            _difference,
            "The elements that another has not.",
            constants=("x", "y"),
        ),
        lambda _: [_VECTOR, _VECTOR],
    ),
    with_shapes(
        record(
            "DynamicPartition",
            "data: T, partitions: int32 -> outputs: num_partitions*T; num_partitions: int; T: {any}",
            _parted,
            "Rows by their numbers.",
            constants=("partitions",),
        ),
        _parted_shapes,
    ),
)
