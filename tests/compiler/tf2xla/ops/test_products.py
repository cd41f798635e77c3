"""Products of two types, summed in a third: what TensorFlow 2.21 gives with `jit_compile=True`, for want of kernels."""

import numpy as np
import pytest

import compiler
from compiler.graph import BY_NAME, Graph, Node, PartialShape
from compiler.tf2xla import lower

ROW, COLUMN = [0.6, 1.5, 2.7], [0.6, 1.5, -1.2]
SUMS = {
    ("float32", "float32", "int32"): 0,
    ("float32", "float32", "int16"): 0,
    ("float32", "float32", "bfloat16"): -0.62890625,
    ("float64", "float64", "float32"): -0.63,
    ("float32", "float32", "complex64"): -0.63,
    ("complex64", "complex64", "float32"): -0.63,
    ("float32", "bfloat16", "float32"): -0.6375,
    ("int32", "float32", "float32"): -3.0,
    ("int8", "float32", "float32"): -3.0,
    ("float32", "int8", "int32"): -1,
    ("int32", "int32", "float32"): -7.0,
    ("int32", "int32", "int16"): -7,
}


def _array(type_, numbers):
    """Whole numbers are three times as large, so that something is left of them."""
    scaled = np.array(numbers) * (3 if type_.startswith("int") else 1)
    return (
        np.trunc(scaled).astype(type_) if type_.startswith("int") else scaled.astype(BY_NAME[type_].element_type.dtype)
    )


@pytest.mark.parametrize("types", SUMS, ids=" ".join)
def test_products_of_two_types_are_summed_in_the_widest(types):
    first, second, result = (BY_NAME[name] for name in types)
    nodes = [
        Node("x", "Placeholder", (), "", {"dtype": first, "shape": PartialShape((1, 3))}),
        Node("y", "Placeholder", (), "", {"dtype": second, "shape": PartialShape((3, 1))}),
        Node("z", "BatchMatMulV3", ("x", "y"), "", {"Ta": first, "Tb": second, "Tout": result}),
    ]
    feeds = {"x": _array(types[0], [ROW]), "y": _array(types[1], [[one] for one in COLUMN])}
    lowered = lower(Graph(nodes), feeds, ["z"])
    [found] = compiler.interpret(lowered.module, *feeds.values())
    assert found.dtype == result.element_type.dtype
    np.testing.assert_allclose(np.complex128(found), SUMS[types], rtol=1e-6 if result.element_type.bits > 16 else 0)
