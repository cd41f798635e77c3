"""`tf.layers`: layers as functions, each with variables of its own in a scope of variables.

Names of variables and nodes, and what is made in which order, are those of TensorFlow 1.15, the last release that has
them: a checkpoint that was written there is read here.

Args:
    activation: a function of what the layer gives, None for that itself.
    use_bias: whether there is a bias.
    kernel_initializer: what a variable begins with, by its name (`bias_initializer`, ...): a value, or a function of
        sizes and type; None for that of the scope.
    bias_initializer, beta_initializer, gamma_initializer, moving_mean_initializer, moving_variance_initializer: so too.
    kernel_regularizer: a function of a variable that gives a loss for it, which is kept in a collection; or None.
    bias_regularizer, beta_regularizer, gamma_regularizer: so too.
    activity_regularizer: the same of what the layer gives.
    kernel_constraint: is kept with a variable, as a function of what it holds; or None.
    bias_constraint, beta_constraint, gamma_constraint: so too.
    data_format: `channels_last` (batch, height, width, channels), or `channels_first` (batch, channels, ...).
    training: whether the layer is trained in this run: a Python boolean, or a boolean scalar of the graph.
    trainable: whether its variables are among those that are trained.
    name: of the scope of its variables; None for the kind of layer with a number.
    reuse: whether its variables must be there; None where they are new, or as around.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import constant, convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.keys import GraphKeys
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.framework.variables import Variable
from xlabench.tensorflow.ops import arrays, initializers, nn, random, windows
from xlabench.tensorflow.ops.control_flow import cond
from xlabench.tensorflow.ops.layer_arguments import numbers, order_of
from xlabench.tensorflow.ops.math import tensordot
from xlabench.tensorflow.ops.variable_scopes import get_variable, variable_scope

_ORDERS = "NHWC", "NCHW"
_ROWS = 2
"""Dimensions of a batch of rows."""
_IMAGES = 4
"""Dimensions of a batch of images."""
_ZEROS, _ONES = initializers.Zeros(), initializers.Ones()


@contextmanager
def layer(kind: str, name: str | None, reuse: Any, inputs: Any) -> Iterator[Tensor]:
    """The scope of a layer of a `kind`, by its `name` or `reuse`, and its `inputs` as a tensor."""
    with variable_scope(name, kind, reuse=reuse):
        yield convert_to_tensor(inputs)


def size_of(inputs: Tensor, axis: int, kind: str) -> int:
    """How many features or channels `inputs` have along `axis`; `kind` is that of the layer.

    Raises:
        ValueError: that is not known.
    """
    size = inputs.shape[axis].value if inputs.shape.rank else None
    if size is None:
        said = {"dense": "The last dimension of the inputs to `Dense`", "conv2d": "The channel dimension of the inputs"}
        raise ValueError(f"{said.get(kind, f'Dimension {axis} of the inputs')} should be defined. Found `None`.")
    return int(size)


def finished(outputs: Tensor, activation: Any, regularizer: Any) -> Tensor:
    """What a layer gives of `outputs`: their `activation`, with what `regularizer` computes of it kept as a loss."""
    made: Tensor = outputs if activation is None else activation(outputs)
    if regularizer is not None:
        with get_default_graph().name_scope("ActivityRegularizer"):
            get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, regularizer(made))
    return made


def dense(
    inputs: Any,
    units: int,
    activation: Any = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = _ZEROS,
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    kernel_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> Tensor:
    """A layer that is fully connected: activation(inputs kernel + bias), along the last dimension of `inputs`.

    `units` is how many features it gives, the size of that dimension in the result.

    Raises:
        ValueError: how many features there are is not known.
    """
    with layer("dense", name, reuse, inputs) as x:
        features = size_of(x, -1, "dense")
        kernel = get_variable(
            "kernel",
            [features, units],
            x.dtype,
            kernel_initializer,
            kernel_regularizer,
            trainable,
            constraint=kernel_constraint,
        )
        bias = None
        if use_bias:
            bias = get_variable(
                "bias", [units], x.dtype, bias_initializer, bias_regularizer, trainable, constraint=bias_constraint
            )
        made = output_of("MatMul", x, kernel) if x.shape.rank == _ROWS else tensordot(x, kernel, 1)
        if bias is not None:
            made = nn.bias_add(made, bias)
        return finished(made, activation, activity_regularizer)


def conv2d(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: Any = (1, 1),
    activation: Any = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = _ZEROS,
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    kernel_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> Tensor:
    """A layer that is a convolution of the images `inputs` to `filters` channels, and adds a bias to each of these.

    `kernel_size`, `strides` and `dilation_rate` (steps between elements of the kernel) are in pixels, one number or
    [height, width]; `padding` is `valid` or `same`.

    Raises:
        ValueError: how many channels there are is not known, or a size makes no sense.
    """
    form = order_of(data_format, 2)
    with layer("conv2d", name, reuse, inputs) as x:
        channels = size_of(x, form.index("C"), "conv2d")
        kernel = get_variable(
            "kernel",
            [*numbers(kernel_size, 2, "kernel_size"), channels, filters],
            x.dtype,
            kernel_initializer,
            kernel_regularizer,
            trainable,
            constraint=kernel_constraint,
        )
        bias = None
        if use_bias:
            bias = get_variable(
                "bias", [filters], x.dtype, bias_initializer, bias_regularizer, trainable, constraint=bias_constraint
            )
        made = windows.conv2d(
            x,
            kernel,
            numbers(strides, 2, "strides"),
            padding.upper(),
            data_format=form,
            dilations=numbers(dilation_rate, 2, "dilation_rate"),
        )
        if bias is not None:
            made = nn.bias_add(made, bias, form)
        return finished(made, activation, activity_regularizer)


def _pooling(kind: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def pooling(
        inputs: Any,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
    ) -> Tensor:
        windows, steps = numbers(pool_size, 2, "pool_size"), numbers(strides, 2, "strides")
        with get_default_graph().name_scope(name or kind):
            return function(inputs, windows, steps, padding.upper(), data_format=order_of(data_format, 2))

    pooling.__name__ = pooling.__qualname__ = kind
    pooling.__doc__ = (
        f"A layer that is `tf.nn.{function.__name__}` of the images `inputs`.\n\n"
        "`pool_size` and `strides` are in pixels, one number or [height, width]; `padding` is `valid` or `same`."
    )
    return pooling


max_pooling2d = _pooling("max_pooling2d", windows.max_pool)
average_pooling2d = _pooling("average_pooling2d", windows.avg_pool)


def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Tensor:
    """A row of all its elements for each example of `inputs`, [batch, ...], channels last."""
    with get_default_graph().name_scope(name or "flatten"):
        x = convert_to_tensor(inputs)
        rank = x.shape.rank
        if order_of(data_format, 2) == "NCHW" and rank is not None and rank > _ROWS:
            x = output_of("Transpose", x, [0, *range(2, rank), 1])
        sizes = x.shape.as_list()[1:] if rank else []
        if rank and None not in sizes:
            features = math.prod(size for size in sizes if size is not None)
            return output_of("Reshape", x, [-1, features])
        return output_of("Reshape", x, [arrays.shape(x)[0], -1])


def _chosen(training: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """What one of two functions gives: found out now where that is known, in the graph where it is not."""
    if isinstance(training, Tensor | Variable):
        return cond(convert_to_tensor(training), yes, no)
    return yes() if training else no()


def dropout(
    inputs: Any,
    rate: Any = 0.5,
    noise_shape: Any = None,
    seed: int | None = None,
    training: Any = False,
    name: str | None = None,
) -> Tensor:
    """A layer that sets a share of elements to 0 while it is trained, and hands `inputs` on otherwise.

    `rate` is the share, in [0, 1); the others grow so that their mean stays. In dimensions in which `noise_shape`
    (None: that of `inputs`) is 1 elements stay or go together. `seed` is that of the op.
    """
    with get_default_graph().name_scope(name or "dropout"):
        x = convert_to_tensor(inputs)
        made: Tensor = _chosen(
            training,
            lambda: random.dropout(x, noise_shape=noise_shape, seed=seed, rate=rate),
            lambda: output_of("Identity", x),
        )
        return made


def batch_normalization(
    inputs: Any,
    axis: int = -1,
    momentum: float = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Any = _ZEROS,
    gamma_initializer: Any = _ONES,
    moving_mean_initializer: Any = _ZEROS,
    moving_variance_initializer: Any = _ONES,
    beta_regularizer: Any = None,
    gamma_regularizer: Any = None,
    beta_constraint: Any = None,
    gamma_constraint: Any = None,
    training: Any = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
    fused: bool | None = None,
) -> Tensor:
    """A layer that normalises channels over a batch, and by means over many batches where it is not trained.

    The means are updated by operations in the collection `UPDATE_OPS`, which a step of training must be made to wait
    for: each keeps the share `momentum` of what it was. `axis` is the dimension of the channels in `inputs`, and
    `epsilon` is added to variances. With `center` there is an offset for each channel, beta, and with `scale` a factor,
    gamma. `fused` is whether this is one op: None where it can be, which is of images along their channels.

    Raises:
        ValueError: how many channels there are is not known, or fused normalisation is asked of what is no image.
    """
    with layer("batch_normalization", name, reuse, inputs) as x:
        rank = x.shape.rank or 0
        along = axis % rank if rank else axis
        form = next((one for one in _ORDERS if rank == _IMAGES and one.index("C") == along), "")
        if fused and not form:
            raise ValueError("Batch normalization is fused for images of 4 dimensions, along their channels, only")
        sizes = [size_of(x, along, "batch_normalization")]
        dtype = "float32" if x.dtype.name in ("float16", "bfloat16") else x.dtype
        gamma = beta = None
        if scale:
            gamma = get_variable(
                "gamma", sizes, dtype, gamma_initializer, gamma_regularizer, trainable, constraint=gamma_constraint
            )
        if center:
            beta = get_variable(
                "beta", sizes, dtype, beta_initializer, beta_regularizer, trainable, constraint=beta_constraint
            )
        mean = get_variable("moving_mean", sizes, dtype, moving_mean_initializer, trainable=False)
        variance = get_variable("moving_variance", sizes, dtype, moving_variance_initializer, trainable=False)
        state = _State(gamma, beta, mean, variance)
        if form and fused is not False and x.dtype.name != "float64":
            normalised = _fused(x, state, epsilon, form, training)
        else:
            normalised = _plain(x, state, epsilon, along, training)
        if isinstance(training, Tensor | Variable) or training:
            _update((mean, variance), (normalised.mean, normalised.variance), momentum, training)
        return normalised.result


class _State(NamedTuple):
    """Scale, offset, and the means over many batches of means and variances."""

    gamma: Variable | None
    beta: Variable | None
    mean: Variable
    variance: Variable


class _Normalised(NamedTuple):
    """A batch less its mean and by the root of its variance, and these two."""

    result: Tensor
    mean: Tensor
    variance: Tensor


def _fused(x: Tensor, state: _State, epsilon: float, form: str, training: Any) -> _Normalised:
    """By the op for images."""
    gamma, beta, mean, variance = state
    kept = mean.dtype
    scale = gamma if gamma is not None else arrays.ones(mean.shape, kept)
    offset = beta if beta is not None else arrays.zeros(mean.shape, kept)

    def normalised(inputs: Sequence[Any], *, is_training: bool) -> list[Tensor]:
        attributes = {"epsilon": epsilon, "data_format": form, "is_training": is_training}
        return list(apply("FusedBatchNormV3", [x, scale, offset, *inputs], attributes).outputs[:3])

    nothing = constant([], kept)
    made = _chosen(
        training,
        lambda: normalised([nothing, nothing], is_training=True),
        lambda: normalised([mean, variance], is_training=False),
    )
    return _Normalised(made[0], made[1], made[2])


def _plain(x: Tensor, state: _State, epsilon: float, axis: int, training: Any) -> _Normalised:
    """By moments over all dimensions but one."""
    gamma, beta, mean, variance = state
    rank = x.shape.rank or 0
    others = [number for number in range(rank) if number != axis]
    found = _chosen(
        training,
        lambda: list(nn.moments(x, others)),
        lambda: [mean.value(), variance.value()],
    )
    shape = [1] * rank
    shape[axis] = int(mean.shape[0])

    def spread(value: Any) -> Any:
        is_last = axis == rank - 1
        return value if value is None or is_last else output_of("Reshape", value, shape)

    means, variances = (spread(one) for one in found)
    made = nn.batch_normalization(x, means, variances, spread(beta), spread(gamma), epsilon)
    return _Normalised(made, found[0], found[1])


def _update(variables: Sequence[Variable], found: Sequence[Tensor], momentum: float, training: Any) -> None:
    """Move means over many batches towards those of this one, when the collection of updates is run."""
    graph = get_default_graph()
    for variable, value in zip(variables, found, strict=True):
        with graph.name_scope("AssignMovingAvg"):
            share = _chosen(training, lambda: constant(1.0 - momentum), lambda: constant(0.0))
            change = (variable.value() - value) * share
            graph.add_to_collection(GraphKeys.UPDATE_OPS, variable.assign_sub(change, read_value=False))
