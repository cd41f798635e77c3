"""Graphs of wires alone are graphs, each with something of everything after a while."""

import numpy as np

from compiler.tf import folded, in_order
from xlabench.fuzzing.graphs import wired


def test_equal_seeds_draw_equal_graphs_that_can_be_ordered():
    for number in range(30):
        graph = wired.draw(np.random.default_rng(number))
        assert str(graph) == str(wired.draw(np.random.default_rng(number)))
        assert len(in_order(graph.nodes)) == len(graph.nodes)
        folded(graph.nodes)


def test_everything_is_drawn():
    drawn = [wired.draw(np.random.default_rng(number)) for number in range(30)]
    ops = {op for graph in drawn for op in graph.counts()}
    assert {"Switch", "Merge", "Enter", "VariableV2", "AssignVariableOp", "Slice", "StatelessIf", "Fill"} <= ops
    assert any(text.startswith("^") for graph in drawn for node in graph.nodes for text in node.inputs)
