"""Convolutions and pools of images: functions whose strides and sizes may be given for two dimensions or for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xlabench.tensorflow.framework.applying import apply
from xlabench.tensorflow.framework.tensor import Tensor


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
        **windowed(strides, padding, data_format, dilations),
        "explicit_paddings": explicit,
        "use_cudnn_on_gpu": use_cudnn_on_gpu,
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
    dilations: Any = None,
) -> Tensor:
    """A convolution of each channel by itself.

    `input` are images, in the order that `data_format` says (`NHWC`, which None stands for, or `NCHW`); `filter` is
    [height, width, channels, results of a channel]. `strides` are steps, one for each dimension of the images,
    `padding` is `SAME` or `VALID`, and `rate` is the step between elements of the filter, one or two (None: 1);
    `dilations` is its newer name.
    """
    form = data_format or "NHWC"
    attributes = {
        "strides": list(strides),
        "padding": padding,
        "data_format": form,
        "dilations": spread((dilations if rate is None else rate) or 1, form),
    }
    return apply("DepthwiseConv2dNative", [input, filter], attributes, name or "depthwise").outputs[0]


def windowed(strides: Any, padding: Any, data_format: str, dilations: Any) -> dict[str, Any]:
    """The attributes that convolutions of images and their gradients share.

    Args:
        strides: steps: one, two (height, width), or one for each dimension.
        padding: as the node says it.
        data_format: `NHWC` or `NCHW`.
        dilations: steps between elements of the filter, as `strides`.
    """
    return {
        "strides": spread(strides, data_format),
        "padding": padding,
        "data_format": data_format,
        "dilations": spread(dilations, data_format),
    }


def spread(value: Any, data_format: str) -> list[int]:
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
            "ksize": spread(ksize, data_format),
            "strides": spread(strides, data_format),
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
