"""Lists of tensors, which gradients of loops keep what each iteration began with in.

A list has a greatest length, which is known, and elements of one type and sizes; where nobody says these sizes, the
first element that is put in does.
"""

from __future__ import annotations

from compiler.expansion.expression import Expression
from compiler.ir.types import S32
from compiler.ops.build import build
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import Lower, Record, record, table
from compiler.tf2xla.values import TensorList

_MOST = 1 << 24


def _sizes(operation: Operation, name: str = "element_shape") -> tuple[int, ...] | None:
    """The sizes of an element where all are said."""
    value = operation.value(name)
    if value.ndim == 0 or (value < 0).any():
        return None
    return tuple(int(one) for one in value)


def _made(operation: Operation, most: int, count: int) -> TensorList:
    operation.require(0 <= most <= _MOST, f"a list of {most} tensors has no meaning")
    element_type, dims = operation.type("element_dtype"), _sizes(operation)
    buffer = None if dims is None else operation.full(0, element_type, (most, *dims))
    return TensorList(element_type, most, buffer, operation.number(count, S32))


def _empty(operation: Operation) -> TensorList:
    most = int(operation.value("max_num_elements"))
    if most < 0:
        raise operation.unsupported("a list must have a greatest length: set the max number of elements")
    return _made(operation, most, 0)


def _reserved(operation: Operation) -> TensorList:
    [count] = operation.integers("num_elements")
    return _made(operation, count, count)


def _buffer(operation: Operation, given: TensorList, dims: tuple[int, ...]) -> Expression:
    """The rows of a list, made where its first element says what it is."""
    if given.buffer is None:
        return operation.full(0, given.type, (given.most, *dims))
    own = given.buffer.dims[1:]
    operation.require(own == dims, f"its list has elements of the sizes {list(own)}, not {list(dims)}")
    return given.buffer


def _filled(operation: Operation, given: TensorList) -> Expression:
    if given.buffer is None:
        raise operation.invalid("its list is empty, and nobody says of which sizes its elements are")
    return given.buffer


def _put(buffer: Expression, item: Expression, at: Expression) -> Expression:
    if not buffer.dims[0]:
        return buffer  # nobody puts anything into a list that has no room
    starts = [at, *[at.literal(0)] * len(item.dims)]
    operands = [one.instruction for one in (buffer, item.reshape(1, *item.dims), *starts)]
    return Expression(build(buffer.instruction.computation, "dynamic-update-slice", operands))


def _taken(buffer: Expression, at: Expression) -> Expression:
    dims = buffer.dims[1:]
    if not buffer.dims[0]:
        return buffer.literal(0).spread(dims, ())
    operands = [buffer.instruction, at.instruction, *[at.literal(0).instruction] * len(dims)]
    computation = buffer.instruction.computation
    row = build(computation, "dynamic-slice", operands, dynamic_slice_sizes=(1, *dims))
    return Expression(row).reshape(*dims)


def _pushed(operation: Operation) -> TensorList:
    given, item = operation.tensor_list("input_handle"), operation["tensor"]
    buffer = _buffer(operation, given, item.dims)
    return TensorList(given.type, given.most, _put(buffer, item, given.count), given.count + 1)


def _popped(operation: Operation) -> list[Expression | TensorList]:
    given = operation.tensor_list("input_handle")
    left = given.count - 1
    buffer = _filled(operation, given)
    return [TensorList(given.type, given.most, buffer, left), _taken(buffer, left)]


def _got(operation: Operation) -> Expression:
    return _taken(_filled(operation, operation.tensor_list("input_handle")), operation["index"])


def _set(operation: Operation) -> TensorList:
    given, item = operation.tensor_list("input_handle"), operation["item"]
    buffer = _buffer(operation, given, item.dims)
    return TensorList(given.type, given.most, _put(buffer, item, operation["index"]), given.count)


def _stacked(operation: Operation) -> Expression:
    """All rows: as many as there may be, since sizes must be known."""
    buffer = _filled(operation, operation.tensor_list("input_handle"))
    wanted = operation.attribute("num_elements")
    fits = wanted in (-1, buffer.dims[0])
    operation.require(fits, lambda: f"its list has {buffer.dims[0]} elements, not {wanted}")
    return buffer


def _unstacked(operation: Operation) -> TensorList:
    tensor = operation["tensor"]
    operation.require(tensor.dims, "it takes rows, not a scalar")
    return TensorList(tensor.type, tensor.dims[0], tensor, operation.number(tensor.dims[0], S32))


def _length(operation: Operation) -> Expression:
    return operation.tensor_list("input_handle").count


def _list(name: str, text: str, lower: Lower, doc: str, constants: tuple[str, ...] = ()) -> Record:
    return record(f"TensorList{name}", text, lower, doc, constants)


_HANDLE = "input_handle: variant"
_KIND = "element_dtype: {any}"
_SHAPED = "element_shape: shape_type"
_SHAPE = "shape_type: {index}"
RECORDS = table(
    record(
        "EmptyTensorList",
        f"{_SHAPED}, max_num_elements: int32 -> handle: variant; {_KIND}; {_SHAPE}",
        _empty,
        "A list of nothing.",
        constants=("element_shape", "max_num_elements"),
    ),
    _list(
        "Reserve",
        f"{_SHAPED}, num_elements: int32 -> handle: variant; {_KIND}; {_SHAPE}",
        _reserved,
        "A list of zeros.",
        ("element_shape", "num_elements"),
    ),
    _list("PushBack", f"{_HANDLE}, tensor: element_dtype -> output_handle: variant; {_KIND}", _pushed, "One more."),
    _list(
        "PopBack",
        f"{_HANDLE}, element_shape: int32 -> output_handle: variant, tensor: element_dtype; {_KIND}",
        _popped,
        "The list without the last, and the last.",
    ),
    _list(
        "GetItem",
        f"{_HANDLE}, index: int32, element_shape: Tshape -> item: element_dtype; {_KIND}; Tshape: {{index}} = int32",
        _got,
        "The element of a number.",
    ),
    _list(
        "SetItem",
        f"{_HANDLE}, index: int32, item: element_dtype -> output_handle: variant; {_KIND}; "
        "resize_if_index_out_of_bounds: bool = false",
        _set,
        "The list with another element.",
    ),
    _list(
        "Stack",
        f"{_HANDLE}, element_shape: int32 -> tensor: element_dtype; {_KIND}; num_elements: int = -1",
        _stacked,
        "All elements along a new dimension.",
    ),
    _list(
        "FromTensor",
        f"tensor: element_dtype, {_SHAPED} -> output_handle: variant; {_KIND}; {_SHAPE}",
        _unstacked,
        "A list of rows.",
    ),
    _list("Length", f"{_HANDLE} -> length: int32", _length, "How many there are."),
)
