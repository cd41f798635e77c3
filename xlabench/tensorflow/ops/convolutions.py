"""Convolutions that are made of others: transposed, of one dimension, with holes, of each channel by itself.

Args:
    input: images, [batch, height, width, channels], or as `data_format` says.
    value: an older name of `input`.
    filter: [height, width, channels in, channels out]; of a transposed one the last two are exchanged.
    filters: a newer name of `filter`.
    strides: steps: one, two (height, width), or one for each dimension.
    padding: `SAME` or `VALID`.
    rate: steps between elements of the filter, in height and width.
    dilations: a newer name of `rate`.
    data_format: the order of dimensions.
    name: of the node.
"""

from __future__ import annotations

from typing import Any

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.windows import conv2d, depthwise_conv2d, windowed

_FORMATS = {"NWC": "NHWC", "NCW": "NCHW", None: "NHWC"}
"""Orders of dimensions of one dimension, as those of images."""


def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: str,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """A convolution of each channel by itself, then one of all channels at each point.

    Args:
        input: images.
        depthwise_filter: [height, width, channels in, how many come of each].
        pointwise_filter: [1, 1, channels then, channels out].
        strides: steps, one for each dimension.
        padding: `SAME` or `VALID`.
        rate: steps between elements of the filter, in height and width.
        name: of the scope of the nodes.
        data_format: `NHWC` (None) or `NCHW`.
        dilations: the newer name of `rate`.
    """
    with get_default_graph().name_scope(name or "separable_conv2d") as scope:
        apart = depthwise_conv2d(input, depthwise_filter, strides, padding, rate, "depthwise", data_format, dilations)
        form = data_format or "NHWC"
        return conv2d(apart, pointwise_filter, [1, 1, 1, 1], "VALID", data_format=form, name=scope)


def conv1d(
    value: Any = None,
    filters: Any = None,
    stride: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: Any = None,
    dilations: Any = None,
) -> Tensor:
    """A convolution of rows.

    Args:
        value: [batch, width, channels].
        filters: [width, channels in, channels out].
        stride: steps.
        padding: `SAME` or `VALID`.
        use_cudnn_on_gpu: changes nothing.
        data_format: `NWC` (None) or `NCW`.
        name: of the scope of the nodes.
        input: the newer name of `value`.
        dilations: steps between elements of the filter.
    """
    form = _FORMATS.get(data_format, data_format)
    axis = 2 if form == "NCHW" else 1
    with get_default_graph().name_scope(name or "conv1d") as scope:
        rows = output_of("ExpandDims", _first(value, input), axis)
        kernel = output_of("ExpandDims", filters, 0)
        steps, holes = ([1, int(one)] for one in (_only(stride), _only(dilations)))
        made = conv2d(rows, kernel, steps, padding, data_format=form or "NHWC", dilations=holes)
        return output_of("Squeeze", made, squeeze_dims=[axis], name=scope)


def _only(value: Any) -> Any:
    """A number that may be given as a list, for each dimension or for that of rows."""
    if isinstance(value, list | tuple):
        return max(value) if value else 1
    return 1 if value is None else value


def conv2d_transpose(
    value: Any = None,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """The images of which a convolution gives images of these sizes: its gradient.

    Args:
        value: images.
        filter: [height, width, channels out, channels in].
        output_shape: the sizes of what is made, for each dimension.
        strides: steps of the convolution.
        padding: `SAME` or `VALID`, of the convolution.
        data_format: `NHWC` or `NCHW`.
        name: of the node.
        input: the newer name of `value`.
        filters: the newer name of `filter`.
        dilations: steps between elements of the filter.
    """
    with get_default_graph().name_scope(name or "conv2d_transpose") as scope:
        given = _first(value, input)
        kernel, sizes = _first(filter, filters), convert_to_tensor(output_shape, "int32", "output_shape")
        attributes = windowed(strides, padding, data_format, dilations)
        return apply("Conv2DBackpropInput", [sizes, kernel, given], attributes, scope).outputs[0]


def conv2d_backprop_input(
    input_sizes: Any,
    filter: Any = None,
    out_backprop: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """The gradient of a convolution to its images.

    Args:
        input_sizes: of the images.
        filter: of the convolution.
        out_backprop: the gradient of what it gives.
        strides: its steps.
        padding: `SAME` or `VALID`.
        use_cudnn_on_gpu: is noted in the node, and changes nothing.
        data_format: `NHWC` or `NCHW`.
        dilations: steps between elements of the filter.
        name: of the node.
        filters: the newer name of `filter`.
    """
    attributes = {**windowed(strides, padding, data_format, dilations), "use_cudnn_on_gpu": use_cudnn_on_gpu}
    inputs = [input_sizes, _first(filter, filters), out_backprop]
    return apply("Conv2DBackpropInput", inputs, attributes, name).outputs[0]


def conv2d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of a convolution to its filter.

    Args:
        input: the images.
        filter_sizes: of the filter.
        out_backprop: the gradient of what it gives.
        strides: its steps.
        padding: `SAME` or `VALID`.
        use_cudnn_on_gpu: is noted in the node, and changes nothing.
        data_format: `NHWC` or `NCHW`.
        dilations: steps between elements of the filter.
        name: of the node.
    """
    attributes = {**windowed(strides, padding, data_format, dilations), "use_cudnn_on_gpu": use_cudnn_on_gpu}
    return apply("Conv2DBackpropFilter", [input, filter_sizes, out_backprop], attributes, name).outputs[0]


def atrous_conv2d(value: Any, filters: Any, rate: int, padding: str, name: str | None = None) -> Tensor:
    """A convolution of the images `value` by `filters` whose elements are `rate` pixels apart."""
    return conv2d(value, filters, [1, 1, 1, 1], padding, dilations=[rate, rate], name=name or "convolution")


def conv3d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """A convolution of volumes, [batch, depth, height, width, channels].

    Args:
        input: volumes.
        filter: [depth, height, width, channels in, channels out].
        strides: steps, one for each dimension.
        padding: `SAME` or `VALID`.
        data_format: `NDHWC` or `NCDHW`.
        dilations: steps between elements of the filter, for each dimension.
        name: of the node.
        filters: the newer name of `filter`.
    """
    attributes = {
        "strides": list(strides),
        "padding": padding,
        "data_format": data_format,
        "dilations": list(dilations),
    }
    return apply("Conv3D", [input, _first(filter, filters)], attributes, name).outputs[0]


def max_pool_with_argmax(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    Targmax: Any = None,
    name: str | None = None,
    output_dtype: Any = None,
    include_batch_in_index: bool = False,
) -> tuple[Tensor, Tensor]:
    """The greatest elements in windows of images, and where in these they are.

    Args:
        input: images.
        ksize: the sizes of windows, one for each dimension.
        strides: steps between windows, one for each dimension.
        padding: `SAME` or `VALID`.
        data_format: `NHWC`.
        Targmax: the type of the indices, None for int64.
        name: of the node.
        output_dtype: the newer name of `Targmax`.
        include_batch_in_index: whether indices count through all images, else each through its own.

    Raises:
        ValueError: the format is another.
    """
    if data_format != "NHWC":
        raise ValueError("data_format values other  than 'NHWC' are not supported")
    attributes = {
        "ksize": list(ksize),
        "strides": list(strides),
        "padding": padding,
        "Targmax": _first(Targmax, output_dtype) or "int64",
        "include_batch_in_index": include_batch_in_index,
    }
    values, where = apply("MaxPoolWithArgmax", [input], attributes, name).outputs
    return values, where


def _first(one: Any, other: Any) -> Any:
    return other if one is None else one
