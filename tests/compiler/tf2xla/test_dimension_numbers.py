"""Messages of dimension numbers, packed and not; what is none is an error of the node."""

import numpy as np
import pytest
from graph_nodes import FLOAT, node, placeholder, run
from op_xla_rows import message

import compiler
from compiler.graph import Graph
from compiler.tf2xla import lower

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def product(numbers):
    call = node("z", "XlaDot", "x", "y", T=FLOAT, dimension_numbers=numbers, precision_config=b"")
    graph = Graph([placeholder("x"), placeholder("y"), call])
    return run(lower(graph, {"x": X, "y": X}, ["z"]))[0]


@pytest.mark.parametrize("numbers", [message(f1=(1,), f2=(1,)), message(f1=1, f2=1)], ids=["packed", "single"])
def test_numbers_are_read_in_both_forms(numbers):
    np.testing.assert_array_equal(product(numbers), X @ X.T)


@pytest.mark.parametrize("numbers", [b"\x0a\x05\x01", b"\x0d\0\0\0\0", b"\x08", b"\x0a\x01\xff"])
def test_what_is_no_message_is_refused(numbers):
    with pytest.raises(
        compiler.InputError, match=r"node 'z' \(XlaDot\): its attribute 'dimension_numbers' is no message"
    ):
        product(numbers)
