"""What no signature says: functions in branches and loops, variables and who waits for whom, dead values, gradients."""

import numpy as np
import pytest

from compiler.tf import BY_NAME
from xlabench.fuzzing.graphs.drawing import PLAIN, TYPES, Drawer, Fed, dims_of
from xlabench.fuzzing.graphs.structures import KINDS, Structures, Variable
from xlabench.tensorflow.framework.graph import Graph

OPS = {
    "branch": {"If", "StatelessIf"},
    "loop": {"While", "StatelessWhile"},
    "case": {"StatelessCase"},
    "call": {"PartitionedCall"},
    "dead": {"Switch"},
    "variable": {"VarHandleOp"},
    "gradient": {"TanhGrad"},
}
"""An op of each kind, by which it is known."""


def drawn(kind, seed):
    """What is drawn of a kind behind a tanh of an array that is fed; None where it does not go together."""
    drawer = Drawer(Graph(), np.random.default_rng(seed), TYPES, PLAIN, Fed())
    x = drawer.create("Placeholder", [], dtype=BY_NAME["float32"], shape=[2, 3])[0]
    drawer.pool += [x, *drawer.create("Tanh", [x])]
    structures = Structures(drawer)
    KINDS[kind](structures)
    return structures, drawer


def types_in(drawer):
    return [one.type for one in drawer.graph.get_operations()]


def test_every_kind_is_known_by_an_op():
    assert OPS.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_drawn_with_what_it_is_known_by(kind):
    _, drawer = drawn(kind, 1)
    assert OPS[kind] & set(types_in(drawer))
    assert all(dims_of(one) is not None for one in drawer.pool)


@pytest.mark.parametrize(("kind", "functions"), [("branch", {2}), ("loop", {2}), ("case", {2, 3}), ("call", {1})])
def test_functions_keep_type_and_sizes_of_what_they_take(kind, functions):
    _, drawer = drawn(kind, 2)
    assert len(drawer.graph.definition.functions) in functions
    made = drawer.pool[-1]
    assert (made.dtype.base_dtype.name, dims_of(made)) == ("float32", (2, 3))


def test_what_does_not_go_together_adds_nothing_that_others_take():
    drawer = Drawer(Graph(), np.random.default_rng(0), TYPES, (), Fed())
    for _ in range(9):
        Structures(drawer).draw()  # on no arrays
    assert drawer.pool == []


def test_who_changes_a_variable_waits_for_all_who_read_it_and_they_for_the_change_before():
    _, drawer = drawn("call", 3)
    variable = Variable(drawer, drawer.pool[0])
    variable.change("AssignVariableOp")
    (first,) = variable.last
    reads = [variable.read().op, variable.read().op]
    variable.change("AssignAddVariableOp")
    (second,) = variable.last
    assert [one.control_inputs for one in reads] == [[first], [first]]
    assert set(second.control_inputs) == {first, *reads}
    assert variable.dtype == np.float32


def test_truth_values_are_assigned_and_not_added():
    _, drawer = drawn("call", 4)
    variable = Variable(drawer, drawer.constant(np.ones((), np.bool_)))
    variable.change("AssignAddVariableOp")
    assert [one.type for one in variable.last] == ["AssignVariableOp"]
