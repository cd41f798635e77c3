"""Gradients of gradients: of ops that differentiate others, themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compiler.tf2xla.gradients.spreading import conj, rank_of, sizes
from compiler.tf2xla.record import Differentiate
from compiler.tf2xla.terms import Built, Gradient, Output


def _linear(op: str) -> Differentiate:
    """Of a gradient that is the incoming one where the other input lies in a range, and 0, or a part, elsewhere."""

    def formula(node: Built, g: Output) -> Sequence[Gradient]:
        x = node["features"]
        stated = {"alpha": node.attribute("alpha")} if op == "LeakyReluGrad" else {}
        return [node.add(op, g, x, **stated), x.op("ZerosLike")]

    return formula


def _grown(op: str) -> Differentiate:
    """Of a gradient that is the incoming one times y and a number, where the result y is below 0."""

    def formula(node: Built, g: Output) -> Sequence[Gradient]:
        y = node["outputs"]
        zeros = y.op("ZerosLike")
        return [node.add(op, g, y), y.op("Less", zeros).op("SelectV2", g * node["gradients"], zeros)]

    return formula


def _softplus(node: Built, g: Output) -> Sequence[Gradient]:
    before, x = node.inputs
    return [g.op("SoftplusGrad", x), g * before / ((-x).op("Exp") + 2 + x.op("Exp"))]


_OF_CONJUGATE = frozenset(("ReciprocalGrad", "InvGrad", "RsqrtGrad"))
"""Ops that take the conjugate of y."""
Second = Callable[[Output, Output, Output], Output]


def _by_result(op: str, of_y: Second) -> Differentiate:
    """Of a gradient by the result y: a formula of y, the incoming gradient and g for that of y."""

    def formula(node: Built, g: Output) -> Sequence[Gradient]:
        y, before = conj(node["y"]), node["dy"]
        if op in _OF_CONJUGATE:
            return [of_y(y, before, conj(g)), node.add(op, y, g)]
        return [of_y(y, conj(before), g), node.add(op, y, g)]

    return formula


def _root(node: Built, g: Output) -> Sequence[Gradient]:
    y = node["y"]
    scaled = g / y
    return [-conj(scaled) * node.output, scaled * 0.5]


def _bias(node: Built, g: Output) -> Output:
    """Spread over all but the channels."""
    x = node["out_backprop"]
    rank = rank_of(node, x)
    if node.attribute("data_format") == b"NCHW" and rank > 2:
        g = g.op("Reshape", np.array([-1, *[1] * (rank - 2)], np.int32))
    return g.op("BroadcastTo", sizes(x))


GRADIENTS: dict[str, Differentiate] = {
    **{op: _linear(op) for op in ("ReluGrad", "Relu6Grad", "LeakyReluGrad")},
    **{op: _grown(op) for op in ("EluGrad", "SeluGrad")},
    "SoftplusGrad": _softplus,
    "SigmoidGrad": _by_result("SigmoidGrad", lambda y, dy, g: g * dy - g * dy * 2 * y),
    "TanhGrad": _by_result("TanhGrad", lambda y, dy, g: g * -2 * dy * y),
    "ReciprocalGrad": _by_result("ReciprocalGrad", lambda y, dy, g: g * -2 * dy * y),
    "InvGrad": _by_result("InvGrad", lambda y, dy, g: g * -2 * dy * y),
    "RsqrtGrad": _by_result("RsqrtGrad", lambda y, dy, g: g * -1.5 * dy * y.op("Square")),
    "SqrtGrad": _root,
    "BiasAddGrad": _bias,
}
