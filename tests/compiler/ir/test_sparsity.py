"""An operand that leaves out zeros is the one that it stands for."""

import numpy as np
import pytest

from compiler.ir.sparsity import Sparsity, configured, filled


def test_kept_elements_go_to_their_positions_in_their_blocks():
    found = filled(Sparsity(4, 0), np.array([7, 8, 9]), np.array([0, 3, 2]))
    assert found.tolist() == [7, 0, 0, 0, 0, 0, 0, 8, 0, 0, 9, 0]


def test_blocks_lie_along_their_dimension():
    found = filled(Sparsity(2, 1), np.array([[1, 2], [3, 4]]), np.array([[0, 1], [1, 0]]))
    assert found.tolist() == [[1, 0, 0, 2], [0, 3, 4, 0]]


def test_a_position_outside_of_its_block_loses_the_element():
    assert filled(Sparsity(2, 0), np.array([5, 6]), np.array([2, -1])).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("block", [1, 3])
def test_of_nothing_nothing_is_filled(block):
    assert filled(Sparsity(block, 0), np.zeros((0, 2)), np.zeros((0, 2), int)).shape == (0, 2)


def test_a_config_says_side_by_side_what_each_operand_keeps():
    text = "lhs={sparsity=1x4 dimension=2 stride=1},rhs = { sparsity = 2x4 dimension = 0 stride = 3 }"
    assert configured(text) == {"lhs": (1, 4, 2, 1), "rhs": (2, 4, 0, 3)}
    assert configured("") == {}
