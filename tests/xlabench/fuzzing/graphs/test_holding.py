"""What holds of every drawn graph, and is told where it does not."""

from dataclasses import replace

import numpy as np
import pytest

from compiler.tf import BY_NAME, Node, PartialShape
from xlabench.fuzzing.graphs import cases, holding
from xlabench.fuzzing.graphs.cases import Refused
from xlabench.fuzzing.graphs.holding import WrongForm, WrongRequests, hold
from xlabench.graphs.case import GraphCase


@pytest.mark.parametrize("number", range(6))
def test_drawn_graphs_hold(number):
    rng = np.random.default_rng([74, number])
    hold(rng, cases.draw_graph(rng, number))


def test_a_form_that_is_another_graph_is_told(monkeypatch):
    monkeypatch.setattr(holding.forms, "problems", lambda *_: ["text: it"])
    with pytest.raises(WrongForm, match=r"^about text: text: it"):
        hold(np.random.default_rng(1), cases.draw_graph(np.random.default_rng(1)))


def test_calls_written_out_otherwise_are_told(monkeypatch):
    def otherwise(graph):
        nodes = [replace(node, op="Abs") if node.op == "Neg" else node for node in graph.nodes]
        return replace(graph, nodes=[node for node in nodes if node.op != "PartitionedCall"])

    real = BY_NAME["float32"]
    nodes = [
        Node("x", "Placeholder", (), "", {"dtype": real, "shape": PartialShape((3,))}),
        Node("y", "Neg", ("x",), "", {"T": real}),
        Node("call", "PartitionedCall", ()),
    ]
    case = GraphCase(holding.Graph(nodes), {"x": np.ones(3, np.float32)}, ("y",))
    monkeypatch.setattr(holding, "inline_functions", otherwise)
    with pytest.raises(WrongForm, match=r"^about calls"):
        holding._hold_inlined(np.random.default_rng(1), case)


@pytest.mark.parametrize("rule", ["_FIRST", "_OFTEN"])
def test_requests_by_another_rule_are_told(monkeypatch, rule):
    holding._hold_requests(np.random.default_rng(1))
    monkeypatch.setattr(holding, rule, 3)
    with pytest.raises(WrongRequests, match=r"^about "):
        holding._hold_requests(np.random.default_rng(1))


def test_a_graph_that_is_refused_is_told_by_the_op(monkeypatch):
    def refused(*_):
        raise cases.CompilerError("node 'y' (Log): its input makes no sense")

    monkeypatch.setattr(cases, "hold_gradients", lambda *_: None)
    monkeypatch.setattr(GraphCase, "program", refused)
    with pytest.raises(Refused, match=r"^about Log: "):
        cases.draw_case(1, 1)
