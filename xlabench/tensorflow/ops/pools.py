"""Pools of rows, images and volumes, by what they are given or by the kind of pool.

Args:
    input: [batch, sizes.., channels], or as `data_format` says.
    ksize: the windows: a number, one for each size, or one for each dimension.
    strides: how far windows are apart, so too.
    padding: `SAME` or `VALID`.
    data_format: the order of dimensions (`NWC`, `NHWC`, `NDHWC`, or channels first); None for channels last.
    name: of the nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor

_OPS = {("MAX", 2): "MaxPool", ("AVG", 2): "AvgPool", ("MAX", 3): "MaxPool3D", ("AVG", 3): "AvgPool3D"}
_FORMATS = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
_MOST_SIZES = 3
"""Sizes of volumes, the most that a pool may have besides batch and channels."""


def _is_first(data_format: str | None) -> bool:
    return data_format is not None and data_format.startswith("NC")


def _spread(value: Any, sizes: int, what: str) -> list[int]:
    """A number for each size.

    Raises:
        ValueError: there are neither one, nor as many, nor those of batch and channels besides.
    """
    listed = [int(value)] if isinstance(value, int) else [int(one) for one in value]
    if len(listed) == 1:
        return listed * sizes
    if len(listed) == sizes:
        return listed
    raise ValueError(f"`{what}` should be of length 1, {sizes} or {sizes + 2}. Received: {what}={value}")


def _inner(value: Any, sizes: int, data_format: str | None, what: str) -> list[int]:
    """The same of what may also have numbers for batch and channels."""
    if not isinstance(value, int) and len(value) == sizes + 2:
        listed = [int(one) for one in value]
        return listed[2:] if _is_first(data_format) else listed[1:-1]
    return _spread(value, sizes, what)


def _around(inner: Sequence[int], data_format: str | None) -> list[int]:
    return [1, 1, *inner] if _is_first(data_format) else [1, *inner, 1]


def _pooled(kind: str, value: Tensor, attributes: dict[str, Any], name: str | None) -> Tensor:
    """A pool of what has one, two or three sizes, which the attributes give windows and strides for."""
    form = attributes["data_format"]
    windows, steps = attributes["ksize"], attributes["strides"]
    sizes = len(windows)
    padding = attributes["padding"]
    if sizes > 1:
        given = {"ksize": _around(windows, form), "strides": _around(steps, form)}
        return apply(
            _OPS[kind, sizes], [value], {**given, "padding": padding, "data_format": form or _FORMATS[sizes]}, name
        ).outputs[0]
    axis, wide = (2, "NCHW") if _is_first(form) else (1, "NHWC")
    given = {"ksize": _around([1, *windows], wide), "strides": _around([1, *steps], wide)}
    images = output_of("ExpandDims", value, axis)
    made = apply(_OPS[kind, 2], [images], {**given, "padding": padding, "data_format": wide}, name).outputs[0]
    return output_of("Squeeze", made, squeeze_dims=[axis])


def _by_rank(kind: str, public: str, sizes: int | None = None) -> Callable[..., Tensor]:
    """A pool of as many sizes as its input has, or as is said."""

    def pool(
        input: Any, ksize: Any, strides: Any, padding: str, data_format: str | None = None, name: str | None = None
    ) -> Tensor:
        value = convert_to_tensor(input, name="input")
        rank = value.shape.rank if sizes is None else sizes + 2
        count = (len(data_format) if rank is None and data_format is not None else rank or 0) - 2
        if not 1 <= count <= _MOST_SIZES:
            raise ValueError(f"`input.shape.rank` must be 3, 4 or 5. Received: input.shape={value.shape}")
        attributes = {
            "ksize": _inner(ksize, count, data_format, "ksize"),
            "strides": _inner(strides, count, data_format, "strides"),
            "padding": padding,
            "data_format": data_format,
        }
        return _pooled(kind, value, attributes, name)

    pool.__name__ = pool.__qualname__ = public
    pool.__doc__ = f"{'The greatest' if kind == 'MAX' else 'The mean'} of each window of `input`."
    return pool


max_pool_v2, avg_pool_v2 = _by_rank("MAX", "max_pool_v2"), _by_rank("AVG", "avg_pool_v2")
max_pool2d = _by_rank("MAX", "max_pool2d", 2)
max_pool1d, avg_pool1d = _by_rank("MAX", "max_pool1d", 1), _by_rank("AVG", "avg_pool1d", 1)


def pool(
    input: Any,
    window_shape: Sequence[int],
    pooling_type: str,
    padding: str,
    dilation_rate: Any = None,
    strides: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """A pool of a kind that is named.

    Args:
        input: [batch, sizes.., channels], or as `data_format` says.
        window_shape: the windows, a number for each size.
        pooling_type: `MAX` or `AVG`.
        padding: `SAME` or `VALID`.
        dilation_rate: steps between elements of a window, a number for each size; None for 1.
        strides: how far windows are apart, so too.
        name: of the scope of the nodes.
        data_format: the order of dimensions, None for channels last.
        dilations: the newer name of `dilation_rate`.

    Raises:
        ValueError: the kind is none, or these do not go together.
    """
    windows = [int(one) for one in window_shape]
    sizes = len(windows)
    if not 1 <= sizes <= _MOST_SIZES:
        raise ValueError(f"`len(window_shape)` must be 1, 2, or 3. Received: window_shape={window_shape}")
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"{sizes}-D {pooling_type} pooling is not supported.")
    steps = _spread(1 if strides is None else strides, sizes, "strides")
    given = dilation_rate if dilations is None else dilations
    holes = _spread(1 if given is None else given, sizes, "dilation_rate")
    _check(windows, steps, holes, padding)
    attributes = {"ksize": windows, "strides": steps, "padding": padding, "data_format": data_format}
    with get_default_graph().name_scope(name or f"{pooling_type.lower()}_pool") as scope:
        value = convert_to_tensor(input, name="input")
        if set(holes) == {1}:
            return _pooled(pooling_type, value, attributes, scope)
        return _dilated(pooling_type, value, attributes, holes)


def _check(windows: Sequence[int], steps: Sequence[int], holes: Sequence[int], padding: str) -> None:
    if max(steps) > 1 and max(holes) > 1:
        raise ValueError(f"`strides > 1` not supported in conjunction with `dilation_rate > 1`: {steps} and {holes}")
    if padding == "SAME" and max(holes) > 1:
        raise ValueError(f"pooling with 'SAME' padding is not implemented for `dilation_rate` > 1: {holes}")
    if any(step > window for step, window in zip(steps, windows, strict=True)):
        raise ValueError(f"`strides` > `window_shape` not supported: {steps} and {windows}")


def _dilated(kind: str, value: Tensor, attributes: dict[str, Any], holes: Sequence[int]) -> Tensor:
    """A pool whose windows have holes: of the batches that elements a hole apart are."""
    first = 2 if _is_first(attributes["data_format"]) else 1
    sizes: list[Any] = value.shape.as_list()[first : first + len(holes)] if value.shape.rank is not None else [None]
    if None in sizes:
        raise ValueError(f"tf.nn.pool with dilation_rate takes tensors of known sizes here: {value}")
    behind = [-size % hole for size, hole in zip(sizes, holes, strict=True)]
    outer = [[0, 0]] * (first - 1)
    paddings, blocks = [*outer, *([0, one] for one in behind)], [*[1] * (first - 1), *holes]
    apart = output_of("SpaceToBatchND", value, blocks, paddings)
    return output_of("BatchToSpaceND", _pooled(kind, apart, attributes, None), blocks, paddings)
