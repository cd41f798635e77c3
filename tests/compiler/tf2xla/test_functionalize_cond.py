"""What stands between Switch and Merge is an If; what others need of one side is a result that the other side lacks."""

import numpy as np
import pytest
from cluster_graphs import graph_of
from graph_nodes import const, run

from compiler.tf2xla import lower
from compiler.tf2xla.flat_functions import FunctionLibrary
from compiler.tf2xla.functionalize_cond import without_switches


def made(text):
    library = FunctionLibrary([])
    return {one.name: one for one in without_switches(graph_of(text).nodes, library)}, library.functions


BEGIN = "p = Placeholder() {dtype=bool}\n q = Placeholder() {dtype=bool}\n x = Placeholder()\n w = NoOp()\n"
ONE = f"{BEGIN} s = Switch(x, p)\n a = Neg(s, ^w)\n m = Merge(a, s:1)\n"


def ops(function):
    return [(one.op, one.inputs) for one in function.nodes]


def test_a_branch_is_one_node_that_takes_what_its_switches_take():
    nodes, functions = made(f"{ONE} y = AddV2(m, m, ^m)\n r = ControlTrigger(^a)")
    assert (nodes["m"].op, nodes["m"].inputs) == ("If", ("p", "x", "^w"))
    assert nodes["y"].inputs == ("m", "m", "^m")
    assert nodes["r"].inputs == ("^m",)
    assert {"s", "a"}.isdisjoint(nodes)
    then, otherwise = functions["m_true"], functions["m_false"]
    assert (ops(then), then.returns) == ([], {"output_0": "x_1"})
    assert (ops(otherwise), otherwise.returns) == ([("Neg", ("x_1",))], {"output_0": "a:y:0"})
    assert (then.control_returns, otherwise.control_returns) == ({}, {"a": "a"})


def test_the_number_of_the_input_that_was_there_is_known_on_each_side():
    nodes, functions = made(f"{ONE} y = Identity(m:1)")
    assert nodes["y"].inputs == ("m:1",)
    values = [functions[name].nodes[-1].attributes["value"].array() for name in ("m_true", "m_false")]
    assert values == [1, 0]


def test_a_branch_in_a_branch_is_a_node_of_its_function():
    nodes, functions = made(
        f"{BEGIN} s = Switch(x, p)\n t = Switch(s:1, q)\n b = Neg(t)\n i = Merge(b, t:1)\n m = Merge(s, i)"
    )
    assert nodes["m"].inputs == ("p", "x", "q")
    assert ops(functions["m_true"]) == [("If", ("q_1", "x_1"))]
    assert ops(functions["i_false"]) == [("Neg", ("x_1",))]


def test_what_a_later_branch_needs_of_one_side_is_a_result():
    text = f"{ONE} g = Neg(m)\n r = Switch(g, p)\n d = Mul(r, a)\n l = Merge(d, r:1)"
    nodes, functions = made(text)
    assert [nodes[name].op for name in ("m", "l")] == ["If", "If"]
    assert nodes["l"].inputs == ("p", "g", "m:1")
    assert ops(functions["m_true"]) == [("_Absent", ())]
    assert ops(functions["l_false"]) == [("Mul", ("g_1", "a_1"))]


@pytest.mark.parametrize("holds", [True, False])
def test_what_is_absent_where_the_predicate_is_known_goes_where_nobody_looks(holds):
    graph = graph_of(f"{ONE} g = Neg(m)\n r = Switch(g, p)\n d = Mul(r, a)\n l = Merge(d, r:1)")
    graph.nodes[0] = const("p", holds, bool)
    x = np.float32(3)
    [result] = run(lower(graph, {"x": x}, ["l"]))
    assert result == (-x if holds else -x * x)


def test_what_is_there_on_one_side_of_an_inner_branch_is_switched_again():
    text = f"""{BEGIN} s = Switch(x, p)\n t = Switch(s:1, q)\n b = Neg(t)\n i = Merge(b, t:1)\n m = Merge(s, i)
        g = Neg(m)\n r = Switch(g, p)\n u = Switch(r:1, q)\n d = Mul(u, b)\n j = Merge(d, u:1)\n l = Merge(r, j)"""
    nodes, functions = made(text)
    assert nodes["l"].inputs == ("p", "q", "g", "m:1")
    [inner] = functions["l_true"].nodes
    assert inner.op == "If"
    assert [op for op, _ in ops(functions["j_false"])] == ["Mul"]


def test_branches_that_need_each_other_run_one_after_another():
    text = f"""{BEGIN} s = Switch(x, p)\n a = Neg(s)\n m = Merge(a, s:1)
        t = Switch(m, q)\n b = Neg(t)\n n = Merge(b, t:1)\n r = Switch(n, p)\n c = Neg(r)\n l = Merge(c, r:1)"""
    nodes, _ = made(text)
    assert [nodes[name].inputs for name in ("m", "n", "l")] == [("p", "x"), ("q", "m"), ("p", "n")]


def test_a_branch_that_takes_what_one_gives_runs_after_it():
    nodes, functions = made(
        f"{ONE} r = Switch(m, p)\n b = Neg(r)\n l = Merge(b, r:1)\n c = Neg(m, ^b)\n z = ControlTrigger(^c)"
    )
    assert [nodes[name].inputs for name in ("m", "l", "z")] == [("p", "x", "^w"), ("p", "m"), ("^l",)]
    assert functions["l_false"].control_returns == {"c": "c"}


@pytest.mark.parametrize("text", [BEGIN, "x = Placeholder()\n y = Neg(x)"])
def test_graphs_without_branches_stay_as_they_are(text):
    nodes = graph_of(text).nodes
    assert without_switches(nodes, FunctionLibrary([])) == nodes
