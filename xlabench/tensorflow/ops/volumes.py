"""Pools of volumes, and pools and convolutions that are told how many dimensions there are by what they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.arrays import concat
from xlabench.tensorflow.ops.convolutions import conv1d, conv2d_transpose, conv3d
from xlabench.tensorflow.ops.windows import conv2d, windowed

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


def conv3d_transpose(
    value: Any,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """The gradient of a convolution of volumes, as what makes larger ones.

    Args:
        value: volumes.
        filter: [depth, height, width, channels out, channels in].
        output_shape: the sizes of the result.
        strides: steps: one, three, or one for each dimension.
        padding: `SAME` or `VALID`.
        data_format: `NDHWC` or `NCDHW`.
        name: of the node.
        input: the newer name of `value`.
        filters: the newer name of `filter`.
        dilations: steps between elements of the filter, as `strides`; None for 1.
    """
    form = data_format or "NDHWC"
    attributes = {
        "strides": _around(strides, form) if _is_inner(strides) else list(strides),
        "padding": padding,
        "data_format": form,
        "dilations": _around(dilations, form) if _is_inner(dilations) else list(dilations),
    }
    given = [output_shape, filter if filters is None else filters, value if input is None else input]
    return apply("Conv3DBackpropInputV2", given, attributes, name or "conv3d_transpose").outputs[0]


def _is_inner(sizes: Any) -> bool:
    """Whether numbers are for depth, height and width alone."""
    return sizes is None or isinstance(sizes, int) or len(sizes) in (1, _VOLUMES - 2)


def conv1d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The gradient of a convolution of rows, as what makes longer ones.

    Args:
        input: rows.
        filters: [width, channels out, channels in].
        output_shape: the sizes of the result.
        strides: the step.
        padding: `SAME` or `VALID`.
        data_format: `NWC` or `NCW`.
        dilations: the step between elements of the filter, None for 1.
        name: of the scope of the nodes.
    """
    axis, form = (2, "NCHW") if data_format == "NCW" else (1, "NHWC")
    with get_default_graph().name_scope(name or "conv1d_transpose") as scope:
        sizes = output_shape if hasattr(output_shape, "dense_tensor") else list(output_shape)
        pieces = [sizes[:axis], [1], sizes[axis:]]
        wanted = concat(pieces, 0) if hasattr(sizes, "dense_tensor") else [one for piece in pieces for one in piece]
        step, apart = (1 if one is None else one if isinstance(one, int) else max(one) for one in (strides, dilations))
        attributes = windowed([1, step], padding, form, [1, apart])
        images, kernel = output_of("ExpandDims", input, axis), output_of("ExpandDims", filters, 0)
        made = apply("Conv2DBackpropInput", [wanted, kernel, images], attributes, scope).outputs[0]
        return output_of("Squeeze", made, squeeze_dims=[axis])


def conv_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The gradient of a convolution of rows, images or volumes, by how many sizes `output_shape` has.

    `input`, `filters`, `strides`, `padding`, `data_format` (None: channels last), `dilations` and `name` are those of
    `conv1d_transpose`, `conv2d_transpose` or `conv3d_transpose`.

    Raises:
        ValueError: there are less than 3 sizes, or more than 5.
    """
    known = int(output_shape.shape[0]) if hasattr(output_shape, "dense_tensor") else len(output_shape)
    if known == _LINES:
        form = data_format or "NWC"
        return conv1d_transpose(input, filters, output_shape, strides, padding, form, dilations, name)
    if known not in (_IMAGES, _VOLUMES):
        raise ValueError(f"`output_shape` must be of length 3, 4 or 5. Received: output_shape={output_shape}")
    function = conv2d_transpose if known == _IMAGES else conv3d_transpose
    form = data_format or ("NHWC" if known == _IMAGES else "NDHWC")
    return function(input, filters, output_shape, strides, padding, form, name or "conv_transpose", dilations=dilations)
