"""Pools of volumes, and pools and convolutions that are told how many dimensions there are by what they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xlabench.tensorflow.framework.applying import apply
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.convolutions import conv1d, conv3d
from xlabench.tensorflow.ops.windows import conv2d

_LINES, _IMAGES, _VOLUMES = 3, 4, 5
"""Ranks of batches of rows, images and volumes with their channels."""


def _pool(op: str) -> Callable[..., Tensor]:
    def pool(
        input: Any, ksize: Any, strides: Any, padding: str, data_format: str = "NDHWC", name: str | None = None
    ) -> Tensor:
        attributes = {"ksize": list(ksize), "strides": list(strides), "padding": padding, "data_format": data_format}
        return apply(op, [input], attributes, name).outputs[0]

    pool.__name__ = pool.__qualname__ = {"MaxPool3D": "max_pool3d", "AvgPool3D": "avg_pool3d"}[op]
    pool.__doc__ = (
        f"{op} of the volumes `input` in windows of `ksize`, `strides` apart, one number for each dimension.\n\n"
        "`padding` is `SAME` or `VALID`, `data_format` `NDHWC` or `NCDHW`, `name` that of the node."
    )
    return pool


max_pool3d, avg_pool3d = _pool("MaxPool3D"), _pool("AvgPool3D")


def convolution(
    input: Any,
    filter: Any,
    padding: str,
    strides: Any = None,
    dilation_rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """A convolution of rows, images or volumes, by the rank of `input`.

    Args:
        input: [batch, sizes.., channels].
        filter: [sizes.., channels in, channels out].
        padding: `SAME` or `VALID`.
        strides: steps, one for each size; None for 1.
        dilation_rate: steps between elements of the filter, one for each size; None for 1.
        name: of the node.
        data_format: the order of dimensions, None for channels last.
        filters: the newer name of `filter`.
        dilations: the newer name of `dilation_rate`.

    Raises:
        ValueError: the rank is none of these.
    """
    value, kernel = convert_to_tensor(input), filter if filters is None else filters
    holes = dilation_rate if dilations is None else dilations
    rank = value.shape.rank
    if rank == _LINES:
        return conv1d(value, kernel, strides, padding, data_format=data_format, name=name, dilations=holes)
    if rank == _IMAGES:
        form = data_format or "NHWC"
        return conv2d(value, kernel, strides, padding, data_format=form, dilations=holes, name=name or "convolution")
    if rank == _VOLUMES:
        form = data_format or "NDHWC"
        steps, apart = (_around(one, form) for one in (strides, holes))
        return conv3d(value, kernel, steps, padding, form, apart, name or "convolution")
    raise ValueError(f"tf.nn.convolution takes rows, images or volumes with a batch and channels: {value}")


def _around(sizes: Any, data_format: str) -> list[int]:
    """Numbers for all dimensions of volumes."""
    inner = [1, 1, 1] if sizes is None else [sizes] * 3 if isinstance(sizes, int) else list(sizes)
    return [1, *inner, 1] if data_format == "NDHWC" else [1, 1, *inner]
