"""Special functions, whose derivatives are such functions, or bells and powers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from compiler.tf2xla.gradients.spreading import unspread
from compiler.tf2xla.record import Differentiate, no_gradient
from compiler.tf2xla.terms import Built, Gradient, Output


def _exp(x: Output) -> Output:
    return x.op("Exp")


def _i0(node: Built, g: Output) -> Output:
    x = node["x"]
    return g * (x.op("BesselI1e") - x.op("Sign") * node.output)


def _of_order_one(of_order_zero: str) -> Differentiate:
    """At 0, where the formula divides by x, a half."""

    def formula(node: Built, g: Output) -> Output:
        x, y = node["x"], node.output
        half = node.constant(0.5, x.type.base)
        return g * x.op("Equal", x.op("ZerosLike")).op("SelectV2", half, x.op(of_order_zero) - y / x)

    return formula


def _i1(node: Built, g: Output) -> Output:
    """At 0, where the formula divides by x, a half."""
    x, y = node["x"], node.output
    slope = x.op("BesselI0e") - y * (x.op("Sign") + x.op("Reciprocal"))
    half = node.constant(0.5, x.type.base)
    return g * x.op("Equal", x.op("ZerosLike")).op("SelectV2", half, slope)


def _k1e(node: Built, g: Output) -> Output:
    x, y = node["x"], node.output
    return g * (y * (1 - x.op("Reciprocal")) - x.op("BesselK0e"))


def _fresnel(wave: str) -> Differentiate:
    return lambda node, g: g * (node["x"].op("Square") * (math.pi / 2)).op(wave)


def _spence(node: Built, g: Output) -> Output:
    """At 1, where the formula is 0 over 0, -1."""
    x = node["x"]
    ones = x.op("OnesLike")
    return g * x.op("Equal", ones).op("SelectV2", -ones, x.op("Log") / (1 - x))


def _incomplete(sign: int) -> Differentiate:
    def formula(node: Built, g: Output) -> Sequence[Gradient]:
        a, x = node.inputs
        g = g if sign > 0 else -g
        of_x = _exp((a - 1) * x.op("Log") - x - a.op("Lgamma"))
        return unspread(node, (a, a.op("IgammaGradA", x) * g), (x, of_x * g))

    return formula


def _beta(node: Built, g: Output) -> Sequence[Gradient]:
    """By x alone; the others have no formula in TensorFlow."""
    a, b, x = node.inputs
    of_both = a.op("Lgamma") + b.op("Lgamma") - (a + b).op("Lgamma")
    slope = _exp((b - 1).op("Xlog1py", -x) + (a - 1).op("Xlogy", x) - of_both)
    return [None, None, unspread(node, (a, None), (x, slope * g))[1]]


def _by_second(slope: Callable[[Output, Output], Output]) -> Differentiate:
    """By the second argument alone; the first has no formula in TensorFlow."""

    def formula(node: Built, g: Output) -> Sequence[Gradient]:
        x, y = node.inputs
        return [None, unspread(node, (x, None), (y, slope(x, y) * g))[1]]

    return formula


def _next_after(node: Built, g: Output) -> Sequence[Gradient]:
    x, y = node.inputs
    return unspread(node, (x, g), (y, g.op("ZerosLike")))


GRADIENTS: dict[str, Differentiate] = {
    "Digamma": lambda node, g: g * node["x"].op("OnesLike").op("Polygamma", node["x"]),
    "Erfinv": lambda node, g: g * (_exp(node.output.op("Square")) * (math.sqrt(math.pi) / 2)),
    "Ndtri": lambda node, g: g * (_exp(node.output.op("Square") * 0.5) * math.sqrt(2 * math.pi)),
    "BesselI0": lambda node, g: g * node["x"].op("BesselI1"),
    "BesselI1": _of_order_one("BesselI0"),
    "BesselI0e": _i0,
    "BesselI1e": _i1,
    "BesselJ0": lambda node, g: -(g * node["x"].op("BesselJ1")),
    "BesselJ1": _of_order_one("BesselJ0"),
    "BesselY0": lambda node, g: -(g * node["x"].op("BesselY1")),
    "BesselY1": lambda node, g: g * (node["x"].op("BesselY0") - node.output / node["x"]),
    "BesselK0": lambda node, g: -(g * node["x"].op("BesselK1")),
    "BesselK0e": lambda node, g: g * (node.output - node["x"].op("BesselK1e")),
    "BesselK1": lambda node, g: g * (-node["x"].op("BesselK0") - node.output / node["x"]),
    "BesselK1e": _k1e,
    "Dawsn": lambda node, g: g * (1 - node["x"] * node.output * 2),
    "Expint": lambda node, g: g * (_exp(node["x"]) / node["x"]),
    "FresnelCos": _fresnel("Cos"),
    "FresnelSin": _fresnel("Sin"),
    "Spence": _spence,
    "Igamma": _incomplete(1),
    "Igammac": _incomplete(-1),
    "Betainc": _beta,
    "Zeta": _by_second(lambda x, q: -x * (x + 1).op("Zeta", q)),
    "Polygamma": _by_second(lambda n, x: (n + 1).op("Polygamma", x)),
    "NextAfter": _next_after,
    "ApproximateEqual": no_gradient,
}
