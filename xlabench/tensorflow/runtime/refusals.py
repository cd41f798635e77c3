"""Values that TensorFlow's kernels on CPUs refuse, in its words, where a formula computes something of any.

Compiled code cannot refuse: XLA moves an index that is out of range to the nearest, leaves an update out, and gives
some number for a division by zero.  So clusters and the devices XLA_CPU, XLA_GPU and GPU do it like that, as in
TensorFlow, and what runs op by op on the host is looked at before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from compiler.tf import Node
from xlabench.tensorflow import errors
from xlabench.tensorflow.runtime.kernels import Kernel, raised
from xlabench.tensorflow.runtime.resources import Variable

Refusal = Callable[[Node, Sequence[Any]], str]
"""What is wrong about the inputs of a node; empty where nothing is."""


def refusing(node: Node, kernel: Kernel) -> Kernel:
    """A kernel that refuses what TensorFlow's does on CPUs; itself where that refuses no values."""
    refusal = REFUSALS.get(node.op)
    if refusal is None:
        return kernel

    def checked(inputs: Sequence[Any]) -> Sequence[Any]:
        said = refusal(node, inputs)
        if said:
            raise raised(_KINDS.get(node.op, errors.InvalidArgumentError), node, said)
        return kernel(inputs)

    return checked


def _array(value: Any) -> Any:
    """An array, or what a variable holds; without a value it has no rows, and reading it says why."""
    return value.value if isinstance(value, Variable) else value


def _first(is_wrong: Any) -> tuple[int, ...] | None:
    """Where the first of some truths is."""
    if not is_wrong.any():
        return None
    return tuple(int(one) for one in np.unravel_index(int(np.argmax(is_wrong)), is_wrong.shape))


def _at(location: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, location))}]" if location else ""


def _sizes(dims: Sequence[int]) -> str:
    return f"[{','.join(map(str, dims))}]"


def _rows(indices: Any, count: int) -> str:
    found = _first((indices < 0) | (indices >= count))
    return "" if found is None else f"indices{_at(found)} = {indices[found]} is not in [0, {count})"


def _gather(_node: Node, inputs: Sequence[Any]) -> str:
    params, indices = (_array(one) for one in inputs[:2])
    axis = int(inputs[2]) if len(inputs) > 2 else 0
    return _rows(indices, params.shape[axis]) if params is not None and -params.ndim <= axis < params.ndim else ""


def _resource_gather(node: Node, inputs: Sequence[Any]) -> str:
    params, indices = (_array(one) for one in inputs)
    batch: Any = node.attributes.get("batch_dims", 0)
    return "" if params is None or params.ndim <= batch else _rows(indices, params.shape[batch])


def _updated_rows(_node: Node, inputs: Sequence[Any]) -> str:
    variable = _array(inputs[0])
    return "" if variable is None or not variable.ndim else _rows(inputs[1], variable.shape[0])


def _coordinates(node: Node, indices: Any, dims: Sequence[int], what: str) -> str:
    """What is wrong about rows of coordinates, each of which names an element or a slice of an array."""
    count = indices.shape[-1] if indices.ndim else 0
    policy = node.attributes.get("bad_indices_policy", b"")
    if not count or count > len(dims) or policy == b"IGNORE":
        return ""
    found = _first(((indices < 0) | (indices >= np.asarray(dims[:count]))).any(axis=-1))
    if found is None:
        return ""
    row = ", ".join(str(one) for one in indices[found])
    return f"indices{_at(found)} = [{row}] does not index into {what}shape {_sizes(dims)}"


def _gather_nd(node: Node, inputs: Sequence[Any]) -> str:
    params, indices = (_array(one) for one in inputs)
    said = "" if params is None else _coordinates(node, indices, params.shape, "param ")
    return f"{said}, node name: {node.name}" if said else ""


def _scatter_nd(node: Node, inputs: Sequence[Any]) -> str:
    indices, _, dims = inputs
    return _coordinates(node, indices, [int(one) for one in dims], "") if dims.ndim == 1 else ""


def _updated_at(node: Node, inputs: Sequence[Any]) -> str:
    changed = _array(inputs[0])
    return "" if changed is None else _coordinates(node, inputs[1], changed.shape, "")


def _segments(_node: Node, inputs: Sequence[Any]) -> str:
    numbers, count = inputs[1], int(inputs[2])
    found = _first(numbers >= count)  # rows of negative numbers are left out
    return "" if found is None else f"segment_ids{_at(found)} = {numbers[found]} is out of range [0, {count})"


def _sparse_segments(_node: Node, inputs: Sequence[Any]) -> str:
    rows, indices = inputs[:2]
    found = _first((indices < 0) | (indices >= rows.shape[0])) if rows.ndim else None
    return "" if found is None else f"Bad: indices{_at(found)} == {indices[found]} out of range [0, {rows.shape[0]})"


def _division(_node: Node, inputs: Sequence[Any]) -> str:
    x, y = inputs
    is_refused = y.dtype.kind in "iu" and x.size and bool((y == 0).any())
    return "Integer division by zero" if is_refused else ""


def _unexpected_division(node: Node, inputs: Sequence[Any]) -> str:
    said = "Unexpected error in binary operator (only integer div and mod should have errors)"
    return said if _division(node, inputs) else ""


def _permutation(_node: Node, inputs: Sequence[Any]) -> str:
    [order] = inputs
    found = _first((order < 0) | (order >= order.size))
    if found is not None:
        return f"{order[found]} is not between 0 and {order.size}"
    _, first = np.unique(order, return_index=True)
    again = np.setdiff1d(np.arange(order.size), first)
    return f"{order[again[0]]} is duplicated in the input." if again.size else ""


def _lengths(node: Node, inputs: Sequence[Any]) -> str:
    values, lengths = inputs
    dimension: Any = node.attributes["seq_dim"]
    if dimension >= values.ndim:
        return ""
    for number, length in enumerate(lengths.reshape(-1)):
        if length < 0:
            return f"seq_lens({number}) < 0"
        if length > values.shape[dimension]:
            return f"seq_lens({number}) > input.dims({dimension})"
    return ""


def _counted(_node: Node, inputs: Sequence[Any]) -> str:
    return "Input arr must be non-negative!" if (inputs[0] < 0).any() else ""


def _slice(_node: Node, inputs: Sequence[Any]) -> str:
    values, begins, sizes = inputs
    if not begins.shape == sizes.shape == (values.ndim,):
        return ""
    for number, (begin, size, whole) in enumerate(zip(begins, sizes, values.shape, strict=True)):
        if not 0 <= begin <= whole:
            return f"Expected begin[{number}] in [0, {whole}], but got {begin}"
        if size != -1 and not 0 <= size <= whole - begin:
            return f"Expected size[{number}] in [0, {whole - begin}], but got {size}"
    return ""


def _classes(_node: Node, inputs: Sequence[Any]) -> str:
    logits, labels = inputs
    count = logits.shape[-1] if logits.ndim else 0
    wrong = labels[(labels < 0) | (labels >= count)]
    if not wrong.size:
        return ""
    said = f"Received a label value of {_farthest(wrong)} which is outside the valid range of [0, {count})."
    return f"{said}  Label values: {' '.join(str(one) for one in labels)}"


def _farthest(labels: Any) -> Any:
    """The label that the message names: the least if it is negative, else the greatest."""
    return labels.min() if labels.min() < 0 else labels.max()


_ROWS = ["Add", "Sub", "Mul", "Div", "Min", "Max", "Update"]
_SLICES = ["Add", "Sub", "Min", "Max", "Update"]
REFUSALS: Mapping[str, Refusal] = {
    **dict.fromkeys(("Gather", "GatherV2"), _gather),
    "ResourceGather": _resource_gather,
    **dict.fromkeys(("GatherNd", "ResourceGatherNd"), _gather_nd),
    **{f"{kind}Scatter{name}": _updated_rows for kind in ("", "Resource") for name in _ROWS},
    "ScatterNd": _scatter_nd,
    **{
        f"{kind}{name}": _updated_at for kind in ("TensorScatter", "ScatterNd", "ResourceScatterNd") for name in _SLICES
    },
    **{f"UnsortedSegment{name}": _segments for name in ("Sum", "Prod", "Max", "Min")},
    **{f"SparseSegment{name}": _sparse_segments for name in ("Sum", "Mean", "SqrtN")},
    **dict.fromkeys(("Div", "FloorDiv", "FloorMod", "Mod"), _division),
    **dict.fromkeys(("TruncateDiv", "TruncateMod"), _unexpected_division),
    "InvertPermutation": _permutation,
    "ReverseSequence": _lengths,
    **dict.fromkeys(("Bincount", "DenseBincount"), _counted),
    "Slice": _slice,
    "SparseSoftmaxCrossEntropyWithLogits": _classes,
}
"""What is looked at, by op (TensorFlow 2.21, core/kernels)."""
_KINDS: dict[str, type[errors.OpError]] = dict.fromkeys(("TruncateDiv", "TruncateMod"), errors.InternalError)
