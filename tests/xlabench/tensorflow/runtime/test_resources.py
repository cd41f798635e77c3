"""A variable is made when it is first asked for, and has no value before it is given one."""

import numpy as np

from xlabench.tensorflow.runtime.resources import Resources


def test_a_name_is_one_variable_of_one_session():
    one, other = Resources(), Resources()
    assert one.variable("v") is one.variable("v")
    assert one.variable("v") is not other.variable("v")
    assert one.variable("v").value is None


def test_what_an_op_keeps_begins_with_its_value_once():
    resources = Resources()
    kept = resources.kept("state", np.array([1]))
    kept.value = np.array([2])
    assert resources.kept("state", np.array([1])).value.tolist() == [2]
