"""TensorArrays, which loops of TensorFlow 1 keep what their iterations give in.

What one holds is an array with one more dimension, under a name of its own among variables, so that it passes through
branches and loops as they do.  The number that says in which order ops have their turn, the flow, is handed on as it
is.  What is put into a TensorArray of gradients is added to what is there, since a program may read an element twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.expansion.expression import Expression
from compiler.graph import PartialShape
from compiler.ir.types import F32, S32, S64
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.indexing import gathered
from compiler.tf2xla.ops.lists import put_at, taken_at
from compiler.tf2xla.record import Lower, Record, Trait, record, table, with_shapes
from compiler.tf2xla.scattering import scattered
from compiler.tf2xla.terms import UNKNOWN, Built
from compiler.tf2xla.values import Store, Value

_MOST = 1 << 24
"""Elements of a TensorArray: 16 million."""


def _made(operation: Operation) -> list[Value]:
    size = operation.integer("size")
    operation.require(0 <= size <= _MOST, f"a TensorArray of {size} elements has no meaning")
    if operation.attribute("dynamic_size"):
        raise operation.unsupported("it grows (dynamic_size), and sizes must be known: give its size")
    element_type, variables = operation.type("dtype"), operation.library.variables
    made = Store(variables.fresh(operation.node.name), element_type, size=size)
    dims = operation.attribute("element_shape").static
    if dims is not None:
        variables.begin(made.name, operation.full(0, element_type, (size, *dims)))
    return [made, operation.number(0, F32)]


def _made_for_gradients(operation: Operation) -> list[Value]:
    """The same for the same source, wherever it is asked for."""
    of, variables = operation.store("handle"), operation.library.variables
    source = operation.attribute("source").decode()
    made = replace(of, name=f"{of.name}/{source}", adds=True)
    held = variables.shape(of.name)
    if variables.shape(made.name) is None and held is not None:
        variables.begin(made.name, operation.full(0, held.element_type, held.dims))
    return [made, operation["flow_in"]]


def _held(operation: Operation, dims: Sequence[int] | None = None) -> Expression:
    """What a TensorArray holds; where its first write says what its elements are, zeros of these sizes."""
    store, variables = operation.store("handle"), operation.library.variables
    if variables.shape(store.name) is None:
        if dims is None:
            raise operation.invalid("nothing was written to its TensorArray, and nobody says of which sizes that is")
        assert store.type is not None
        variables.begin(store.name, operation.full(0, store.type, (store.size, *dims)))
    held = variables.read(store.name)
    if dims is not None:
        same = held.dims[1:] == tuple(dims)
        operation.require(same, lambda: f"its TensorArray has elements of {list(held.dims[1:])}, not {list(dims)}")
    return held


def _kept(operation: Operation, after: Expression) -> Expression:
    """Let a TensorArray hold other elements; gives the flow."""
    operation.library.variables.write(operation.store("handle").name, after)
    return operation["flow_in"]


def _checked(operation: Operation, values: Expression) -> tuple[Expression, bool]:
    """What a TensorArray holds to which values are written, and whether they are added."""
    store = operation.store("handle")
    operation.require(values.type is store.type, lambda: f"its TensorArray is of {store.type}, not {values.type}")
    return _held(operation, values.dims[1:]), store.adds


def _written(operation: Operation) -> Expression:
    index, value = operation["index"], operation["value"]
    operation.require(not index.dims, "its index must be a scalar")
    held, adds = _checked(operation, value.reshape(1, *value.dims))
    return _kept(operation, put_at(held, taken_at(held, index) + value if adds else value, index))


def _scattered(operation: Operation) -> Expression:
    indices, values = operation["indices"], operation["value"]
    fits = len(indices.dims) == 1 and values.dims[:1] == indices.dims
    operation.require(fits, lambda: f"{list(indices.dims)} do not number the rows of {list(values.dims)}")
    held, adds = _checked(operation, values)
    return _kept(operation, scattered(held, indices.reshape(*indices.dims, 1), values, "add" if adds else None))


def _split(operation: Operation) -> Expression:
    """Pieces of so many rows, which must be alike, as all elements are."""
    values, lengths, size = operation["value"], operation.integers("lengths"), operation.store("handle").size
    operation.require(values.dims and sum(lengths) == values.dims[0], lambda: f"its pieces are {list(lengths)} rows")
    operation.require(len(lengths) == size, lambda: f"its TensorArray has {size} elements, not {len(lengths)}")
    if len(set(lengths)) > 1:
        raise operation.unsupported(f"elements of a TensorArray have the same sizes, not {list(lengths)} rows")
    rows = values.reshape(size, lengths[0] if lengths else 0, *values.dims[1:])
    held, adds = _checked(operation, rows)
    return _kept(operation, held + rows if adds else rows)


def _elements(operation: Operation) -> Expression:
    """All elements, of the type that a reader says."""
    stated = operation.attribute("element_shape").static if "element_shape" in operation.signature.attributes else None
    held, wanted = _held(operation, stated), operation.type("dtype")
    operation.require(held.type is wanted, lambda: f"its TensorArray is of {held.type}, not {wanted}")
    return held


def _read(operation: Operation) -> Expression:
    operation.require(not operation["index"].dims, "its index must be a scalar")
    return taken_at(_elements(operation), operation["index"])


def _gathered(operation: Operation) -> Expression:
    return gathered(operation, _elements(operation), operation["indices"], 0, 0)


def _joined(operation: Operation) -> list[Expression]:
    """All elements along their first dimension, and how many rows each has."""
    held = _elements(operation)
    operation.require(len(held.dims) > 1, "the elements of its TensorArray are scalars, which cannot be joined")
    count, rows, *rest = held.dims
    return [held.reshape(count * rows, *rest), operation.full(rows, S64, (count,))]


def _size(operation: Operation) -> Expression:
    return operation.number(operation.store("handle").size, S32)


def _closed(operation: Operation) -> None:
    operation.store("handle")


_FLOW = PartialShape(())
_SHAPES = {"flow": _FLOW, "flow_out": _FLOW, "handle": _FLOW, "grad_handle": _FLOW, "size": _FLOW}


def _row(name: str, text: str, lower: Lower, doc: str, constants: tuple[str, ...] = ()) -> Record:
    """One op; sizes of elements are known to programs only."""
    row = record(f"TensorArray{name}V3", text, lower, doc, constants, Trait.STATEFUL)

    def shapes(_node: Built) -> list[PartialShape]:
        return [_SHAPES.get(port.name, UNKNOWN) for port in row.signature.outputs]

    return with_shapes(row, shapes)


_HANDLE, _IN, _OUT = "handle: resource", "flow_in: float32", "flow_out: float32"
_TYPE = "dtype: type"
RECORDS = table(
    _row(
        "",
        f"size: int32 -> {_HANDLE}, flow: float32; {_TYPE}; element_shape: shape = unknown; "
        "dynamic_size: bool = false; clear_after_read: bool = true; identical_element_shapes: bool = false; "
        "tensor_array_name: string = ''",
        _made,
        "A TensorArray.",
        ("size",),
    ),
    _row(
        "Grad",
        f"{_HANDLE}, {_IN} -> grad_handle: resource, {_OUT}; source: string",
        _made_for_gradients,
        "Another one for the gradients of its elements, the same for the same source.",
    ),
    _row("Write", f"{_HANDLE}, index: int32, value: T, {_IN} -> {_OUT}; T: {{any}}", _written, "One element put in."),
    _row("Read", f"{_HANDLE}, index: int32, {_IN} -> value: dtype; {_TYPE}", _read, "The element of a number."),
    _row(
        "Gather",
        f"{_HANDLE}, indices: int32, {_IN} -> value: dtype; {_TYPE}; element_shape: shape = unknown",
        _gathered,
        "Elements of given numbers along a new dimension.",
    ),
    _row(
        "Scatter",
        f"{_HANDLE}, indices: int32, value: T, {_IN} -> {_OUT}; T: {{any}}",
        _scattered,
        "Rows put in under their numbers.",
    ),
    _row(
        "Concat",
        f"{_HANDLE}, {_IN} -> value: dtype, lengths: int64; {_TYPE}; element_shape_except0: shape = unknown",
        _joined,
        "All elements along their first dimension.",
    ),
    _row(
        "Split",
        f"{_HANDLE}, value: T, lengths: int64, {_IN} -> {_OUT}; T: {{any}}",
        _split,
        "Pieces put in one after another.",
        ("lengths",),
    ),
    _row("Size", f"{_HANDLE}, {_IN} -> size: int32", _size, "How many elements there are."),
    _row("Close", f"{_HANDLE} ->", _closed, "Nothing: what it held is gone after the run."),
)
