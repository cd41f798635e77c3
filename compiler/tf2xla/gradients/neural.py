"""Softmax, its losses, and biases."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.tf2xla.record import Differentiate
from compiler.tf2xla.terms import Built, Output


def _sum_of_rows(x: Output) -> Output:
    return x.op("Sum", [-1], keep_dims=True)


def _softmax(node: Built, g: Output) -> Output:
    y = node.output
    return (g - _sum_of_rows(g * y)) * y


def _log_softmax(node: Built, g: Output) -> Output:
    return g - _sum_of_rows(g) * node.output.op("Exp")


def _rows(g: Output, matrix: Output) -> Output:
    """Each row times its number."""
    return g.op("ExpandDims", -1) * matrix


def _through_loss(node: Built, of_loss: Output, of_gradient: Output | None) -> Output:
    """To the logits: by the gradient that the op gives itself, and by that gradient's own gradient."""
    found = _rows(of_loss, node["backprop"])
    if of_gradient is None or of_gradient.built.node.op == "ZerosLike":
        return found
    soft = node["features"].op("Softmax")
    return found + (of_gradient - _sum_of_rows(of_gradient * soft)) * soft


def _cross_entropy(node: Built, of_loss: Output, of_gradient: Output | None) -> Sequence[Output]:
    return _through_loss(node, of_loss, of_gradient), _rows(of_loss, -node["features"].op("LogSoftmax"))


def _sparse_cross_entropy(node: Built, of_loss: Output, of_gradient: Output | None) -> Output:
    return _through_loss(node, of_loss, of_gradient)


def _bias(node: Built, g: Output) -> Sequence[Output]:
    return g, g.op("BiasAddGrad", data_format=node.attribute("data_format"))


def _plain_bias(node: Built, g: Output) -> Sequence[Output]:
    assert node["value"].rank is not None, "a bias is added to arrays of a known rank"
    return g, g.op("Sum", list(range(node["value"].rank - 1)))


GRADIENTS: dict[str, Differentiate] = {
    "Softmax": _softmax,
    "LogSoftmax": _log_softmax,
    "SoftmaxCrossEntropyWithLogits": _cross_entropy,
    "SparseSoftmaxCrossEntropyWithLogits": _sparse_cross_entropy,
    "BiasAdd": _bias,
    "BiasAddV1": _plain_bias,
    "L2Loss": lambda node, g: node["t"] * g,
}
