"""What ops take that is not just any array: the tables are of ops that are drawn, and say what these take."""

import numpy as np
import pytest

from compiler.tf import RECORDS
from xlabench.fuzzing.graphs import backward, operands
from xlabench.fuzzing.graphs.drawing import PLAIN

DIMS = [(), (3,), (2, 1), (4, 1, 3)]


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def test_the_tables_are_of_ops_that_are_drawn():
    named = {key.partition(".")[0] for key in operands.KNOWN if "." in key}
    assert (operands.SHAPES.keys() | operands._STATED.keys() | named) - set(PLAIN) == set()


def test_there_are_dimensions_for_each_array_that_an_op_takes():
    for op, text in operands.SHAPES.items():
        record = RECORDS[op]
        arrays = [port.name for port in record.signature.inputs if port.name not in record.constants]
        assert len(text.split(" ")) == len(arrays), op


def test_equal_letters_are_equal_sizes_and_digits_are_themselves(rng):
    for _ in range(20):
        (m, k), (again, n), (three, also), scalar = operands.sizes("mk kn 3m ", rng)
        assert (again, three, also, scalar) == (k, 3, m, ())
        assert all(2 <= size <= operands.LARGEST_DIM for size in (m, k, n))


def test_inputs_of_an_einsum_are_what_its_equation_says():
    for equation in operands.EQUATIONS:
        taken, _, given = equation.partition("->")
        assert set(given) <= set(taken)
        assert len(set(given)) == len(given)


def test_there_is_a_value_for_each_input_that_must_be_known(rng):
    known = {
        f"{op}.{port}": operands.known_value(op, port, rng, (2, 3))
        for op in set(PLAIN) - backward.FORWARD.keys()
        for port in RECORDS[op].constants
    }
    assert [name for name, value in known.items() if value is None] == []


@pytest.mark.parametrize("dims", DIMS, ids=str)
def test_known_values_are_about_the_dimensions_of_the_first_array(dims, rng):
    for _ in range(20):
        assert sorted(operands.known_value("Transpose", "perm", rng, dims)) == list(range(len(dims)))
        shape = operands.known_value("Reshape", "shape", rng, dims)
        assert abs(np.prod(shape)) in (np.prod(dims), shape[0]), "one size may be left open"
        np.broadcast_to(np.zeros(dims), operands.known_value("BroadcastTo", "shape", rng, dims))
        assert np.shape(operands.known_value("Pad", "paddings", rng, dims)) in ((len(dims), 2), (0,))
        axis = operands.known_value("Cumsum", "axis", rng, dims)
        assert -len(dims) <= axis < max(1, len(dims))
        sizes = operands.known_value("Slice", "size", rng, dims)
        assert all(size == -1 or 1 <= size <= whole for size, whole in zip(sizes, dims, strict=True))


def test_the_name_of_the_op_goes_before_that_of_the_input(rng):
    assert operands.known_value("SplitV", "split_dim", rng, (1, 2, 3)) == 0
    assert operands.known_value("Add", "x", rng, (2,)) is None


def test_windows_move_along_the_dimensions_between_batch_and_features(rng):
    pool = operands.window("MaxPool3D", rng)
    assert [len(pool[name]) for name in ("strides", "ksize")] == [5, 5]
    assert pool["strides"][0] == pool["strides"][-1] == 1
    assert set(operands.window("Conv2D", rng)) == {"strides"}
    assert operands.window("DepthToSpace", rng) == {"block_size": 2}
    assert operands.window("Tanh", rng) == {}
