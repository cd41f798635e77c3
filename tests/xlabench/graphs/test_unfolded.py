"""Calls of clusters, and what runs them, are the graph that they were made of; what is not is told."""

import pytest
from clustered_wires import clustered

from xlabench.graphs.unfolded import Unfolded


def first(made, holds):
    """The first node of the graph with calls of which something holds."""
    return next(node for node in made.encapsulated.nodes if holds(node))


def _lost_node(made):
    function = next(one for one in made.encapsulated.functions if len(one.nodes) > 1 and one.name != "called")
    function.nodes.pop()
    return "nodes"


def _another_input(made):
    node = first(made, lambda one: len(set(one.data_inputs)) > 1 and one.op in ("AddV2", "Sub", "Merge"))
    node.inputs = (*node.data_inputs[::-1], *node.inputs[len(node.data_inputs) :])
    return "edges"


def _forgotten_wait(made):
    node = first(made, lambda one: any(text.startswith("^") for text in one.inputs))
    node.inputs = node.data_inputs
    return "edges"


def _forgotten_variables(made):
    call = first(made, lambda one: one.attributes.get("_XlaNumResourceArgs"))
    call.attributes["_XlaNumResourceArgs"] = 0
    return "call"


def _run_on_less(made):
    node = next(one for one in made.graph.nodes if one.op == "_XlaRun" and len(one.data_inputs) > 1)
    node.inputs = node.inputs[1:]
    return "built"


@pytest.mark.parametrize("damage", [_lost_node, _another_input, _forgotten_wait, _forgotten_variables, _run_on_less])
def test_what_is_wrong_of_calls_and_of_what_runs_them_is_told(damage):
    for number in range(20):
        made = clustered(number, enable_lazy_compilation=bool(number % 2))
        assert Unfolded(made.marked, made.encapsulated, made.graph).problems() == []
        try:
            about = damage(made)
        except StopIteration:
            continue
        said = Unfolded(made.marked, made.encapsulated, made.graph).problems()
        assert about in {one.partition(":")[0] for one in said}, said
        return
    raise AssertionError("nothing could be damaged")
