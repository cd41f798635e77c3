"""Numbers rounded to few bits, as if they were not within the range; colours."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.tf2xla.record import Differentiate, no_gradient
from compiler.tf2xla.terms import Built, Gradient, Output

_NAMES = ("min", "max", "num_bits", "narrow_range")


def _rounded(node: Built, g: Output) -> Sequence[Gradient]:
    stated = {name: node.attribute(name) for name in _NAMES if name in node.signature.attributes}
    return node.maker.add(f"{node.node.op}Gradient", g, *node.inputs, **stated).outputs


def _both(node: Built, g: Output) -> Sequence[Gradient]:
    stated = {"axis": node.attribute("axis")}
    return node.maker.add("QuantizeAndDequantizeV4Grad", g, *node.inputs, **stated).outputs


def _channels(x: Output) -> list[Output]:
    """The three of the last dimension."""
    return [x.op("StridedSlice", [0, n], [0, n + 1], [1, 1], ellipsis_mask=1, shrink_axis_mask=2) for n in range(3)]


def _to_hsv(node: Built, g: Output) -> Output:
    """Of equal colours red counts as the greatest before green, and blue as the least before green."""
    red, green, blue = _channels(node["images"])
    of_hue, of_saturation, of_value = _channels(g)
    kind = red.type.base

    def where(condition: Output) -> Output:
        return condition.op("Cast", DstT=kind)

    is_red = where(red.op("GreaterEqual", blue).op("LogicalAnd", red.op("GreaterEqual", green)))
    is_green = where(green.op("Greater", red).op("LogicalAnd", green.op("GreaterEqual", blue)))
    is_blue = 1 - is_red - is_green
    least_blue = where(blue.op("LessEqual", red).op("LogicalAnd", blue.op("LessEqual", green)))
    least_green = where(green.op("LessEqual", red).op("LogicalAnd", green.op("Less", blue)))
    least_red = 1 - least_blue - least_green
    value = is_red * red + is_green * green + is_blue * blue
    least = least_red * red + least_green * green + least_blue * blue
    spread = value - least
    inverse = value.op("OnesLike").op("DivNoNan", value)
    scale = (spread.op("OnesLike").op("DivNoNan", spread)) * (1 / 6)
    numerator = is_red * (green - blue) + is_green * (blue - red) + is_blue * (red - green)
    by_spread = -of_hue * scale * numerator.op("DivNoNan", spread)
    of_greatest = of_value + of_saturation * least * inverse * inverse + by_spread
    of_least = -of_saturation * inverse - by_spread
    scaled = of_hue * scale
    channels = [
        is_red * of_greatest + least_red * of_least + scaled * (is_blue - is_green),
        is_green * of_greatest + least_green * of_least + scaled * (is_red - is_blue),
        is_blue * of_greatest + least_blue * of_least + scaled * (is_green - is_red),
    ]
    return node.maker.add("Pack", channels, axis=-1).output


_FAKE = "FakeQuantWithMinMax"
GRADIENTS: dict[str, Differentiate] = {
    **dict.fromkeys((f"{_FAKE}Args", f"{_FAKE}Vars", f"{_FAKE}VarsPerChannel"), _rounded),
    **dict.fromkeys(("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3"), lambda _node, g: g),
    **dict.fromkeys(("QuantizeAndDequantizeV4", "QuantizeAndDequantizeV4Grad"), _both),
    "RGBToHSV": _to_hsv,
    "HSVToRGB": no_gradient,
    **{f"{_FAKE}{name}Gradient": no_gradient for name in ("Args", "Vars", "VarsPerChannel")},
}
