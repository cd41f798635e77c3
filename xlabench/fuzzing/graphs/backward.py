"""What ops that are parts of gradients take: it follows from another op, so that one is drawn first.

Each input is said in a word: `in0` and `out0` are an input and an output of the other op, `like:` an array of the same
type and sizes, `sizes:` the sizes themselves, and any other word an attribute of the other op, as a known value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from compiler.tf import RECORDS, AttributeList
from xlabench.fuzzing.graphs.operands import Array, Dims
from xlabench.tensorflow.framework.tensor import Tensor

_BACKWARD: Mapping[str, tuple[str, str]] = {
    "AvgPoolGrad": ("AvgPool", "sizes:in0 like:out0"),
    "AvgPool3DGrad": ("AvgPool3D", "sizes:in0 like:out0"),
    "MaxPoolGrad": ("MaxPool", "in0 out0 like:out0"),
    "MaxPoolGradGrad": ("MaxPool", "in0 out0 like:in0"),
    "MaxPoolGradV2": ("MaxPool", "in0 out0 like:out0 ksize strides"),
    "MaxPoolGradGradV2": ("MaxPool", "in0 out0 like:in0 ksize strides"),
    "MaxPool3DGrad": ("MaxPool3D", "in0 out0 like:out0"),
    "MaxPool3DGradGrad": ("MaxPool3D", "in0 out0 like:in0"),
    "MaxPoolGradWithArgmax": ("MaxPoolWithArgmax", "in0 like:out0 out1"),
    **{
        f"{name}Backprop{of}{suffix}": (name, "sizes:in0 in1 like:out0" if of == "Input" else "in0 sizes:in1 like:out0")
        for name, suffix in (("Conv2D", ""), ("Conv3D", "V2"), ("DepthwiseConv2dNative", ""))
        for of in ("Input", "Filter")
    },
    **{f"Dilation2DBackprop{of}": ("Dilation2D", "in0 in1 like:out0") for of in ("Input", "Filter")},
    "CropAndResizeGradImage": ("CropAndResize", "like:out0 in1 in2 sizes:in0"),
    "CropAndResizeGradBoxes": ("CropAndResize", "like:out0 in0 in1 in2"),
}
FORWARD: Mapping[str, str] = {name: forward for name, (forward, _) in _BACKWARD.items()}
"""The op that is drawn first, by the op whose inputs follow from it."""


def taken(
    op: str,
    made: Sequence[Tensor],
    like: Callable[[str, Dims], Tensor],
    known: Callable[[Array], Tensor],
) -> tuple[list[Tensor], dict[str, Any]]:
    """The inputs and the attributes of an op, by the outputs of the one that was drawn first.

    Args:
        op: in `FORWARD`.
        made: the outputs of the other op.
        like: gives an array of a type and sizes.
        known: gives a constant.

    Raises:
        ValueError: the sizes of what the other op gives are not known.
    """
    other = made[0].op
    attributes = other.built.node.attributes

    def tensor(word: str) -> Tensor:
        return other.inputs[int(word[-1])] if word.startswith("in") else made[int(word[-1])]

    def one(word: str) -> Tensor:
        kind, _, of = word.rpartition(":")
        if kind:
            found = tensor(of)
            dims = found.output.shape.static
            if dims is None:
                raise ValueError(f"the sizes of {found.name} are not known")
            return like(found.dtype.base_dtype.name, dims) if kind == "like" else known(np.array(dims, np.int32))
        stated = attributes.get(word)
        if isinstance(stated, AttributeList):
            return known(np.array(stated.values, np.int32))
        return tensor(word)

    signature = RECORDS[op].signature
    by_inputs = {port.type for port in signature.inputs}
    shared = {name: attributes[name] for name in signature.attributes if name in attributes and name not in by_inputs}
    return [one(word) for word in _BACKWARD[op][1].split()], shared
