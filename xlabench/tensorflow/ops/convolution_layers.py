"""`tf.layers`: convolutions of rows and volumes, transposed ones, and those of each channel by itself.

Names of variables and nodes are those of TensorFlow 1.15, as in `layers.py`.

Args:
    inputs: [batch, sizes.., channels], or as `data_format` says.
    filters: how many channels the layer gives.
    kernel_size: the size of the kernel, one number or one for each dimension.
    strides: steps, so too.
    padding: `valid` or `same`.
    data_format: `channels_last` or `channels_first`.
    dilation_rate: steps between elements of the kernel, one number or one for each dimension.
    depth_multiplier: how many results each channel has by itself.
    activation: a function of what the layer gives, None for that itself.
    use_bias: whether there is a bias.
    kernel_initializer, bias_initializer, depthwise_initializer, pointwise_initializer: what a variable begins with, a
        value, or a function of sizes and type; None for that of the scope.
    kernel_regularizer, bias_regularizer, depthwise_regularizer, pointwise_regularizer: a function of a variable that
        gives a loss for it, which is kept in a collection; or None.
    activity_regularizer: the same of what the layer gives.
    kernel_constraint, bias_constraint, depthwise_constraint, pointwise_constraint: is kept with a variable; or None.
    trainable: whether its variables are among those that are trained.
    name: of the scope of its variables; None for the kind of layer with a number.
    reuse: whether its variables must be there; None where they are new, or as around.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops import arrays, convolutions, initializers, nn, pools
from xlabench.tensorflow.ops.layer_arguments import numbers, order_of
from xlabench.tensorflow.ops.layers import finished, layer, size_of
from xlabench.tensorflow.ops.variable_scopes import get_variable
from xlabench.tensorflow.ops.volumes import convolution

_ZEROS = initializers.Zeros()


class _Variable(NamedTuple):
    """What a layer's variable is made by: its initializer, its loss and its constraint."""

    initializer: Any
    regularizer: Any
    constraint: Any

    def made(self, name: str, sizes: Sequence[int], x: Tensor, *, trainable: bool) -> Any:
        """The variable."""
        return get_variable(
            name, sizes, x.dtype, self.initializer, self.regularizer, trainable, constraint=self.constraint
        )


class _Last(NamedTuple):
    """What comes behind a convolution: the bias, the activation, and the loss of what is given."""

    bias: _Variable | None
    activation: Any
    regularizer: Any
    trainable: bool

    def of(self, made: Tensor, x: Tensor, filters: int, order: str) -> Tensor:
        """What the layer gives."""
        if self.bias is not None:
            bias = self.bias.made("bias", [filters], x, trainable=self.trainable)
            made = nn.bias_add(made, bias, "NCHW" if order.startswith("NC") else "NHWC")
        return finished(made, self.activation, self.regularizer)


def _conv(word: str, rank: int) -> Callable[..., Tensor]:
    def conv(
        inputs: Any,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
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
        order = order_of(data_format, rank)
        bias = _Variable(bias_initializer, bias_regularizer, bias_constraint) if use_bias else None
        with layer(word, name, reuse, inputs) as x:
            channels = size_of(x, order.index("C"), word)
            kernel = _Variable(kernel_initializer, kernel_regularizer, kernel_constraint).made(
                "kernel", [*numbers(kernel_size, rank, "kernel_size"), channels, filters], x, trainable=trainable
            )
            made = convolution(
                x,
                kernel,
                padding.upper(),
                numbers(strides, rank, "strides"),
                numbers(dilation_rate, rank, "dilation_rate"),
                data_format=order,
            )
            return _Last(bias, activation, activity_regularizer, trainable).of(made, x, filters, order)

    conv.__name__ = conv.__qualname__ = word
    conv.__doc__ = (
        f"A layer that is a convolution of `inputs` along {rank} dimensions, and adds a bias to each channel."
    )
    return conv


conv1d, conv3d = _conv("conv1d", 1), _conv("conv3d", 3)


def _transposed(word: str, rank: int) -> Callable[..., Tensor]:
    def conv(
        inputs: Any,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
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
        order = order_of(data_format, rank)
        sizes, steps = numbers(kernel_size, rank, "kernel_size"), numbers(strides, rank, "strides")
        bias = _Variable(bias_initializer, bias_regularizer, bias_constraint) if use_bias else None
        with layer(word, name, reuse, inputs) as x:
            channels = size_of(x, order.index("C"), word)
            kernel = _Variable(kernel_initializer, kernel_regularizer, kernel_constraint).made(
                "kernel", [*sizes, filters, channels], x, trainable=trainable
            )
            more = [max(size - step, 0) if padding.lower() == "valid" else 0
                    for size, step in zip(sizes, steps, strict=True)]  # fmt: skip
            made = _spread_out(x, kernel, (steps, more), (padding.upper(), order))
            return _Last(bias, activation, activity_regularizer, trainable).of(made, x, filters, order)

    conv.__name__ = conv.__qualname__ = word
    conv.__doc__ = (
        f"A layer that is the gradient of a convolution along {rank} dimensions: `inputs` spread out to larger ones."
    )
    return conv


def _spread_out(x: Tensor, kernel: Any, by: tuple[list[int], list[int]], form: tuple[str, str]) -> Tensor:
    """The transposed convolution: by steps, and how much larger results are than a step for each element."""
    (steps, more), (padding, order) = by, form
    known: list[Any] = x.shape.as_list()
    found = arrays.shape(x)
    filters = int(kernel.shape[len(steps)])
    sizes: list[Any] = [found[0] if known[0] is None else known[0]]
    inner = [n for n, letter in enumerate(order) if letter not in "NC"]
    spread = [(found[n] if known[n] is None else known[n]) * step + rest
              for n, step, rest in zip(inner, steps, more, strict=True)]  # fmt: skip
    is_first = order.startswith("NC")
    sizes += [filters, *spread] if is_first else [*spread, filters]
    wanted = arrays.stack(sizes) if any(hasattr(one, "dense_tensor") for one in sizes) else sizes
    strides = [1, 1, *steps] if is_first else [1, *steps, 1]
    op = "Conv2DBackpropInput" if len(steps) == 2 else "Conv3DBackpropInputV2"
    attributes = {"strides": strides, "padding": padding, "data_format": order}
    made = apply(op, [wanted, kernel, x], attributes, "conv_transpose").outputs[0]
    shape = [None if known[n] is None else size for n, size in zip([0, *inner], [known[0], *spread], strict=True)]
    made.set_shape([shape[0], filters, *shape[1:]] if is_first else [*shape, filters])
    return made


conv2d_transpose, conv3d_transpose = _transposed("conv2d_transpose", 2), _transposed("conv3d_transpose", 3)


def _separable(word: str, rank: int) -> Callable[..., Tensor]:
    def conv(
        inputs: Any,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = None,
        pointwise_initializer: Any = None,
        bias_initializer: Any = _ZEROS,
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        reuse: bool | None = None,
    ) -> Tensor:
        order = order_of(data_format, rank)
        bias = _Variable(bias_initializer, bias_regularizer, bias_constraint) if use_bias else None
        with layer(word, name, reuse, inputs) as x:
            channels = size_of(x, order.index("C"), word)
            sizes = numbers(kernel_size, rank, "kernel_size")
            depthwise = _Variable(depthwise_initializer, depthwise_regularizer, depthwise_constraint).made(
                "depthwise_kernel", [*sizes, channels, depth_multiplier], x, trainable=trainable
            )
            pointwise = _Variable(pointwise_initializer, pointwise_regularizer, pointwise_constraint).made(
                "pointwise_kernel", [*[1] * rank, channels * depth_multiplier, filters], x, trainable=trainable
            )
            steps, holes = numbers(strides, rank, "strides"), numbers(dilation_rate, rank, "dilation_rate")
            made = _of_channels(x, (depthwise, pointwise), (steps, holes), (padding.upper(), order))
            return _Last(bias, activation, activity_regularizer, trainable).of(made, x, filters, order)

    conv.__name__ = conv.__qualname__ = word
    conv.__doc__ = (
        f"A layer that is a convolution of each channel of `inputs` along {rank} dimensions, then of their pixels."
    )
    return conv


def _of_channels(x: Tensor, kernels: Any, by: tuple[list[int], list[int]], form: tuple[str, str]) -> Tensor:
    """A convolution of each channel of images, or of rows, which are images of one row."""
    (steps, holes), (padding, order) = by, form
    is_first = order.startswith("NC")
    is_row = len(steps) == 1
    axis = 2 if is_first else 1
    value = output_of("ExpandDims", x, axis) if is_row else x
    depthwise, pointwise = (output_of("ExpandDims", one, 0) if is_row else one for one in kernels)
    pair = steps * 2 if is_row else steps
    strides = [1, 1, *pair] if is_first else [1, *pair, 1]
    made = convolutions.separable_conv2d(
        value,
        depthwise,
        pointwise,
        strides,
        padding,
        [1, *holes] if is_row else holes,
        data_format="NCHW" if is_first else "NHWC",
    )
    return output_of("Squeeze", made, squeeze_dims=[axis]) if is_row else made


separable_conv1d, separable_conv2d = _separable("separable_conv1d", 1), _separable("separable_conv2d", 2)


def _pooling(word: str, rank: int, kind: str) -> Callable[..., Tensor]:
    def pooling(
        inputs: Any,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
    ) -> Tensor:
        function = pools.max_pool_v2 if kind == "max" else pools.avg_pool_v2
        windows, steps = numbers(pool_size, rank, "pool_size"), numbers(strides, rank, "strides")
        with get_default_graph().name_scope(name or word):
            return function(inputs, windows, steps, padding.upper(), order_of(data_format, rank))

    pooling.__name__ = pooling.__qualname__ = word
    pooling.__doc__ = f"A layer that is a pool of `inputs` along {rank} dimensions, in windows of `pool_size`."
    return pooling


max_pooling1d, average_pooling1d = _pooling("max_pooling1d", 1, "max"), _pooling("average_pooling1d", 1, "average")
max_pooling3d, average_pooling3d = _pooling("max_pooling3d", 3, "max"), _pooling("average_pooling3d", 3, "average")
