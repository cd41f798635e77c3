"""Colours of images: hue, saturation and value in place of red, green and blue, and images changed in them.

Images stand in the last dimension's three channels.  Changes are made in f32, as the kernels do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.expansion.expression import Expression, concatenate
from compiler.ir.types import F32
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import Record, record, table
from compiler.tf2xla.reducing import in_f32, total

_CHANNELS = 3
"""Red, green and blue; or hue, saturation and value."""
Channels = Sequence[Expression]


def _channels(operation: Operation, image: Expression, least: int) -> list[Expression]:
    dims = image.dims
    fits = len(dims) >= least and dims[-1] == _CHANNELS
    operation.require(fits, lambda: f"it takes {least} dimensions, the last of 3 channels, not {list(dims)}")
    outer = [(0, size) for size in dims[:-1]]
    return [image.slice(*outer, (n, n + 1)) for n in range(_CHANNELS)]


def _image(channels: Channels) -> Expression:
    return concatenate(list(channels), len(channels[0].dims) - 1)


def _to_hsv(colours: Channels) -> list[Expression]:
    red, green, blue = colours
    value = red.apply("maximum", green).apply("maximum", blue)
    spread = value - red.apply("minimum", green).apply("minimum", blue)
    zero = red.literal(0).spread(red.dims, ())
    saturation = value.compare("GT", 0).where(spread / value, zero)
    scale = red.literal(1 / 6).spread(red.dims, ()) / spread
    hue = green.compare("EQ", value).where(scale * (blue - red) + 2 / 6, scale * (red - green) + 4 / 6)
    hue = red.compare("EQ", value).where(scale * (green - blue), hue)
    hue = spread.compare("GT", 0).where(hue, zero)
    return [hue.compare("LT", 0).where(hue + 1, hue), saturation, value]


def _to_rgb(channels: Channels) -> list[Expression]:
    hue, saturation, value = channels
    sector = hue * 6
    slopes = [(sector - 3).apply("abs") - 1, -(sector - 2).apply("abs") + 2, -(sector - 4).apply("abs") + 2]
    rest = -saturation + 1
    return [(rest + saturation * hue.literal(0).apply("clamp", slope, 1)) * value for slope in slopes]


def _converted(convert: Callable[[Channels], list[Expression]], operation: Operation) -> Expression:
    return _image(convert(_channels(operation, operation["images"], 1)))


def _changed(
    name: str, channel: int, change: Callable[[Expression, Expression], Expression]
) -> Callable[..., Expression]:
    """One of hue, saturation and value changed by a number."""

    def lower(operation: Operation) -> Expression:
        image, by = operation["images"], operation[name]
        operation.require(not by.dims, f"its {name} must be a scalar")
        channels = _to_hsv(_channels(operation, image.to(F32), 3))
        channels[channel] = change(channels[channel], by)
        return _image(_to_rgb(channels)).to(image.type)

    return lower


def _turned(hue: Expression, by: Expression) -> Expression:
    found = (hue + by).apply("remainder", 1)
    return found.compare("LT", 0).where((found + 1).apply("remainder", 1), found)


def _scaled(saturation: Expression, by: Expression) -> Expression:
    return saturation.literal(0).apply("clamp", saturation * by, 1)


def _contrast(operation: Operation) -> Expression:
    """Further from, or nearer to, the mean of each channel."""
    image, factor = operation["images"], operation["contrast_factor"]
    operation.require(len(image.dims) >= 3, lambda: f"it takes images, not arrays of the sizes {list(image.dims)}")
    operation.require(not factor.dims, "its contrast_factor must be a scalar")
    rank = len(image.dims)
    wide = image.to(in_f32(image.type))
    mean = total(wide, (rank - 3, rank - 2)) / (image.dims[-3] * image.dims[-2])
    mean = mean.spread(image.dims, [*range(rank - 3), rank - 1])
    factor = factor.to(wide.type)
    return ((wide - mean) * factor + mean).to(image.type)


def _conversion(name: str, convert: Callable[[Channels], list[Expression]], doc: str) -> Record:
    text = "images: T -> output: T; T: {floats} = float32"
    return record(name, text, lambda operation: _converted(convert, operation), doc)


def _change(name: str, number: str, lower: Callable[..., Expression], doc: str) -> Record:
    return record(name, f"images: T, {number}: float32 -> output: T; T: {{float16 float32}} = float32", lower, doc)


RECORDS = table(
    _conversion("RGBToHSV", _to_hsv, "Hue, saturation and value of colours."),
    _conversion("HSVToRGB", _to_rgb, "Colours of hue, saturation and value."),
    _change("AdjustHue", "delta", _changed("delta", 0, _turned), "The hue turned."),
    _change("AdjustSaturation", "scale", _changed("scale", 1, _scaled), "The saturation scaled."),
    _change("AdjustContrastv2", "contrast_factor", _contrast, "The contrast scaled."),
)
