"""Lists of tensors, which gradients of loops keep what each iteration began with in.

A list has a greatest length, which is known, and elements of one type and sizes; where nobody says these sizes, the
first element that is put in does.  Only `EmptyTensorList` may say how many there may be; any other list grows with what
is added, and is one shorter without its last, as long as it is known to be full.  Elements that are lists themselves,
or optionals, as gradients of loops in loops keep them, are rows of as many arrays as one of them is made of.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from compiler.expansion.expression import Expression
from compiler.graph import BY_NAME
from compiler.ir.types import S32, S64
from compiler.ops.build import build
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.indexing import gathered
from compiler.tf2xla.record import Lower, Record, Trait, record, table
from compiler.tf2xla.scattering import scattered
from compiler.tf2xla.values import TensorList, Value, arrays_in, checked_same, common_kind, rebuilt, same_each

_MOST = 1 << 24
"""Tensors of a list: 16 million; each has room for all of its elements."""
_SMALL = 64  # elements of an element that is kept in mind


def _sizes(operation: Operation, name: str = "element_shape") -> tuple[int, ...] | None:
    """The sizes of an element where all are said."""
    value = operation.value(name)
    if value.ndim == 0 or (value < 0).any():
        return None
    return tuple(int(one) for one in value)


def _made(operation: Operation, most: int, count: int, *, grows: bool = False) -> TensorList:
    operation.require(0 <= most <= _MOST, f"a list of {most} tensors has no meaning")
    if operation.node.attributes.get("element_dtype") == BY_NAME["variant"]:
        return TensorList(S32, most, None, operation.number(count, S32), grows, is_nested=True)
    element_type, dims = operation.type("element_dtype"), _sizes(operation)
    buffer = None if dims is None else operation.full(0, element_type, (most, *dims))
    return TensorList(element_type, most, buffer, operation.number(count, S32), grows)


def _empty(operation: Operation) -> TensorList:
    most = int(operation.value("max_num_elements"))
    return replace(_made(operation, max(most, 0), 0, grows=most < 0), is_full=most < 0, each=())


def _reserved(operation: Operation) -> TensorList:
    count = operation.integer("num_elements")
    return replace(_made(operation, count, count, grows=True), is_full=True)


def _require_arrays(operation: Operation, given: TensorList) -> None:
    if given.is_nested:
        raise operation.unsupported("elements of its list are lists: keep what is in them in lists of their own")


def _buffer(operation: Operation, given: TensorList, dims: tuple[int, ...]) -> Expression:
    """The rows of a list, made where its first element says what it is."""
    _require_arrays(operation, given)
    if given.buffer is None:
        return operation.full(0, given.type, (given.most, *dims))
    own = given.buffer.dims[1:]
    operation.require(own == dims, f"its list has elements of the sizes {list(own)}, not {list(dims)}")
    return given.buffer


def _filled(operation: Operation, given: TensorList) -> Expression:
    _require_arrays(operation, given)
    if given.buffer is None:
        raise operation.invalid("its list is empty, and nobody says of which sizes its elements are")
    return given.buffer


def grown(given: TensorList, more: int) -> TensorList:
    """A list with room for more."""
    joined = []
    for one in given.held:
        room = one.literal(0).spread((more, *one.dims[1:]), ())
        operands = [one.instruction, room.instruction]
        joined.append(Expression(build(room.instruction.computation, "concatenate", operands, dimensions=(0,))))
    return replace(given.holding(joined), most=given.most + more)


def put_at(buffer: Expression, item: Expression, at: Expression) -> Expression:
    """Rows with another one at a number.

    Args:
        buffer: the rows.
        item: one of them.
        at: its number.
    """
    if not buffer.dims[0]:
        return buffer  # nobody puts anything into a list that has no room
    starts = [at, *[at.literal(0)] * len(item.dims)]
    operands = [one.instruction for one in (buffer, item.reshape(1, *item.dims), *starts)]
    return Expression(build(buffer.instruction.computation, "dynamic-update-slice", operands))


def taken_at(buffer: Expression, at: Expression) -> Expression:
    """The row of a number."""
    dims = buffer.dims[1:]
    if not buffer.dims[0]:
        return buffer.literal(0).spread(dims, ())
    operands = [buffer.instruction, at.instruction, *[at.literal(0).instruction] * len(dims)]
    computation = buffer.instruction.computation
    row = build(computation, "dynamic-slice", operands, dynamic_slice_sizes=(1, *dims))
    return Expression(row).reshape(*dims)


def _pushed(operation: Operation) -> TensorList:
    given = operation.tensor_list("input_handle")
    given = grown(given, 1) if given.grows else given
    if given.is_nested:
        return _pushed_whole(operation, given)
    item = operation["tensor"]
    buffer = _buffer(operation, given, item.dims)
    value = operation.library.value(item)
    each = None if value is None or value.size > _SMALL else same_each(given.each, (value,))
    is_full = given.grows and given.is_full
    return replace(given, buffer=put_at(buffer, item, given.count), count=given.count + 1, is_full=is_full, each=each)


def _pushed_whole(operation: Operation, given: TensorList) -> TensorList:
    """A list of lists with one more: a row more in each of the arrays that an element is made of."""
    [item] = operation.items("tensor")
    arrays = arrays_in(item)
    if given.element is None:
        given = given.holding([operation.full(0, one.type, (given.most, *one.dims)) for one in arrays])
    else:
        same = checked_same([given.element], [item])
        operation.require(same, "what is put into its list is not made of the same arrays as what is in it")
    rows = [put_at(held, one, given.count) for held, one in zip(given.held, arrays, strict=True)]
    kept = replace(given.holding(rows), element=common_kind(given.element or item, item), count=given.count + 1)
    return replace(kept, is_full=given.grows and given.is_full, each=None)


def _popped_whole(operation: Operation, given: TensorList) -> list[Value]:
    """A list of lists without the last, and the last."""
    if given.element is None:
        raise operation.invalid("its list is empty, and nobody says what its elements are")
    left = given.count - 1
    item = rebuilt(given.element, iter([taken_at(one, left) for one in given.held]))
    if not (given.grows and given.is_full and given.most):
        return [replace(given, count=left, is_full=False), item]
    kept = [one.slice((0, given.most - 1), *((0, size) for size in one.dims[1:])) for one in given.held]
    return [replace(given.holding(kept), most=given.most - 1, count=left), item]


def _popped(operation: Operation) -> list[Value]:
    given = operation.tensor_list("input_handle")
    if given.is_nested:
        return _popped_whole(operation, given)
    left = given.count - 1
    buffer = _filled(operation, given)
    item = operation.constant(given.each[0], given.type) if given.each else taken_at(buffer, left)
    if given.grows and given.is_full and given.most:
        kept = buffer.slice((0, given.most - 1), *((0, size) for size in buffer.dims[1:]))
        return [replace(given, most=given.most - 1, buffer=kept, count=left), item]
    return [replace(given, buffer=buffer, count=left, is_full=False), item]


def _got(operation: Operation) -> Expression:
    return taken_at(_filled(operation, operation.tensor_list("input_handle")), operation["index"])


def _set(operation: Operation) -> TensorList:
    given, item = operation.tensor_list("input_handle"), operation["item"]
    if operation.attribute("resize_if_index_out_of_bounds"):
        given = _long_enough(operation, given)
    buffer = _buffer(operation, given, item.dims)
    return replace(given, buffer=put_at(buffer, item, operation["index"]), each=None)


def _long_enough(operation: Operation, given: TensorList) -> TensorList:
    """A list that becomes as long as the number of an element asks for, which must be known if there is no room yet."""
    known = operation.library.value(operation["index"])
    if known is None:
        if not given.most:
            raise operation.unsupported("its list becomes as long as values say: let it begin with a size")
        return given
    more = int(known) + 1 - given.most
    if more <= 0:
        return given
    longer = grown(given, more)
    return replace(longer, count=operation.number(longer.most, S32))


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
    most = tensor.dims[0]
    return TensorList(tensor.type, most, tensor, operation.number(most, S32), grows=True, is_full=True)


def _length(operation: Operation) -> Expression:
    given = operation.tensor_list("input_handle")
    return operation.number(given.most, S32) if given.is_full else given.count


def _element_shape(operation: Operation) -> Expression:
    """The sizes of its elements; those of a list into which nothing was put, and which says nothing, are a scalar's."""
    buffer = operation.tensor_list("input_handle").buffer
    element_type = operation.type("shape_type")
    if buffer is None:
        return operation.constant(np.array(-1, element_type.dtype), element_type)
    return operation.constant(np.array(buffer.dims[1:], element_type.dtype), element_type)


def _gathered(operation: Operation) -> Expression:
    buffer, indices = _filled(operation, operation.tensor_list("input_handle")), operation["indices"]
    return gathered(operation, buffer, indices, 0, 0)


def _put_in(operation: Operation) -> TensorList:
    """Rows in place of others; a host would make a list longer for a number that it has not."""
    given, rows, numbers = operation.tensor_list("input_handle"), operation["tensor"], operation["indices"]
    _check_numbers(operation, rows, numbers)
    known = operation.library.value(numbers)
    fits = known is None or known.size == 0 or int(known.max()) < given.most
    operation.require(fits, lambda: f"its list has {given.most} elements, and no number {known.max()}")  # type: ignore[union-attr]  # known
    buffer = _buffer(operation, given, rows.dims[1:])
    return replace(given, buffer=scattered(buffer, numbers.reshape(*numbers.dims, 1), rows, None), each=None)


def _of_rows(operation: Operation) -> TensorList:
    """A list of rows under their numbers, as long as it is said, or as the greatest number asks for."""
    rows, numbers = operation["tensor"], operation["indices"]
    _check_numbers(operation, rows, numbers)
    most = operation.integer("num_elements")
    if most == -1:
        most = max(operation.integers("indices"), default=-1) + 1
    made = _made(operation, most, most, grows=True)
    buffer = _buffer(operation, made, rows.dims[1:])
    after = scattered(buffer, numbers.reshape(*numbers.dims, 1), rows, None)
    return replace(made, buffer=after, is_full=True)


def _check_numbers(operation: Operation, rows: Expression, numbers: Expression) -> None:
    fits = len(numbers.dims) == 1 and rows.dims[:1] == numbers.dims
    operation.require(fits, lambda: f"{list(numbers.dims)} do not number the rows of {list(rows.dims)}")


def _joined(operation: Operation) -> list[Expression]:
    """All elements along their first dimension, and how many rows each has."""
    buffer = _filled(operation, operation.tensor_list("input_handle"))
    operation.require(len(buffer.dims) > 1, "the elements of its list are scalars, which cannot be joined")
    count, rows, *rest = buffer.dims
    return [buffer.reshape(count * rows, *rest), operation.full(rows, S64, (count,))]


def _split(operation: Operation) -> TensorList:
    """A list of parts of an array, which must have one size, as all elements have."""
    tensor, lengths = operation["tensor"], operation.integers("lengths")
    operation.require(tensor.dims and sum(lengths) == tensor.dims[0], lambda: f"its parts are {list(lengths)} rows")
    if len(set(lengths)) != 1:
        raise operation.unsupported(f"elements of a list have the same sizes, not {list(lengths)} rows")
    count = len(lengths)
    return TensorList(
        tensor.type,
        count,
        tensor.reshape(count, lengths[0], *tensor.dims[1:]),
        operation.number(count, S32),
        grows=True,
        is_full=True,
    )


def _list(name: str, text: str, lower: Lower, doc: str, constants: tuple[str, ...] = ()) -> Record:
    traits = Trait.ASKS_SHAPE if name in ("Length", "ElementShape") else Trait.NONE
    return record(f"TensorList{name}", text, lower, doc, constants, traits)


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
    _list(
        "Split",
        f"tensor: element_dtype, {_SHAPED}, lengths: int64 -> output_handle: variant; {_KIND}; {_SHAPE}",
        _split,
        "A list of parts.",
        ("lengths",),
    ),
    _list("Length", f"{_HANDLE} -> length: int32", _length, "How many there are."),
    _list(
        "ElementShape",
        f"{_HANDLE} -> element_shape: shape_type; {_SHAPE}",
        _element_shape,
        "The sizes of its elements.",
    ),
    _list(
        "Gather",
        f"{_HANDLE}, indices: int32, element_shape: int32 -> values: element_dtype; {_KIND}",
        _gathered,
        "Elements of given numbers along a new dimension.",
    ),
    _list(
        "ScatterIntoExistingList",
        f"{_HANDLE}, tensor: element_dtype, indices: int32 -> output_handle: variant; {_KIND}",
        _put_in,
        "The list with other rows under their numbers.",
    ),
    _list(
        "ScatterV2",
        f"tensor: element_dtype, indices: int32, {_SHAPED}, num_elements: int32 -> output_handle: variant; "
        f"{_KIND}; {_SHAPE}",
        _of_rows,
        "A list of rows under their numbers.",
        ("element_shape", "num_elements"),
    ),
    _list(
        "ConcatV2",
        f"{_HANDLE}, {_SHAPED}, leading_dims: int64 -> tensor: element_dtype, lengths: int64; {_KIND}; {_SHAPE}",
        _joined,
        "All elements along their first dimension.",
    ),
)
