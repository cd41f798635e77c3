"""Functions of `tf.nn` that are more than one op with its arguments: softmax, layers, normalisation, look-ups.

Cross entropies, convolutions and pools, and clipping have files of their own (`cross_entropy`, `windows`, `clipping`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xlabench.tensorflow.errors import NotHereError
from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.arrays import batch_axis, gather
from xlabench.tensorflow.ops.math import REDUCTIONS


def _along(op: str) -> Callable[..., Tensor]:
    def function(logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None) -> Tensor:
        axis = batch_axis(axis, dim)
        value = convert_to_tensor(logits)
        rank = value.shape.rank
        if axis is None or axis == -1 or (rank is not None and axis == rank - 1):
            return output_of(op, value, name=name)
        if rank is None or not -rank <= axis < rank:
            raise ValueError(
                f"`axis` ({axis}) must be in the range [{-(rank or 0)}, {rank}) where {rank} is the number of dims"
            )
        order = list(range(rank))
        order[axis], order[-1] = order[-1], order[axis]
        turned = output_of("Transpose", value, order, name="transpose")
        return output_of("Transpose", output_of(op, turned), order, name=name or "transpose")

    function.__name__ = function.__qualname__ = {"Softmax": "softmax", "LogSoftmax": "log_softmax"}[op]
    function.__doc__ = f"{op} of `logits` along the dimension `axis` (None: the last), whose older name is `dim`."
    return function


softmax, log_softmax = _along("Softmax"), _along("LogSoftmax")


def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Tensor:
    """The array `value` with a number added for each channel: those of the vector `bias`.

    Channels are the last dimension in the `data_format` `NHWC` (None), and the second one in `NCHW`.
    """
    return output_of("BiasAdd", value, bias, data_format=data_format or "NHWC", name=name or "BiasAdd")


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """A layer: `x` `weights` + `biases`, of [batch, in], [in, out] and [out]."""
    with get_default_graph().name_scope(name or "xw_plus_b") as scope:
        return bias_add(output_of("MatMul", x, weights), biases, name=scope)


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """A layer: relu(`x` `weights` + `biases`), of [batch, in], [in, out] and [out]."""
    with get_default_graph().name_scope(name or "relu_layer") as scope:
        return output_of("Relu", bias_add(output_of("MatMul", x, weights), biases), name=scope)


def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None) -> Tensor:
    """The array `x` divided by its length along `axis` (None: over all dimensions); squares sum to `epsilon` at least.

    `dim` is the older name of `axis`.
    """
    axis = batch_axis(axis, dim)
    with get_default_graph().name_scope(name or "l2_normalize") as scope:
        value = convert_to_tensor(x, name="x")
        total = REDUCTIONS["reduce_sum"](output_of("Square", value), axis, keepdims=True)
        inverse = output_of("Rsqrt", output_of("Maximum", total, epsilon))
        return output_of("Mul", value, inverse, name=scope)


def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and variance of `x` along `axes`, which `keepdims` (older: `keep_dims`) leaves as dimensions of size 1.

    `shift` changes nothing.
    """
    is_kept = bool(keep_dims or keepdims)
    with get_default_graph().name_scope(name or "moments"):
        value = convert_to_tensor(x, name="x")
        mean = REDUCTIONS["reduce_mean"](value, axes, keepdims=True, name="mean")
        held = output_of("StopGradient", mean)
        squares = output_of("SquaredDifference", value, held)
        variance = REDUCTIONS["reduce_mean"](squares, axes, keepdims=True, name="variance")
        if is_kept:
            return mean, variance
        listed = [axes] if isinstance(axes, int) else list(axes)
        squeezed = [output_of("Squeeze", one, squeeze_dims=listed) for one in (mean, variance)]
        return squeezed[0], squeezed[1]


def batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any, scale: Any, variance_epsilon: float, name: str | None = None
) -> Tensor:
    """`scale` (`x` - `mean`) / sqrt(`variance` + `variance_epsilon`) + `offset`, broadcast.

    A `scale` or `offset` that is None is left out.
    """
    with get_default_graph().name_scope(name or "batchnorm") as scope:
        inverse = output_of("Rsqrt", convert_to_tensor(variance) + variance_epsilon)
        inverse = inverse if scale is None else inverse * scale
        moved = -mean * inverse if offset is None else offset - mean * inverse
        return output_of("AddV2", x * inverse, moved, name=scope)


def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Tensor:
    """Whether the class `targets`, [batch], is among the `k` greatest of its row of `predictions`, [batch, classes]."""
    return output_of("InTopKV2", predictions, targets, k, name=name or "in_top_k")


def top_k(input: Any, k: Any = 1, sorted: bool = True, name: str | None = None) -> list[Tensor]:
    """The `k` greatest along the last dimension of `input`, and their indices; the greatest first, as `sorted` asks."""
    return list(apply("TopKV2", [input, k], {"sorted": sorted}, name).outputs)


def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: Any = None,
) -> Tensor:
    """The rows of the table `params`, or of a list of one table, at `ids`, integers of any shape.

    With one table `partition_strategy` changes nothing, nor does `validate_indices`; `max_norm` must be None.

    Raises:
        NotHereError: there are several tables, or rows are to be clipped.
    """
    tables = params if isinstance(params, list | tuple) else [params]
    if len(tables) != 1:
        raise NotHereError("tf.nn.embedding_lookup of several tables is not there: concatenate them along axis 0")
    if max_norm is not None:
        raise NotHereError("tf.nn.embedding_lookup with max_norm is not there: give the rows to tf.clip_by_norm")
    return gather(tables[0], ids, name=name or "embedding_lookup")
