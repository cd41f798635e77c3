"""Counts, orders and masks of elements: functions that are several ops."""

from __future__ import annotations

from typing import Any

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.dtypes import as_dtype
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.arrays import shape, transpose
from xlabench.tensorflow.ops.math import REDUCTIONS, cast, one_of, range_


def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = "bool", name: str | None = None) -> Tensor:
    """For each of `lengths` a row that is true (1) in as many elements, then false.

    Args:
        lengths: whole numbers.
        maxlen: the length of rows, None for the greatest of `lengths`.
        dtype: the type of elements.
        name: of the scope of the nodes.
    """
    with get_default_graph().name_scope(name or "SequenceMask"):
        each = convert_to_tensor(lengths)
        count = REDUCTIONS["reduce_max"](each) if maxlen is None else convert_to_tensor(maxlen)
        numbers = range_(convert_to_tensor(0, count.dtype), count, convert_to_tensor(1, count.dtype))
        ends = cast(output_of("ExpandDims", each, -1), count.dtype)
        return cast(numbers < ends, as_dtype(dtype))


def count_nonzero(
    input_tensor: Any = None,
    axis: Any = None,
    keepdims: bool | None = None,
    dtype: Any = "int64",
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
    input: Any = None,
) -> Tensor:
    """How many elements are not 0.

    Args:
        input_tensor: numbers or booleans.
        axis: the dimensions along which is counted, None for all.
        keepdims: whether these are left with size 1.
        dtype: the type of counts.
        name: of the scope of the nodes.
        reduction_indices: the older name of `axis`.
        keep_dims: the older name of `keepdims`.
        input: the newer name of `input_tensor`.
    """
    axis = one_of(axis, reduction_indices, ("axis", "reduction_indices"))
    is_kept = bool(one_of(keepdims, keep_dims, ("keepdims", "keep_dims")) or False)
    with get_default_graph().name_scope(name or "count_nonzero"):
        value = convert_to_tensor(input if input_tensor is None else input_tensor, name="input")
        differs = output_of("NotEqual", value, output_of("ZerosLike", value))
        return cast(REDUCTIONS["reduce_sum"](cast(differs, "int64"), axis, is_kept), dtype)


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: Any = "int32",
    name: str | None = None,
    weights: Any = None,
) -> Tensor:
    """How often each class (a row) was taken for each (a column).

    Args:
        labels: what is right.
        predictions: what was said.
        num_classes: how many classes there are, None for one more than the greatest number.
        dtype: the type of counts.
        name: of the scope of the nodes.
        weights: how often each counts, None for once.
    """
    with get_default_graph().name_scope(name or "confusion_matrix"):
        right, said = (cast(convert_to_tensor(one), "int64") for one in (labels, predictions))
        if num_classes is None:
            greatest = apply("Maximum", [REDUCTIONS["reduce_max"](one) for one in (said, right)], {}).outputs[0]
            num_classes = greatest + convert_to_tensor(1, "int64")
        count = cast(num_classes, "int64")
        sizes = cast(output_of("Pack", [count, count]), "int64")
        pairs = output_of("Pack", [right, said], axis=1)
        ones = output_of("OnesLike", said)
        given = cast(ones if weights is None else weights, dtype)
        return output_of("ScatterNd", pairs, given, sizes)


def bincount(
    arr: Any, weights: Any = None, minlength: Any = None, maxlength: Any = None, dtype: Any = "int32"
) -> Tensor:
    """How often each number from 0 is in `arr`.

    Args:
        arr: whole numbers, none of them negative.
        weights: how often each counts, None for once.
        minlength: how many numbers are counted at least.
        maxlength: how many are counted at most.
        dtype: the type of counts, where there are no weights.
    """
    with get_default_graph().name_scope("bincount"):
        value = cast(convert_to_tensor(arr, name="arr"), "int32")
        flat = output_of("Reshape", value, [-1])
        least = output_of("ConcatV2", [flat, convert_to_tensor([-1], "int32")], 0)
        size = REDUCTIONS["reduce_max"](least) + 1
        if minlength is not None:
            size = output_of("Maximum", cast(minlength, "int32"), size)
        if maxlength is not None:
            size = output_of("Minimum", cast(maxlength, "int32"), size)
        if weights is None:
            given = output_of("OnesLike", cast(flat, dtype))
        else:
            given = output_of("Reshape", convert_to_tensor(weights, name="weights"), [-1])
        is_counted = cast(flat < size, given.dtype)
        within = output_of("Minimum", flat, output_of("Maximum", size - 1, 0))
        return output_of("UnsortedSegmentSum", given * is_counted, within, size)


def sort(values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """The elements of `values` in order along `axis`.

    Args:
        values: numbers.
        axis: a dimension.
        direction: `ASCENDING` or `DESCENDING`.
        name: of the scope of the nodes.
    """
    with get_default_graph().name_scope(name or "sort"):
        return _ordered(values, axis, direction)[0]


def argsort(
    values: Any, axis: int = -1, direction: str = "ASCENDING", stable: bool = False, name: str | None = None
) -> Tensor:
    """Where the elements of `values` are, in order along `axis`.

    Args:
        values: numbers.
        axis: a dimension.
        direction: `ASCENDING` or `DESCENDING`.
        stable: changes nothing: equal elements stay in their order.
        name: of the scope of the nodes.
    """
    with get_default_graph().name_scope(name or "argsort"):
        return _ordered(values, axis, direction)[1]


def _ordered(values: Any, axis: int, direction: str) -> tuple[Tensor, Tensor]:
    """Elements in order, and where they were.

    Raises:
        ValueError: the direction is none, or the rank is not known.
    """
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Argument `direction` should be one of ['ASCENDING', 'DESCENDING']. Received: {direction}")
    value = convert_to_tensor(values, name="values")
    rank = value.shape.rank
    if rank is None:
        raise ValueError(f"tf.sort takes tensors of known ranks here: {value}")
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    turned = transpose(value, order)
    count = shape(turned)[-1]
    is_up = direction == "ASCENDING"
    key = _reversed(turned) if is_up else turned
    found, numbers = apply("TopKV2", [key, count], {}).outputs
    found = _reversed(found) if is_up else found
    return transpose(found, order), transpose(numbers, order)


def _reversed(value: Tensor) -> Tensor:
    """Numbers in the opposite order: negated, or where that overflows or is not there counted from the other end."""
    if value.dtype.is_integer:
        return output_of("Sub", convert_to_tensor(-1, value.dtype), value) if _is_signed(value) else (
            output_of("Sub", convert_to_tensor(value.dtype.max, value.dtype), value)
        )  # fmt: skip
    return output_of("Neg", value)


def _is_signed(value: Tensor) -> bool:
    return not value.dtype.name.startswith("u")


def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """Sequences of which so many first elements are in the opposite order.

    Args:
        input: sequences.
        seq_lengths: how many, of each.
        seq_axis: the dimension of elements.
        batch_axis: the dimension of sequences, None for 0.
        name: of the node.
        seq_dim: the older name of `seq_axis`.
        batch_dim: the older name of `batch_axis`.
    """
    attributes = {
        "seq_dim": one_of(seq_axis, seq_dim, ("seq_axis", "seq_dim")),
        "batch_dim": one_of(batch_axis, batch_dim, ("batch_axis", "batch_dim")) or 0,
    }
    return apply("ReverseSequence", [input, seq_lengths], attributes, name).outputs[0]


def _by_count(data: Any, segment_ids: Any, num_segments: Any) -> tuple[Tensor, Tensor]:
    """Sums of rows with one number, and how many these were, at least 1, of the rank of the sums."""
    rows, numbers = convert_to_tensor(data), convert_to_tensor(segment_ids)
    if rows.shape.rank is None or numbers.shape.rank is None:
        raise ValueError(f"rows of known ranks are averaged here: {rows}")
    ones = output_of("OnesLike", cast(numbers, rows.dtype))
    count = output_of("UnsortedSegmentSum", ones, numbers, num_segments)
    for _ in range(rows.shape.rank - numbers.shape.rank):
        count = output_of("ExpandDims", count, -1)
    total = output_of("UnsortedSegmentSum", rows, numbers, num_segments)
    return total, output_of("Maximum", count, convert_to_tensor(1, rows.dtype))


def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """For each number below `num_segments` the mean of the rows of `data` that have it in `segment_ids`."""
    with get_default_graph().name_scope(name or "UnsortedSegmentMean"):
        total, count = _by_count(data, segment_ids, num_segments)
        return total / count


def unsorted_segment_sqrt_n(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The sums of the rows of `data` that have one number in `segment_ids`, over the root of how many these were.

    They are made for each number below `num_segments`.
    """
    with get_default_graph().name_scope(name or "UnsortedSegmentSqrtN"):
        total, count = _by_count(data, segment_ids, num_segments)
        return total / output_of("Sqrt", count)


def unique_with_counts(x: Any, out_idx: Any = "int32", name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """The elements of `x` that differ, which of them each is, in the type `out_idx`, and how often each is there."""
    with get_default_graph().name_scope(name or "UniqueWithCounts"):
        found, numbers = apply("Unique", [x], {"out_idx": out_idx}).outputs
        ones = output_of("OnesLike", numbers)
        count = output_of("Size", found)
        return found, numbers, output_of("UnsortedSegmentSum", ones, numbers, count)


def searchsorted(
    sorted_sequence: Any, values: Any, side: str = "left", out_type: Any = "int32", name: str | None = None
) -> Tensor:
    """Where `values` would be put into rows that are in order.

    Args:
        sorted_sequence: rows.
        values: rows, as many.
        side: `left` or `right` of those that are equal.
        out_type: int32 or int64.
        name: of the node.

    Raises:
        ValueError: the side is none.
    """
    if side not in ("left", "right"):
        raise ValueError(f"Argument `side` must be either 'right' or 'left'. Received: `side` = '{side}'.")
    rows, wanted = convert_to_tensor(sorted_sequence, name="sequence"), convert_to_tensor(values, name="values")
    lengths = [shape(one)[-1] for one in (rows, wanted)]
    flat = [output_of("Reshape", one, [-1, size])
            for one, size in zip((rows, wanted), lengths, strict=True)]  # fmt: skip
    op = "UpperBound" if side == "right" else "LowerBound"
    found = apply(op, flat, {"out_type": out_type}, name).outputs[0]
    return output_of("Reshape", found, shape(wanted))
