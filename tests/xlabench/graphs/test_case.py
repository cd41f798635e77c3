"""A graph with what it is run on: in order, pruned, and in parts on the values that they get."""

import numpy as np
import pytest
from cluster_graphs import graph_of

import compiler
from xlabench.graphs.case import GraphCase, endpoint_at, in_order, port_of, source_of

TEXT = """
    z = Add(a, b)
    a = Abs(x)
    b = Neg(x)
    x = Placeholder()
    unused = Exp(x)
"""
X = np.array([1, -2], np.float32)


def case(*fetches):
    return GraphCase(graph_of(TEXT), {"x": X}, fetches or ("z",), {})


@pytest.mark.parametrize(
    ("text", "node", "port"), [("a", "a", 0), ("a:2", "a", 2), ("^a", "a", 0), ("scope/a:1", "scope/a", 1)]
)
def test_an_input_names_a_node_and_a_port(text, node, port):
    assert (source_of(text), port_of(text)) == (node, port)
    assert source_of(endpoint_at(node, port)) == node
    assert port_of(endpoint_at(node, port)) == port


def test_nodes_come_after_those_that_they_take_from():
    names = [node.name for node in in_order(graph_of(TEXT).nodes)]
    assert sorted(names) == ["a", "b", "unused", "x", "z"]
    assert names.index("x") < names.index("a") < names.index("z")
    assert names.index("b") < names.index("z")


def test_a_circle_is_put_into_some_order():
    assert len(in_order(graph_of("a = Merge(b, x)\nb = NextIteration(a)\nx = Placeholder()").nodes)) == 3


def test_what_no_fetch_needs_goes():
    assert {node.name for node in case().pruned().graph.nodes} == {"x", "a", "b", "z"}
    pruned = case("x").pruned()
    assert ({node.name for node in pruned.graph.nodes}, set(pruned.values)) == ({"x"}, {"x"})


def test_what_is_fed_needs_nothing():
    fed = GraphCase(graph_of(TEXT), {"a": X}, ("z",), {}).pruned()
    assert {node.name: node.inputs for node in fed.graph.nodes} == {"z": ("a", "b"), "a": (), "b": ("x",), "x": ()}
    fed = GraphCase(graph_of(TEXT), {"a": X, "b:0": X}, ("z",), {})
    module, inputs = fed.program()
    assert compiler.interpret(module, *inputs)[0].tolist() == [2, -4]


def test_every_array_is_a_place_after_those_that_it_is_made_of():
    endpoints = case().endpoints
    assert set(endpoints) == {"a", "b", "z", "unused"}
    assert endpoints.index("a") < endpoints.index("z")
    assert set(case().opened().fetches) == set(endpoints)


def test_a_part_stands_alone_on_the_values_that_it_gets():
    found = case().subgraph(["z"], {"a": X, "b": X})
    assert [node.op for node in found.graph.nodes] == ["Placeholder", "Placeholder", "Add"]
    assert sorted(value.tolist() for value in found.values.values()) == [X.tolist()] * 2
    assert found.fetches == ("z",)
    assert case().subgraph(["z"], {"a": X}) is None


def test_a_variable_in_a_part_waits_for_nothing_outside_of_it():
    graph = graph_of("r = ReadVariableOp(v)\nv = VarHandleOp(^x)\nx = Placeholder()")
    part = GraphCase(graph, {"x": X}, ("r",), {}).subgraph(["r"], {})
    assert {node.name: node.inputs for node in part.graph.nodes} == {"v": (), "r": ("v",)}


def test_what_runs_on_one_side_only_may_be_dead():
    text = (
        "s = Switch(x, p)\np = Placeholder() {dtype=bool}\nx = Placeholder()\na = Abs(s)\nm = Merge(a, s:1)\nb = Neg(m)"
    )
    assert GraphCase(graph_of(text), {}, ("b",), {}).may_be_dead == {"s", "a"}
    inner = "t = Switch(a, q)\nq = Placeholder() {dtype=bool}\nn = Merge(t, t:1)\nm = Merge(n, s:1)\nc = NoOp(^s)"
    nested = text.replace("m = Merge(a, s:1)", inner)
    assert GraphCase(graph_of(nested), {}, ("b",), {}).may_be_dead == {"s", "a", "t", "n"}


def test_what_is_inside_of_a_loop_is_no_endpoint():
    text = """x = Placeholder()\ne = Enter(x) {frame_name=f}\nm = Merge(e, n)\nt = Less(m, m)\nc = LoopCond(t)
s = Switch(m, c)\nd = Neg(s:1)\nn = NextIteration(d)\ny = Exit(s)\nz = Neg(y)"""
    assert GraphCase(graph_of(text), {}, ("z",), {}).endpoints == ("x", "y", "z")
