"""Functions of `tf.nn` that are more than one op with its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xlabench.tensorflow.errors import NotHereError
from xlabench.tensorflow.framework.applying import apply
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.arrays import batch_axis, gather
from xlabench.tensorflow.ops.math import REDUCTIONS, cast

_MATRIX = 2


def _along(op: str) -> Callable[..., Tensor]:
    def function(logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None) -> Tensor:
        axis = batch_axis(axis, dim)
        value = convert_to_tensor(logits)
        rank = value.shape.rank
        if axis is None or axis == -1 or (rank is not None and axis == rank - 1):
            return apply(op, [value], {}, name).outputs[0]
        if rank is None or not -rank <= axis < rank:
            raise ValueError(
                f"`axis` ({axis}) must be in the range [{-(rank or 0)}, {rank}) where {rank} is the number of dims"
            )
        order = list(range(rank))
        order[axis], order[-1] = order[-1], order[axis]
        turned = apply("Transpose", [value, order], {}, "transpose").outputs[0]
        return apply("Transpose", [apply(op, [turned], {}).outputs[0], order], {}, name or "transpose").outputs[0]

    function.__name__ = function.__qualname__ = {"Softmax": "softmax", "LogSoftmax": "log_softmax"}[op]
    function.__doc__ = f"{op} of `logits` along the dimension `axis` (None: the last), whose older name is `dim`."
    return function


softmax, log_softmax = _along("Softmax"), _along("LogSoftmax")


def _named(_sentinel: Any, labels: Any, logits: Any, function: str) -> None:
    if _sentinel is not None:
        raise ValueError(f"Only call `{function}` with named arguments (labels=..., logits=..., ...)")
    if labels is None or logits is None:
        raise ValueError("Both `labels` and `logits` must be provided.")


def softmax_cross_entropy_with_logits_v2(
    labels: Any, logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """Cross entropy of distributions with softmax(`logits`) along a dimension, which the result lacks.

    `labels` are distributions of the shape of `logits`; `axis` is the dimension of the classes (None: the last), and
    `dim` the older name for it. A gradient goes to both.
    """
    axis = batch_axis(axis, dim)
    return _cross_entropy(labels, logits, -1 if axis is None else axis, name or "softmax_cross_entropy_with_logits")


def softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: Any = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Tensor:
    """Cross entropy of distributions, through which no gradient goes, with softmax(`logits`).

    `labels` are distributions of the shape of `logits`; `dim` is the dimension of the classes, and `axis` the newer
    name for it.
    """
    _named(_sentinel, labels, logits, "softmax_cross_entropy_with_logits")
    with get_default_graph().name_scope(name or "softmax_cross_entropy_with_logits_sg") as scope:
        stopped = apply("StopGradient", [labels], {}, "labels_stop_gradient").outputs[0]
        return _cross_entropy(stopped, logits, dim if axis is None else axis, scope)


def _cross_entropy(labels: Any, logits: Any, axis: int, name: str) -> Tensor:
    """Of matrices the op itself; others are matrices of their rows while it runs."""
    with get_default_graph().name_scope(name) as scope:
        scores = convert_to_tensor(logits, name="logits")
        scores = cast(scores, "float32") if scores.dtype.name in ("float16", "bfloat16") else scores
        wanted = convert_to_tensor(labels, name="labels")
        wanted = cast(wanted, scores.dtype)
        rank = scores.shape.rank
        if rank is not None and axis not in (-1, rank - 1):
            order = [*(n for n in range(rank) if n != axis % rank), axis % rank]
            scores, wanted = (apply("Transpose", [one, order], {}).outputs[0] for one in (scores, wanted))
        if rank in (None, _MATRIX):  # of a rank that is not known the kernel says what is wrong
            return apply("SoftmaxCrossEntropyWithLogits", [scores, wanted], {}, scope).outputs[0]
        outer = apply("Shape", [scores], {}).outputs[0][:-1]
        classes = scores.shape[rank - 1].value
        rows = [-1, classes] if classes is not None else None
        if rows is None:
            raise ValueError(f"{scope.rstrip('/')}: the number of classes must be known")
        flat = [apply("Reshape", [one, rows], {}).outputs[0] for one in (scores, wanted)]
        cost = apply("SoftmaxCrossEntropyWithLogits", flat, {}).outputs[0]
        return apply("Reshape", [cost, outer], {}, scope).outputs[0]


def sparse_softmax_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """Cross entropy of the classes of which `labels`, integers, are the numbers with softmax(`logits`).

    `logits` are [..., classes], and `labels` and the result are without that last dimension.

    Raises:
        ValueError: labels or logits are missing, or of ranks that do not go together.
    """
    _named(_sentinel, labels, logits, "sparse_softmax_cross_entropy_with_logits")
    op = "SparseSoftmaxCrossEntropyWithLogits"
    with get_default_graph().name_scope(name or op):
        scores, numbers = convert_to_tensor(logits), convert_to_tensor(labels)
        if (
            scores.shape.rank is not None
            and numbers.shape.rank is not None
            and scores.shape.rank != numbers.shape.rank + 1
        ):
            raise ValueError(
                f"`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: labels.shape={numbers.shape} of "
                f"rank {numbers.shape.rank} and logits.shape={scores.shape} of rank {scores.shape.rank}"
            )
        if scores.shape.rank == _MATRIX or scores.shape.rank is None:
            return apply(op, [scores, numbers], {}, op).outputs[0]
        flat = apply("Reshape", [scores, [-1, int(scores.shape[-1])]], {}).outputs[0]
        cost = apply(op, [flat, apply("Reshape", [numbers, [-1]], {}).outputs[0]], {}, op).outputs[0]
        return apply("Reshape", [cost, apply("Shape", [numbers], {}).outputs[0]], {}).outputs[0]


def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """Cross entropy of probabilities with sigmoid(logits), without overflow: max(x, 0) - x z + log(1 + exp(-|x|)).

    x are the `logits`, z the `labels`, probabilities of the same shape, which is that of the result too.
    """
    _named(_sentinel, labels, logits, "sigmoid_cross_entropy_with_logits")
    with get_default_graph().name_scope(name or "logistic_loss") as scope:
        x, z = convert_to_tensor(logits, name="logits"), convert_to_tensor(labels, name="labels")
        zeros = apply("ZerosLike", [x], {}).outputs[0]
        is_positive = apply("GreaterEqual", [x, zeros], {}).outputs[0]
        positive = apply("Select", [is_positive, x, zeros], {}).outputs[0]
        shrunk = apply("Select", [is_positive, -x, x], {}).outputs[0]
        tail = apply("Log1p", [apply("Exp", [shrunk], {}).outputs[0]], {}).outputs[0]
        return apply("AddV2", [positive - x * z, tail], {}, scope).outputs[0]


def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Tensor:
    """The array `value` with a number added for each channel: those of the vector `bias`.

    Channels are the last dimension in the `data_format` `NHWC` (None), and the second one in `NCHW`.
    """
    return apply("BiasAdd", [value, bias], {"data_format": data_format or "NHWC"}, name or "BiasAdd").outputs[0]


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """A layer: `x` `weights` + `biases`, of [batch, in], [in, out] and [out]."""
    with get_default_graph().name_scope(name or "xw_plus_b") as scope:
        return bias_add(apply("MatMul", [x, weights], {}).outputs[0], biases, name=scope)


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """A layer: relu(`x` `weights` + `biases`), of [batch, in], [in, out] and [out]."""
    with get_default_graph().name_scope(name or "relu_layer") as scope:
        return apply("Relu", [bias_add(apply("MatMul", [x, weights], {}).outputs[0], biases)], {}, scope).outputs[0]


def conv2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """A convolution of images.

    Args:
        input: images, in the order that `data_format` says.
        filter: [height, width, channels in, channels out].
        strides: steps, in pixels: one, two (height, width), or one for each dimension.
        padding: `SAME`, `VALID`, or for each dimension of the images how many zeros come before and behind.
        use_cudnn_on_gpu: is noted in the node, and changes nothing.
        data_format: `NHWC` or `NCHW`: batch, height, width, channels.
        dilations: steps between elements of the filter, as `strides`.
        name: of the node.
        filters: the newer name of `filter`.
    """
    explicit: list[int] = []
    if not isinstance(padding, str):
        explicit, padding = [int(one) for pair in padding for one in pair], "EXPLICIT"
    attributes = {
        "strides": _spread(strides, data_format),
        "padding": padding,
        "explicit_paddings": explicit,
        "use_cudnn_on_gpu": use_cudnn_on_gpu,
        "data_format": data_format,
        "dilations": _spread(dilations, data_format),
    }
    return apply("Conv2D", [input, filter if filters is None else filters], attributes, name).outputs[0]


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: str,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
) -> Tensor:
    """A convolution of each channel by itself.

    `input` are images, in the order that `data_format` says (`NHWC`, which None stands for, or `NCHW`); `filter` is
    [height, width, channels, results of a channel]. `strides` are steps, one for each dimension of the images,
    `padding` is `SAME` or `VALID`, and `rate` is the step between elements of the filter, one or two (None: 1).
    """
    form = data_format or "NHWC"
    attributes = {
        "strides": list(strides),
        "padding": padding,
        "data_format": form,
        "dilations": _spread(rate or 1, form),
    }
    return apply("DepthwiseConv2dNative", [input, filter], attributes, name or "depthwise").outputs[0]


def _spread(value: Any, data_format: str) -> list[int]:
    """Numbers for the four dimensions of images; one, or two, are for their height and width."""
    listed = [value] * 2 if isinstance(value, int) else list(value or (1,))
    listed = listed * 2 if len(listed) == 1 else listed
    if len(listed) == 2:
        return [1, *listed, 1] if data_format == "NHWC" else [1, 1, *listed]
    return [int(one) for one in listed]


def _pool(op: str) -> Callable[..., Tensor]:
    def pool(
        value: Any = None,
        ksize: Any = None,
        strides: Any = None,
        padding: str = "VALID",
        data_format: str = "NHWC",
        name: str | None = None,
        input: Any = None,
    ) -> Tensor:
        attributes = {
            "ksize": _spread(ksize, data_format),
            "strides": _spread(strides, data_format),
            "padding": padding,
            "data_format": data_format,
        }
        return apply(op, [input if value is None else value], attributes, name).outputs[0]

    pool.__name__ = pool.__qualname__ = {"MaxPool": "max_pool", "AvgPool": "avg_pool"}[op]
    pool.__doc__ = (
        f"{op} of the images `value` in windows of `ksize` pixels, `strides` pixels apart, as `conv2d` has these.\n\n"
        "`padding` is `SAME` or `VALID`, `data_format` the order of dimensions, `input` the newer name of `value`."
    )
    return pool


max_pool, avg_pool = _pool("MaxPool"), _pool("AvgPool")


def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None) -> Tensor:
    """The array `x` divided by its length along `axis` (None: over all dimensions); squares sum to `epsilon` at least.

    `dim` is the older name of `axis`.
    """
    axis = batch_axis(axis, dim)
    with get_default_graph().name_scope(name or "l2_normalize") as scope:
        value = convert_to_tensor(x, name="x")
        total = REDUCTIONS["reduce_sum"](apply("Square", [value], {}).outputs[0], axis, keepdims=True)
        inverse = apply("Rsqrt", [apply("Maximum", [total, epsilon], {}).outputs[0]], {}).outputs[0]
        return apply("Mul", [value, inverse], {}, scope).outputs[0]


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
        held = apply("StopGradient", [mean], {}).outputs[0]
        squares = apply("SquaredDifference", [value, held], {}).outputs[0]
        variance = REDUCTIONS["reduce_mean"](squares, axes, keepdims=True, name="variance")
        if is_kept:
            return mean, variance
        listed = [axes] if isinstance(axes, int) else list(axes)
        squeezed = [apply("Squeeze", [one], {"squeeze_dims": listed}).outputs[0] for one in (mean, variance)]
        return squeezed[0], squeezed[1]


def batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any, scale: Any, variance_epsilon: float, name: str | None = None
) -> Tensor:
    """`scale` (`x` - `mean`) / sqrt(`variance` + `variance_epsilon`) + `offset`, broadcast.

    A `scale` or `offset` that is None is left out.
    """
    with get_default_graph().name_scope(name or "batchnorm") as scope:
        inverse = apply("Rsqrt", [convert_to_tensor(variance) + variance_epsilon], {}).outputs[0]
        inverse = inverse if scale is None else inverse * scale
        moved = -mean * inverse if offset is None else offset - mean * inverse
        return apply("AddV2", [x * inverse, moved], {}, scope).outputs[0]


def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Tensor:
    """Whether the class `targets`, [batch], is among the `k` greatest of its row of `predictions`, [batch, classes]."""
    return apply("InTopKV2", [predictions, targets, k], {}, name or "in_top_k").outputs[0]


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


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """The array `t`, scaled to the length `clip_norm` where it is longer; lengths are along `axes` (None: over all)."""
    with get_default_graph().name_scope(name or "clip_by_norm") as scope:
        value = convert_to_tensor(t, name="t")
        squares = REDUCTIONS["reduce_sum"](value * value, axes, keepdims=True)
        is_positive = squares > 0
        ones = apply("OnesLike", [squares], {}).outputs[0]
        safe = apply("Select", [is_positive, squares, ones], {}).outputs[0]
        norm = apply("Select", [is_positive, apply("Sqrt", [safe], {}).outputs[0], squares], {}).outputs[0]
        longest = apply("Maximum", [norm, clip_norm], {}).outputs[0]
        return apply("Identity", [value * clip_norm / longest], {}, scope).outputs[0]


def global_norm(t_list: Sequence[Any], name: str | None = None) -> Tensor:
    """The length of tensors together."""
    with get_default_graph().name_scope(name or "global_norm"):
        halves = [apply("L2Loss", [one], {}).outputs[0] for one in t_list if one is not None]
        total = REDUCTIONS["reduce_sum"](apply("Pack", [halves], {}, "stack").outputs[0])
        return apply("Sqrt", [total * np.float32(2.0)], {}, "global_norm").outputs[0]


def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """The tensors `t_list`, scaled together to the length `clip_norm` if they are longer, and their length before.

    Of those that are None nothing is made. `use_norm` is their length, where it is known already; None computes it.
    """
    norm = global_norm(t_list) if use_norm is None else use_norm
    with get_default_graph().name_scope(name or "clip_by_global_norm") as scope:
        smallest = apply("Minimum", [1.0 / norm, 1.0 / convert_to_tensor(clip_norm, norm.dtype)], {}).outputs[0]
        scale = clip_norm * smallest + (norm - norm)
        scaled = [None if one is None else convert_to_tensor(one) * scale for one in t_list]
        word = scope.rstrip("/").rpartition("/")[2]
        named = (
            None if one is None else apply("Identity", [one], {}, f"{word}/_{number}").outputs[0]
            for number, one in enumerate(scaled)
        )  # fmt: skip
        return list(named), norm
