"""Kernels of TensorArrays and stacks op by op: what they keep lasts for one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compiler.tf import Node
from xlabench.tensorflow import errors
from xlabench.tensorflow.runtime.kernels import Maker, raised, stateless


class TensorArray:
    """Elements by their numbers, None for one that was not written; with those of their gradients by source."""

    def __init__(self, size: int, *, grows: bool = False, adds: bool = False, zero: Any = None) -> None:
        self.elements: list[Any] = [None] * size
        self.grows = grows
        self.adds = adds
        self.zero = zero
        self.gradients: dict[bytes, TensorArray] = {}


_FLOW = np.zeros((), np.float32)


def _array(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    size = int(inputs[0])
    if size < 0:
        raise raised(errors.InvalidArgumentError, node, f"Size should be >= 0, not {size}.")
    kind: Any = node.attributes["dtype"]
    shape: Any = node.attributes.get("element_shape")
    static = None if shape is None else shape.static
    zero = None if static is None else np.zeros(static, kind.element_type.dtype)
    return TensorArray(size, grows=node.attributes.get("dynamic_size") is True, zero=zero), _FLOW


def _for_gradients(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    of, flow = inputs
    source: Any = node.attributes["source"]
    if source not in of.gradients:
        made = of.gradients[source] = TensorArray(len(of.elements), adds=True, zero=of.zero)
        made.elements = [None if one is None else np.zeros_like(one) for one in of.elements]
    return of.gradients[source], flow


def _put(node: Node, array: TensorArray, number: int, value: Any) -> None:
    if array.grows and number >= len(array.elements):
        array.elements += [None] * (number + 1 - len(array.elements))
    if not 0 <= number < len(array.elements):
        said = f"Tried to write to index {number} but array is not resizeable and size is: {len(array.elements)}"
        raise raised(errors.InvalidArgumentError, node, said)
    held = array.elements[number]
    if held is not None and not array.adds:
        said = f"Could not write to TensorArray index {number} because it has already been written to."
        raise raised(errors.InvalidArgumentError, node, said)
    if held is not None and held.shape != value.shape:
        said = f"index {number} has the shape {list(held.shape)}, and is given {list(value.shape)}"
        raise raised(errors.InvalidArgumentError, node, said)
    array.elements[number] = value if held is None else np.asarray(held + value, held.dtype)


def _element(node: Node, array: TensorArray, number: int) -> Any:
    if not 0 <= number < len(array.elements):
        said = f"Tried to read from index {number} but array size is: {len(array.elements)}"
        raise raised(errors.InvalidArgumentError, node, said)
    element = array.elements[number] if array.elements[number] is not None else array.zero
    if element is None:
        said = f"Could not read from TensorArray index {number}: nothing was written there, and its shape is not known"
        raise raised(errors.InvalidArgumentError, node, said)
    return element


def _written(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    array, number, value, flow = inputs
    _put(node, array, int(number), value)
    return (flow,)


def _scattered(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    array, numbers, values, flow = inputs
    if len(numbers) != len(values):
        said = f"Expected len(indices) == values.shape[0], but saw: {len(numbers)} vs. {len(values)}"
        raise raised(errors.InvalidArgumentError, node, said)
    for number, value in zip(numbers, values, strict=True):
        _put(node, array, int(number), np.asarray(value))
    return (flow,)


def _split(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    array, values, lengths, flow = inputs
    if lengths.sum() != len(values):
        said = f"Expected sum of lengths to be equal to values.shape[0], but sum of lengths is {lengths.sum()}"
        raise raised(errors.InvalidArgumentError, node, said)
    for number, piece in enumerate(np.split(values, np.cumsum(lengths)[:-1]) if len(lengths) else ()):
        _put(node, array, number, piece)
    return (flow,)


def _read(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    return (_element(node, inputs[0], int(inputs[1])),)


def _together(node: Node, array: TensorArray, numbers: Sequence[int]) -> Any:
    if len(numbers):
        return np.stack([_element(node, array, int(number)) for number in numbers])
    kind: Any = node.attributes["dtype"]
    return np.zeros((0, *(() if array.zero is None else array.zero.shape)), kind.element_type.dtype)


def _gathered(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    return (_together(node, inputs[0], inputs[1]),)


def _joined(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    pieces = [_element(node, inputs[0], number) for number in range(len(inputs[0].elements))]
    lengths = np.array([len(one) for one in pieces], np.int64)
    return np.concatenate(pieces) if pieces else _together(node, inputs[0], ()), lengths


def _size(_node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    return (np.int32(len(inputs[0].elements)).reshape(()),)


def _nothing(_node: Node, _inputs: Sequence[Any]) -> Sequence[Any]:
    return ()


class Stack:
    """What was pushed, with a number that it must not exceed; a negative one is none."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.items: list[Any] = []


def _stack(_node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    return (Stack(int(inputs[0])),)


def _pushed(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    stack, item = inputs
    if len(stack.items) == stack.most:
        raise raised(errors.InvalidArgumentError, node, f"Stack overflowed its max_size ({stack.most})")
    stack.items.append(item)
    return (item,)


def _popped(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    if not inputs[0].items:
        raise raised(errors.InvalidArgumentError, node, "Stack is empty when calling Pop().")
    return (inputs[0].items.pop(),)


STORES: Mapping[str, Maker] = {
    name: stateless(function)
    for name, function in {
        "TensorArrayV3": _array,
        "TensorArrayGradV3": _for_gradients,
        "TensorArrayWriteV3": _written,
        "TensorArrayReadV3": _read,
        "TensorArrayGatherV3": _gathered,
        "TensorArrayScatterV3": _scattered,
        "TensorArrayConcatV3": _joined,
        "TensorArraySplitV3": _split,
        "TensorArraySizeV3": _size,
        "TensorArrayCloseV3": _nothing,
        "StackV2": _stack,
        "StackPushV2": _pushed,
        "StackPopV2": _popped,
        "StackCloseV2": _nothing,
    }.items()
}
"""Ops by name."""
