"""What no kernel on a CPU fuses, against the same as nodes of their own; what is no op that is fused is refused."""

import numpy as np
import pytest
from graph_nodes import FLOAT, const, node, run

import compiler
from compiler.graph import AttributeList, Graph
from compiler.tf2xla import lower

A = np.array([[0.5, -1], [2, -3]], np.float32)
PRODUCT = {"num_args": 1, "T": FLOAT}


def fused(*names):
    """A product, a bias, and what follows."""
    stated = {**PRODUCT, "fused_ops": AttributeList("s", (b"BiasAdd", *names))}
    given = [const("a", A, np.float32), const("b", np.eye(2), np.float32), const("bias", [0, 1], np.float32)]
    return Graph([*given, node("y", "_FusedMatMul", "a", "b", "bias", **stated)])


@pytest.mark.parametrize(
    ("name", "right"),
    [
        (b"GeluExact", [[0.34573123, 0], [1.9544997, -0.04550026]]),
        (b"GeluApproximate", [[0.34571400, 0], [1.9545977, -0.04540230]]),
    ],
)
def test_a_product_is_followed_by_an_activation(name, right):
    np.testing.assert_allclose(run(lower(fused(name), {}, ["y"]))[0], right, rtol=1e-5)


def test_batches_are_added_to_before_they_are_activated():
    one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    images = {"x": A.reshape(1, 2, 2, 1), "side": np.ones((1, 2, 2, 1), np.float32)}
    values = {**images, "scale": one, "offset": zero, "mean": zero, "variance": one}
    nodes = [const(name, value, np.float32) for name, value in values.items()]
    stated = {"T": FLOAT, "U": FLOAT, "num_side_inputs": 1, "activation_mode": b"Relu", "is_training": False}
    takes = ("x", "scale", "offset", "mean", "variance", "side")
    graph = Graph([*nodes, node("y", "_FusedBatchNormEx", *takes, epsilon=0.0, **stated)])
    np.testing.assert_allclose(run(lower(graph, {}, ["y"]))[0].reshape(2, 2), [[1.5, 0], [3, 0]])


def test_what_no_graph_fuses_is_refused():
    with pytest.raises(compiler.UnsupportedError, match="it fuses Dance, which is none of Identity, Relu"):
        lower(fused(b"Dance"), {}, ["y"])
    with pytest.raises(compiler.InputError, match="it fuses more ops than it has arguments for"):
        lower(fused(b"BiasAdd"), {}, ["y"])
