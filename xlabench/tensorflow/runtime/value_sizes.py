"""Kernels of ops whose results have sizes that follow from values: no program has such sizes, so a host runs these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.tf import Node, first_seen
from xlabench.tensorflow import errors
from xlabench.tensorflow.runtime.kernels import Kernel, Maker, raised, stateless
from xlabench.tensorflow.runtime.programs import LoweredKernel
from xlabench.tensorflow.runtime.resources import Resources


def _index_type(node: Node) -> Any:
    kind: Any = node.attributes.get("out_idx")
    return np.int32 if kind is None else kind.element_type.dtype


def _where(_node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    return (np.argwhere(inputs[0]).astype(np.int64),)


def _unique(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    x = inputs[0]
    axes = np.asarray(inputs[1]).reshape(-1) if len(inputs) > 1 else np.array([], np.int64)
    if len(axes) > 1:
        raise raised(errors.InvalidArgumentError, node, "axis does not support input tensors larger than 1 elements")
    if not len(axes) and x.ndim != 1:
        raise raised(errors.InvalidArgumentError, node, f"unique expects a 1D vector, and not {x.ndim} dimensions.")
    axis = int(axes[0]) if len(axes) else 0
    if not -x.ndim <= axis < x.ndim:
        raise raised(errors.InvalidArgumentError, node, f"axis has to be between [0, {x.ndim})")
    first, number = first_seen(x, axis)
    return np.take(x, first, axis), number.astype(_index_type(node))


def _difference(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    x, y = inputs
    for name, one in (("x", x), ("y", y)):
        if one.ndim != 1:
            raise raised(errors.InvalidArgumentError, node, f"{name} should be a 1D vector.")
    positions = np.flatnonzero(~np.isin(x, y))
    return x[positions], positions.astype(_index_type(node))


def _parted(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    data, numbers = inputs
    count: Any = node.attributes["num_partitions"]
    if data.shape[: numbers.ndim] != numbers.shape:
        said = f"data.shape must start with partitions.shape, got {list(data.shape)}, {list(numbers.shape)}"
        raise raised(errors.InvalidArgumentError, node, said)
    wrong = numbers[(numbers < 0) | (numbers >= count)]
    if wrong.size:
        said = f"partitions has a value that is not in [0, {count}): {wrong.reshape(-1)[0]}"
        raise raised(errors.InvalidArgumentError, node, said)
    return [np.ascontiguousarray(data[numbers == one]) for one in range(count)]


def _boxes(node: Node, resources: Resources) -> Kernel:
    """The padded op, and as many of its numbers as there are."""
    is_padded = node.attributes.get("pad_to_max_output_size", False)
    padded = replace(node, op=_PADDED, attributes={**node.attributes, "pad_to_max_output_size": True})
    chosen = LoweredKernel(padded, "reference", resources)

    def kernel(inputs: Sequence[Any]) -> Sequence[Any]:
        numbers, count = chosen(inputs)
        kept = numbers if is_padded else numbers[: int(count)]
        return (kept, count) if node.op == _PADDED else (kept,)

    return kernel


_PADDED = "NonMaxSuppressionV4"
VALUE_SIZES: Mapping[str, Maker] = {
    "Where": stateless(_where),
    "Unique": stateless(_unique),
    "UniqueV2": stateless(_unique),
    "ListDiff": stateless(_difference),
    "DynamicPartition": stateless(_parted),
    "NonMaxSuppressionV3": _boxes,
    _PADDED: _boxes,
}
"""Ops by name."""
