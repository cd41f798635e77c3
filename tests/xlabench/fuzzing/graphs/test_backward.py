"""What follows from another op is drawn after it: sizes, arrays and windows are those of that one."""

import numpy as np
import pytest

from compiler.tf import BY_NAME, RECORDS
from xlabench.fuzzing.graphs import backward, operands
from xlabench.fuzzing.graphs.drawing import PLAIN, TYPES, Drawer, Fed, dims_of
from xlabench.tensorflow.framework.graph import Graph

SEEDS = range(12)


def drawn(op, seed):
    drawer = Drawer(Graph(), np.random.default_rng(seed), TYPES, PLAIN, Fed())
    drawer.pool.append(drawer.source("float32", (2, 3)))
    return drawer.attempt(op)


def test_both_ops_are_drawn_and_no_table_says_what_the_later_takes():
    assert backward.FORWARD.keys() | set(backward.FORWARD.values()) <= set(PLAIN)
    assert not backward.FORWARD.keys() & operands.SHAPES.keys()


@pytest.mark.parametrize("op", backward.FORWARD)
def test_a_gradient_goes_with_what_it_is_the_gradient_of(op):
    found = [made[0] for made in (drawn(op, seed) for seed in SEEDS) if made]
    assert found, "none was taken"
    for one in found:
        taken = list(one.op.inputs)
        assert one.op.type == op
        names = [port.name for port in RECORDS[op].signature.inputs]
        assert len(taken) == len(names)
        assert all(dims_of(tensor) is not None for tensor in taken)


def test_windows_are_those_of_the_first_op():
    for one in (made[0] for made in (drawn("MaxPoolGradV2", seed) for seed in SEEDS) if made):
        image, result, gradient, *windows = one.op.inputs
        stated = result.op.built.node.attributes
        assert [stated["ksize"].values, stated["strides"].values] == [
            tuple(window.op.built.node.attributes["value"].array()) for window in windows
        ]
        assert result.op.inputs[0] is image
        assert dims_of(gradient) == dims_of(result)


def test_sizes_that_are_not_known_are_refused():
    drawer = Drawer(Graph(), np.random.default_rng(0), TYPES, PLAIN, Fed())
    image = drawer.create("Placeholder", [], dtype=BY_NAME["float32"], shape=[2, None, 4, 1])
    window = [1, 2, 2, 1]
    made = drawer.create("MaxPool", image, ksize=window, strides=window, padding="SAME")
    with pytest.raises(ValueError, match="are not known"):
        backward.taken("MaxPoolGrad", made, lambda *_: None, lambda *_: None)
