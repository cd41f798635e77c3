"""Activations and statistics of layers that are formulas of others."""

from __future__ import annotations

from typing import Any

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.dtypes import as_dtype
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.math import REDUCTIONS, cast, one_of

_LEAST_EPSILON = 1.001e-5
"""What a variance is raised by at least (TensorFlow, ops/nn_impl.py, as cuDNN asks)."""


def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """log(1 / (1 + exp(-`x`)))."""
    with get_default_graph().name_scope(name or "LogSigmoid") as scope:
        softened = output_of("Softplus", output_of("Neg", x))
        return output_of("Neg", softened, name=scope)


def swish(features: Any, beta: Any = 1.0) -> Tensor:
    """`features` times the sigmoid of `beta` times themselves."""
    with get_default_graph().name_scope("swish"):
        x = convert_to_tensor(features, name="features")
        return x * output_of("Sigmoid", convert_to_tensor(beta, x.dtype, "beta") * x)


def crelu(features: Any, name: str | None = None, axis: int = -1) -> Tensor:
    """What is positive of `features`, and behind it along `axis` what is negative of them."""
    with get_default_graph().name_scope(name or "CRelu") as scope:
        x = convert_to_tensor(features, name="features")
        both = output_of("ConcatV2", [x, output_of("Neg", x)], axis, name=scope)
        return output_of("Relu", both)


def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """Which share of the elements of `value` is 0."""
    with get_default_graph().name_scope(name or "zero_fraction"):
        x = convert_to_tensor(value, name="value")
        is_zero = output_of("Equal", x, convert_to_tensor(0, x.dtype))
        total = REDUCTIONS["reduce_sum"](cast(is_zero, "float32"))
        return output_of("RealDiv", total, cast(output_of("Size", x), "float32"), name="fraction")


def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Images of which each channel has the mean 0 and the variance 1, then scaled and shifted; and what both were.

    Args:
        x: images.
        scale: a factor for each channel.
        offset: a summand for each channel.
        mean: what is taken for the mean of each channel; None while training.
        variance: the same for the variance.
        epsilon: what is added to variances.
        data_format: `NHWC` or `NCHW`.
        is_training: whether mean and variance are those of the images.
        name: of the node.
        exponential_avg_factor: the weight of the images, beside the given mean and variance.

    Returns:
        The images, the means, the variances.
    """
    images = convert_to_tensor(x, name="input")
    empty = convert_to_tensor([], "float32")
    means, variances = (empty if one is None else one for one in (mean, variance))
    attributes = {
        "epsilon": max(epsilon, _LEAST_EPSILON),
        "data_format": data_format,
        "is_training": is_training,
        "exponential_avg_factor": exponential_avg_factor,
    }
    made, found, spread, *_ = apply(
        "FusedBatchNormV3", [images, scale, offset, means, variances], attributes, name or "FusedBatchNorm"
    ).outputs
    return made, found, spread


def weighted_moments(
    x: Any,
    axes: Any,
    frequency_weights: Any,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean of `x` over `axes` and the variance, each element as often as its weight says.

    Args:
        x: an array.
        axes: dimensions.
        frequency_weights: how often, of a shape that is spread to that of `x`.
        name: of the scope of the nodes.
        keep_dims: the older name of `keepdims`.
        keepdims: whether dimensions are left with size 1.
    """
    is_kept = bool(one_of(keepdims, keep_dims, ("keepdims", "keep_dims")) or False)
    with get_default_graph().name_scope(name or "weighted_moments"):
        value = convert_to_tensor(x, name="x")
        exact = cast(value, "float32") if value.dtype == as_dtype("float16") else value
        weights = cast(convert_to_tensor(frequency_weights, name="frequency_weights"), exact.dtype)
        weights = weights + output_of("ZerosLike", exact)
        total = REDUCTIONS["reduce_sum"](weights, axes, keepdims=True)
        mean = REDUCTIONS["reduce_sum"](weights * exact, axes, keepdims=True) / total
        apart = output_of("SquaredDifference", exact, mean)
        variance = REDUCTIONS["reduce_sum"](weights * apart, axes, keepdims=True) / total
        if not is_kept:
            mean, variance = (output_of("Squeeze", one, squeeze_dims=_listed(axes))
                              for one in (mean, variance))  # fmt: skip
        return cast(mean, value.dtype), cast(variance, value.dtype)


def _listed(axes: Any) -> list[int]:
    return [axes] if isinstance(axes, int) else [int(one) for one in axes]


def reduce_variance(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The mean of squares of how far `input_tensor` is from its mean over `axis`, which `keepdims` leaves with size 1.

    Raises:
        TypeError: it holds whole numbers.
    """
    with get_default_graph().name_scope(name or "reduce_variance"):
        value = convert_to_tensor(input_tensor)
        mean = REDUCTIONS["reduce_mean"](value, axis, keepdims=True)
        if mean.dtype.is_integer:
            raise TypeError(f"Input must be either real or complex. Received integer type {mean.dtype!r}.")
        apart = value - mean
        return REDUCTIONS["reduce_mean"](output_of("Square", apart), axis, keepdims)


def reduce_std(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The root of the variance of `input_tensor` over `axis`, which `keepdims` leaves with size 1."""
    with get_default_graph().name_scope(name or "reduce_std"):
        return output_of("Sqrt", reduce_variance(input_tensor, axis, keepdims))
