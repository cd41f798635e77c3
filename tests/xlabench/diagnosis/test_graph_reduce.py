"""Graphs become smaller for as long as they fail: each step asks for less, and no candidate is asked about twice."""

import contextlib
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from graph_cases import FLOAT, X, program

import compiler
from compiler.tf2xla.builder import Builder
from xlabench.diagnosis.graph_reduce import _MOVES, _cost, reduce
from xlabench.diagnosis.reduce import NOBODY, Watcher
from xlabench.graphs.case import GraphCase

pytestmark = pytest.mark.slow


def graph_of(case):
    return GraphCase.of(case.module, case.inputs)


def ops(case):
    return graph_of(case).graph.counts()


def holds(*names):
    """Whether a program's graph has nodes of all these ops."""
    return lambda case: set(names) <= set(ops(case))


def values_of(graph):
    """What every output of a graph is, where it is there whatever is chosen."""
    found = {}
    for node in graph.graph.nodes:
        for output in graph.outputs(node):
            with contextlib.suppress(compiler.CompilerError):
                module, inputs = replace(graph, fetches=(output,)).program()
                [found[output]] = compiler.interpret(module, *inputs)
    return found


def small():
    """`y` of `u` of `a` of `x`."""
    b = Builder()
    x = b.add("Placeholder", name="x", dtype=FLOAT, shape=[3, 4]).output
    a = b.add("AddV2", x, b.constant(np.full((3, 4), 2, np.float32)), name="a").output
    u = b.add("Tanh", a, name="u", control=[x.built.node]).output
    b.add("Mul", u, a, name="y")
    return GraphCase(b.graph, {"x": X}, ("y", "u"))


def reduced(is_bad, *, max_probes=200, watcher=NOBODY):
    return reduce(program(small()), is_bad, values_of, max_probes=max_probes, watcher=watcher)


def test_what_the_failure_does_not_need_is_left_out():
    done = reduced(holds("Tanh"))
    assert ops(done.case) == {"Placeholder": 1, "Tanh": 1}
    assert not done.exhausted


def test_sizes_of_arrays_shrink_with_all_that_states_them():
    done = reduced(holds("Tanh"))
    (x,) = done.case.inputs
    assert x.size == 1
    assert compiler.interpret(done.case.module, x)[0].shape == x.shape


def test_what_a_node_gives_may_be_fed_in_its_place():
    assert ops(reduced(holds("Mul")).case) == {"Placeholder": 2, "Mul": 1}


def test_a_node_that_changes_neither_type_nor_shape_may_be_passed_by():
    done = reduced(lambda case: holds("Mul", "AddV2")(case))
    assert "Tanh" not in ops(done.case)


def test_control_edges_go_where_nothing_hangs_on_them():
    done = reduced(holds("Tanh", "AddV2"))
    assert all(not text.startswith("^") for node in graph_of(done.case).graph.nodes for text in node.inputs)


def test_every_success_asks_for_less_than_the_one_before_and_is_told():
    seen, costs = [], []

    def is_bad(case):
        seen.append(case.key())
        if holds("Tanh")(case):
            costs.append(_cost(graph_of(case)))
            return True
        return False

    told = []
    done = reduced(is_bad, watcher=Watcher(told.append))
    assert costs == sorted(costs, reverse=True)
    assert max(Counter(seen).values()) == 1
    assert told == list(done.history)
    assert [one.probes for one in told] == sorted(one.probes for one in told)
    assert done.probes == len(seen)


@pytest.mark.parametrize("most", [0, 1, 2])
def test_so_many_questions_and_no_more(most):
    asked = []
    done = reduced(lambda case: asked.append(case) is None, max_probes=most)
    assert len(asked) == done.probes == most


def test_who_wants_an_end_gets_one_after_the_question_at_hand():
    asked = []
    done = reduced(lambda case: asked.append(case) is None, watcher=Watcher(wants_an_end=lambda: bool(asked)))
    assert len(asked) == 1
    assert done.interrupted


def test_what_nothing_can_be_left_out_of_stays_as_it_is():
    case = program(small().pruned())
    done = reduce(case, lambda _: False, values_of, max_probes=500)
    assert done.case is case
    assert done.history == ()


@pytest.mark.parametrize("name", _MOVES)
def test_each_kind_of_edit_leaves_the_graph_that_it_is_shown_as_it_is(name):
    graph = small()
    before = program(graph).key()
    assert all(candidate is not graph for candidate in _MOVES[name](graph, values_of(graph)))
    assert program(graph).key() == before
