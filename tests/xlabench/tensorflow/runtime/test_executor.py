"""Steps run in order; what takes something dead, or waits for it, does not; what fails says its node."""

import numpy as np
import pytest

from compiler.diagnostics import InputError, UnsupportedError
from compiler.tf import Node
from xlabench.tensorflow import errors
from xlabench.tensorflow.runtime.executor import run
from xlabench.tensorflow.runtime.kernels import DEAD
from xlabench.tensorflow.runtime.steps import Plan, Step


@pytest.fixture
def plan():
    """A plan of two inputs, to which steps are added."""
    found = Plan(slots=[None, None], feeds=[0, 1])

    def add(kernel, takes, *, op="Op", waits=(), outputs=1):
        first = len(found.slots)
        found.slots += [None] * outputs
        step = Step(len(found.steps), Node(f"n{len(found.steps)}", op), kernel, takes, first, first + outputs, waits)
        found.steps.append(step)
        found.quick.append(step)
        found.fetches = list(range(first, first + outputs))
        return first

    found_add = add
    return found, found_add


def test_values_go_from_slot_to_slot(plan):
    made, add = plan
    total = add(lambda given: (given[0] + given[1],), (0, 1))
    add(lambda given: (10 * given[0], given[0]), (total,), outputs=2)
    assert run(made, [1, 2]) == [30, 3]
    assert made.slots == [None] * len(made.slots), "a run leaves its plan as it was"


@pytest.mark.parametrize(("taken", "expected"), [(True, "second"), (False, "first")])
def test_one_side_dies_and_a_merge_takes_the_other(plan, taken, expected):
    made, add = plan
    made.may_die, ran = True, []

    def side(name):
        return lambda given: ran.append(name) or (name,)

    switch = add(lambda given: (DEAD, given[0]) if given[1] else (given[0], DEAD), (0, 1), op="Switch", outputs=2)
    first, second = add(side("first"), (switch,)), add(side("second"), (switch + 1,))
    add(lambda given: (next(one for one in given if one is not DEAD),), (first, second), op="Merge")
    assert run(made, [5, taken]) == [expected]
    assert ran == [expected]


def test_what_waits_for_a_dead_step_is_dead_and_so_is_a_merge_of_dead_ones(plan):
    made, add = plan
    made.may_die = True
    switch = add(lambda given: (DEAD, given[0]), (0,), op="Switch", outputs=2)
    dead = add(lambda given: pytest.fail("it must not run"), (switch,))
    add(lambda given: pytest.fail("it must not run"), (0,), waits=(1,))
    assert run(made, [5, 0]) == [DEAD]
    add(lambda given: pytest.fail("it must not run"), (dead, switch), op="Merge")
    assert run(made, [5, 0]) == [DEAD]


def test_a_trace_has_a_row_for_every_step_in_order_with_what_it_gave(plan):
    made, add = plan
    add(lambda given: pytest.fail("what is fed lies in its slot"), (), op="_Arg", outputs=0)
    add(lambda given: (given[0] + 1,), (0,))
    rows = []
    assert run(made, [1, 2], rows) == [2]
    assert [(row.step.number, row.outputs) for row in rows] == [(0, ()), (1, (2,))]
    assert all(row.start_ns <= row.begin_ns <= row.end_ns <= row.stop_ns for row in rows)


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (InputError("bad"), errors.InvalidArgumentError),
        (UnsupportedError("a", "b", "c"), errors.UnimplementedError),
    ],
)
def test_an_error_of_the_compilers_becomes_one_of_tensorflows_that_names_the_node(plan, raised, kind):
    made, add = plan

    def fail(_):
        raise raised

    add(fail, (0,))
    with pytest.raises(kind, match=r"\[\[\{\{node n0\}\}\]\]"):
        run(made, [1, 2])


def test_sizes_that_do_not_go_together_are_said_as_tensorflow_says_it(plan):
    made, add = plan

    def fail(_):
        raise InputError("what we say")

    add(fail, (0, 1), op="AddV2")
    with pytest.raises(errors.InvalidArgumentError, match="Incompatible shapes"):
        run(made, [np.zeros(2), np.zeros(3)])
