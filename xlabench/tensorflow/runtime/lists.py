"""Kernels of lists of tensors op by op: a list is a tuple, and another one after every change."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from compiler.tf import BY_NAME, Node
from xlabench.tensorflow import errors
from xlabench.tensorflow.runtime.kernels import Maker, raised, stateless

_KIND = "element_dtype"
_VARIANT = BY_NAME["variant"]


class Items(NamedTuple):
    """A list: its elements, None for one that nobody has set, and the sizes of these."""

    elements: tuple[Any, ...]
    dims: tuple[int, ...] | None


def _dims(value: Any) -> tuple[int, ...] | None:
    sizes = np.asarray(value)
    return None if not sizes.ndim or (sizes < 0).any() else tuple(int(one) for one in sizes)


def _empty(_node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    return (Items((), _dims(inputs[0])),)


def _reserved(_node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    return (Items((None,) * int(inputs[1]), _dims(inputs[0])),)


def _pushed(_node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    return (Items((*inputs[0].elements, inputs[1]), inputs[0].dims),)


def _popped(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    given = inputs[0]
    if not given.elements:
        raise raised(errors.InvalidArgumentError, node, "Trying to pop from an empty list.")
    return Items(given.elements[:-1], given.dims), _element(node, given, len(given.elements) - 1)


def _element(node: Node, given: Items, number: int) -> Any:
    if not 0 <= number < len(given.elements):
        said = f"Trying to access element {number} in a list with {len(given.elements)} elements."
        raise raised(errors.InvalidArgumentError, node, said)
    element = given.elements[number]
    if element is not None:
        return element
    kind: Any = node.attributes[_KIND]
    shapes = (one.shape for one in given.elements if one is not None)
    dims = given.dims if given.dims is not None else next(shapes, None)
    if dims is None:
        raise raised(errors.InvalidArgumentError, node, "nobody says of which sizes the elements of its list are")
    return np.zeros(dims, kind.element_type.dtype)


def _got(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    return (_element(node, inputs[0], int(inputs[1])),)


def _set(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    given, number = inputs[0], int(inputs[1])
    if node.attributes.get("resize_if_index_out_of_bounds"):
        given = Items((*given.elements, *[None] * (number + 1 - len(given.elements))), given.dims)
    if not 0 <= number < len(given.elements):
        said = f"Trying to modify element {number} in a list with {len(given.elements)} elements."
        raise raised(errors.InvalidArgumentError, node, said)
    return (Items((*given.elements[:number], inputs[2], *given.elements[number + 1 :]), given.dims),)


def _stacked(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    return (_together(node, inputs[0], range(len(inputs[0].elements))),)


def _gathered(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    return (_together(node, inputs[0], inputs[1]),)


def _together(node: Node, given: Items, numbers: Sequence[int]) -> Any:
    if len(numbers):
        return np.stack([_element(node, given, int(number)) for number in numbers])
    kind: Any = node.attributes[_KIND]
    return np.zeros((0, *(given.dims or ())), kind.element_type.dtype)


def _joined(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    given = inputs[0]
    elements = [_element(node, given, number) for number in range(len(given.elements))]
    kind: Any = node.attributes[_KIND]
    elements = elements or [np.zeros((0, *(given.dims or ())[1:]), kind.element_type.dtype)]
    return np.concatenate(elements), np.array([len(one) for one in elements[: len(given.elements)]], np.int64)


def _element_shape(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    """Those that the list says, or that an element has; where neither is, a scalar that says so."""
    dims = inputs[0].dims
    shapes = (one.shape for one in inputs[0].elements if one is not None)
    kind: Any = node.attributes["shape_type"]
    return (np.array(dims if dims is not None else next(shapes, -1), kind.element_type.dtype),)


def _unstacked(_node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    return (Items(tuple(inputs[0]), inputs[0].shape[1:]),)


def _split(_node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    """Pieces of so many rows each."""
    ends = np.cumsum(inputs[2])
    return (Items(tuple(np.split(inputs[0], ends[:-1])) if len(ends) else (), _dims(inputs[1])),)


def _put_in(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    """Rows in place of others; of a number that a list has not it becomes as long as it must."""
    given, rows, numbers = inputs
    return (Items(_with_rows(node, given.elements, rows, numbers), given.dims),)


def _of_rows(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    rows, numbers, dims, count = inputs
    return (Items(_with_rows(node, (None,) * max(int(count), 0), rows, numbers), _dims(dims)),)


def _with_rows(node: Node, elements: tuple[Any, ...], rows: Any, numbers: Any) -> tuple[Any, ...]:
    if len(rows) != len(numbers) or min(numbers, default=0) < 0:
        said = f"Invalid number of rows in input tensor: {len(rows)} rows for the indices {list(numbers)}"
        raise raised(errors.InvalidArgumentError, node, said)
    found = [*elements, *[None] * (max(numbers, default=-1) + 1 - len(elements))]
    for number, row in zip(numbers, rows, strict=True):
        found[number] = row
    return tuple(found)


def _length(_node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    return (np.int32(len(inputs[0].elements)).reshape(()),)


def _zeros(_node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    given = inputs[0]
    return (Items(tuple(None if one is None else np.zeros_like(one) for one in given.elements), given.dims),)


def _sum(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    """Element by element; what nobody has set adds nothing."""
    lengths = [len(one.elements) for one in inputs]
    if len(set(lengths)) > 1:
        raise raised(errors.InvalidArgumentError, node, f"Trying to add lists of different lengths: {lengths}")
    dims = next((one.dims for one in inputs if one.dims is not None), None)
    return (Items(tuple(map(_added, zip(*(one.elements for one in inputs), strict=True))), dims),)


def _added(values: Iterable[Any]) -> Any:
    return functools.reduce(lambda a, b: b if a is None else a if b is None else np.asarray(a + b), values)


def maker_for(node: Node) -> Maker | None:
    """How the kernel of an op on lists is made; None of any other op."""
    return LISTS.get(node.op) or (_OF_ANY.get(node.op) if node.attributes.get("T") == _VARIANT else None)


LISTS: Mapping[str, Maker] = {
    name: stateless(function)
    for name, function in {
        "EmptyTensorList": _empty,
        "TensorListReserve": _reserved,
        "TensorListPushBack": _pushed,
        "TensorListPopBack": _popped,
        "TensorListGetItem": _got,
        "TensorListSetItem": _set,
        "TensorListStack": _stacked,
        "TensorListFromTensor": _unstacked,
        "TensorListSplit": _split,
        "TensorListLength": _length,
        "TensorListElementShape": _element_shape,
        "TensorListGather": _gathered,
        "TensorListConcatV2": _joined,
        "TensorListScatterIntoExistingList": _put_in,
        "TensorListScatterV2": _of_rows,
    }.items()
}
"""Ops on lists of tensors."""
_OF_ANY: Mapping[str, Maker] = {"ZerosLike": stateless(_zeros), "AddN": stateless(_sum)}
"""Ops on arrays that take lists as well: gradients of loops begin with zeros, and are sums."""
