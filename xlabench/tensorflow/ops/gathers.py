"""Elements taken by number, once or several times, where that is more than one op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xlabench.tensorflow.errors import NotHereError
from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.shapes import TensorShape
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.arrays import concat, gather, ones_like, shape, stack
from xlabench.tensorflow.ops.math import cast, range_


def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """The elements of `input` along `axis`, each several times behind itself.

    Args:
        input: an array.
        repeats: how many times: a number, or one for each of them.
        axis: the dimension, None for all elements in one row.
        name: of the scope of the nodes.

    Raises:
        ValueError: the rank of the array, or that of `repeats`, is not known.
    """
    with get_default_graph().name_scope(name or "Repeat"):
        value, times = convert_to_tensor(input, name="data"), convert_to_tensor(repeats, name="repeats")
        if axis is None or not value.shape.rank:
            value, axis = output_of("Reshape", value, [-1]), 0
        if value.shape.rank is None or times.shape.rank is None or times.shape.rank > 1:
            raise ValueError(f"tf.repeat takes arrays of known ranks, and repeats of rank 0 or 1: {value} and {times}")
        times = times if times.dtype.name in ("int32", "int64") else cast(times, "int32")
        count = shape(value, out_type=times.dtype)[axis]
        ends = output_of("Cumsum", output_of("BroadcastTo", times, stack([count])), 0)
        total = concat([convert_to_tensor([0], times.dtype), ends], 0)[-1]
        numbers = range_(convert_to_tensor(0, times.dtype), total, convert_to_tensor(1, times.dtype))
        rows = [output_of("ExpandDims", one, 0) for one in (ends, numbers)]
        which = output_of("Squeeze", output_of("UpperBound", *rows), squeeze_dims=[0])
        return gather(value, which, axis=axis)


def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Tensor:
    """The elements, or slices, of `params` at `indices`, whose last dimension says which.

    The first `batch_dims` dimensions of both are equal, and go together; `name` is that of the node.

    Raises:
        ValueError: with batches, the rank of the indices is not known.
    """
    if not batch_dims:
        return output_of("GatherNd", params, indices, name=name)
    with get_default_graph().name_scope(name or "GatherNd"):
        which = convert_to_tensor(indices, name="indices")
        rank = which.shape.rank
        if rank is None or not 0 < batch_dims < rank:
            raise ValueError(f"batch_dims = {batch_dims} must be less than the rank of the indices: {which}")
        sizes = shape(which, out_type=which.dtype)
        like = ones_like(which[..., :1])
        batch = []
        for number in range(batch_dims):
            dims = [1] * rank
            dims[number] = -1
            zero, one = (convert_to_tensor(value, which.dtype) for value in (0, 1))
            batch.append(output_of("Reshape", range_(zero, sizes[number], one), dims) * like)
        return output_of("GatherNd", params, concat([*batch, which], -1))


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """The slices of `params` at `indices`, which have its first dimensions and one more; `name` is that of the scope.

    Raises:
        ValueError: the rank of the indices is not known.
    """
    with get_default_graph().name_scope(name or "BatchGather"):
        which = convert_to_tensor(indices, name="indices")
        if which.shape.rank is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        return gather(params, which, axis=which.shape.rank - 1, batch_dims=which.shape.rank - 1)


def parallel_stack(values: Sequence[Any], name: str = "parallel_stack") -> Tensor:
    """The arrays `values`, which are of one known shape, along a new first dimension.

    Raises:
        ValueError: their shape is not known.
    """
    with get_default_graph().name_scope(name):
        listed = [convert_to_tensor(one) for one in values]
        if not listed[0].shape.is_fully_defined():
            raise ValueError(f"All input shapes must be fully defined: {listed[0]}")
        return stack(listed)


def shape_n(input: Sequence[Any], out_type: Any = "int32", name: str | None = None) -> list[Tensor]:
    """The sizes of each array of `input`, of the integer type `out_type`."""
    return list(apply("ShapeN", [list(input)], {"out_type": out_type}, name).outputs)


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """The shape that arrays of the known shapes `shape_x` and `shape_y` are spread to together.

    Raises:
        ValueError: there is none.
    """
    first, second = TensorShape(shape_x), TensorShape(shape_y)
    if first.rank is None or second.rank is None:
        return TensorShape(None)
    rank = max(first.rank, second.rank)
    ones: list[int | None] = [1] * rank
    left, right = ([*ones, *one.as_list()][-rank:] if rank else [] for one in (first, second))
    return TensorShape([_spread(one, other, (first, second)) for one, other in zip(left, right, strict=True)])


def _spread(one: int | None, other: int | None, shapes: tuple[TensorShape, TensorShape]) -> int | None:
    if None in (one, other):
        known = other if one is None else one
        return known if known is not None and known > 1 else None
    if 1 not in (one, other) and one != other:
        raise ValueError(f"Incompatible shapes for broadcasting: {shapes[0]} and {shapes[1]}.")
    return other if one == 1 else one


def required_space_to_batch_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """How much is padded so that `space_to_batch` has whole blocks, and what is cut off afterwards.

    Args:
        input_shape: sizes.
        block_shape: those of blocks.
        base_paddings: what is padded in any case, before and behind; None for nothing.
        name: of the scope of the nodes.
    """
    with get_default_graph().name_scope(name or "required_space_to_batch_paddings"):
        sizes, blocks = (convert_to_tensor(one, "int32") for one in (input_shape, block_shape))
        base = convert_to_tensor([[0, 0]], "int32") * output_of("ExpandDims", blocks, 1)
        if base_paddings is not None:
            base = convert_to_tensor(base_paddings, "int32")
        whole = sizes + base[:, 0] + base[:, 1]
        more = (blocks - whole % blocks) % blocks
        return stack([base[:, 0], base[:, 1] + more], 1), stack([output_of("ZerosLike", more), more], 1)


def _sparse_segment(op: str) -> Any:
    """The function of an op that joins rows by segments, of which the number is not given."""

    def segment(
        data: Any,
        indices: Any,
        segment_ids: Any,
        name: str | None = None,
        num_segments: Any = None,
        sparse_gradient: bool = False,
    ) -> Tensor:
        if num_segments is not None:
            raise NotHereError(f"{op} with num_segments is not there: use tf.math.unsorted_segment_sum of tf.gather")
        return output_of(op, data, indices, segment_ids, sparse_gradient=sparse_gradient or None, name=name)

    segment.__doc__ = (
        f"{op}: the rows of `data` at `indices`, joined where `segment_ids` are equal; `num_segments` must be\n"
        "None, and `sparse_gradient` changes nothing; `name` is that of the node."
    )
    return segment


sparse_segment_sum, sparse_segment_mean = _sparse_segment("SparseSegmentSum"), _sparse_segment("SparseSegmentMean")
sparse_segment_sqrt_n = _sparse_segment("SparseSegmentSqrtN")
