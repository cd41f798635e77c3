"""Calls of nodes that are several ops: each of what may follow, alone and one after another."""

import numpy as np
from op_image_rows import stated
from op_values import numbers

from compiler.graph import BY_NAME, AttributeList

FOLLOWERS = (
    (b"BiasAdd",),
    (b"BiasAdd", b"Relu"),
    (b"BiasAdd", b"Relu6"),
    (b"BiasAdd", b"Elu"),
    (b"BiasAdd", b"LeakyRelu"),
)
NORMALISED = ((b"FusedBatchNorm",), (b"FusedBatchNorm", b"Relu"), (b"FusedBatchNorm", b"LeakyRelu"))
ONLY_OF_PRODUCTS = ((b"BiasAdd", b"Tanh"), (b"BiasAdd", b"Sigmoid"))


def _following(names, element_type):
    """What a node says of what follows, and what that takes of four channels."""
    count = 4 if names[0] == b"FusedBatchNorm" else 1
    given = [numbers(element_type, 4, seed=n) for n in range(2, 2 + count)]
    given[3:] = [np.abs(one) + 1 for one in given[3:]]
    return {"fused_ops": AttributeList("s", names), "num_args": count, "epsilon": 0.125, "leakyrelu_alpha": 0.25}, given


def convolutions(element_type):
    x, w = numbers(element_type, 2, 5, 6, 3), numbers(element_type, 3, 2, 3, 4, seed=1)
    kind = BY_NAME[np.dtype(element_type.dtype).name]
    for names in (*FOLLOWERS, *NORMALISED):
        attributes, given = _following(names, element_type)
        types = {"TArgs": AttributeList("type", (kind,) * len(given))}
        yield {**stated((1, 2)), **attributes, **types}, [x, w, *given]


def products(element_type):
    a, b = numbers(element_type, 3, 2), numbers(element_type, 3, 4, seed=1)
    for names in (*FOLLOWERS, *ONLY_OF_PRODUCTS):
        attributes, given = _following(names, element_type)
        yield {**attributes, "transpose_a": True}, [a, b, *given]


def batches(element_type):
    x, scale, offset = (numbers(element_type, *dims, seed=n) for n, dims in enumerate(((2, 3, 2, 4), (4,), (4,))))
    mean, variance = numbers(element_type, 4, seed=4), np.abs(numbers(element_type, 4, seed=5)) + 1
    for name in (b"Relu", b"Identity"):
        attributes = {"activation_mode": name, "is_training": False, "U": BY_NAME["float32"]}
        yield attributes, [x, scale, offset, mean, variance]


def plain(element_type):
    """Images, more dimensions of batches, and volumes."""
    for attributes, image, kernel in (
        ({}, (2, 5, 6, 3), (3, 2, 3, 4)),
        ({"batch_dims": 2}, (2, 1, 5, 6, 3), (3, 2, 3, 4)),
        ({"dilations": AttributeList("i", (1, 2, 1, 1))}, (1, 5, 6, 2), (2, 2, 2, 3)),
        ({}, (1, 4, 3, 4, 2), (2, 1, 2, 2, 3)),
    ):
        rank = len(kernel)
        strides = AttributeList("i", (1, 2, *(1,) * (rank - 2)))
        strides = AttributeList("i", (1,) * rank) if "dilations" in attributes else strides
        given = [numbers(element_type, *image), numbers(element_type, *kernel, seed=1)]
        yield {"strides": strides, "padding": b"SAME", **attributes}, given


def compositions(element_type):
    for names in ((b"Tanh", b"Square", b"Neg"), (b"Relu6", b"Exp"), ()):
        yield {"op_names": AttributeList("s", names)}, [numbers(element_type, 2, 3)]


ROWS = {
    "_FusedConv2D": convolutions,
    "_FusedMatMul": products,
    "_FusedBatchNormEx": batches,
    "Conv": plain,
    "_UnaryOpsComposition": compositions,
}
"""Of f32, of which all of them have kernels."""
