"""Graphs that programs carry, run as a session runs them: what goes in and comes out is that of the program."""

import sys
from dataclasses import replace

import graph_cases
import numpy as np
import op_cases
import pytest
from cluster_graphs import FLOAT, SETTLED, graph_of
from graph_nodes import function, node, placeholder, types

import compiler
from compiler import aot
from compiler.jit import parse_flags
from compiler.tf import Flags, FunctionReference, Graph
from xlabench.cases.layouts import LAYOUTS
from xlabench.graphs.running import GraphEngine, values_of
from xlabench.repeats import differs_at_once

TEXT = """
    x = Placeholder()
    a = Abs(x)
    b = Neg(a)
"""
X = np.array([1, -2], np.float32)


def carried(*fetches):
    return aot.lower_with_graph(graph_of(TEXT), {"x": X}, fetches).module


@pytest.mark.parametrize("flags", [None, Flags()], ids=["op by op", "clusters"])
def test_results_are_the_programs_in_its_order(flags):
    module = carried("b", "a")
    run = GraphEngine("ops", "reference", "reference", flags).compile(module)
    for found, expected in zip(run(X), compiler.interpret(module, X), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_how_arrays_lie_in_memory_changes_no_bit(layout):
    graph = graph_of("x = Placeholder()\ns = Sqrt(x)\nm = Sub(s, x)")
    module = aot.lower_with_graph(graph, {"x": np.array([[4, -1], [np.inf, 9]], np.float32)}, ("x", "m")).module
    run = GraphEngine("ops", "reference", "reference").compile(module)
    given = np.array([[4, -1], [np.inf, 9]], np.float32)
    for found, expected in zip(run(LAYOUTS[layout](given)), run(given), strict=True):
        assert (found.dtype, found.tobytes()) == (expected.dtype, expected.tobytes())


def test_nodes_with_a_functions_name_call_it_op_by_op():
    negated = function("negated", {"x": FLOAT}, {"y": FLOAT}, [node("n", "Neg", "x", T=FLOAT)], {"y": "n:y:0"})
    graph = Graph([placeholder("x"), node("called", "negated", "x")], [negated])
    module = aot.lower_with_graph(graph, {"x": X}, ["called"]).module
    assert GraphEngine("ops", "reference", "reference").compile(module)(X)[0].tolist() == [-1, 2]


@pytest.mark.parametrize("device", ["/device:CPU:0", "/cpu:0", "/device:GPU:0", "/job:localhost/device:GPU:1"])
@pytest.mark.parametrize("flags", [None, parse_flags(SETTLED)], ids=["op by op", "clusters"])
def test_functions_name_devices_as_graphs_do(flags, device):
    body = [replace(node("n", "Neg", "x", T=FLOAT), device=device), node("m", "Exp", "n:y:0", T=FLOAT)]
    called = function("called", {"x": FLOAT}, {"y": FLOAT}, body, {"y": "m:y:0"})
    stated = {"f": FunctionReference("called"), "Tin": types(FLOAT), "Tout": types(FLOAT)}
    graph = Graph([placeholder("x"), node("call", "PartitionedCall", "x", **stated)], [called])
    module = aot.lower_with_graph(graph, {"x": X}, ["call"]).module
    [found] = GraphEngine("clusters", "reference", "reference", flags).compile(module)(X)
    np.testing.assert_allclose(found, np.exp(-X), rtol=1e-6)


def test_a_run_keeps_nothing_of_the_one_before():
    run = GraphEngine("ops", "reference", "reference").compile(carried("b"))
    assert [run(X)[0].tolist(), run(-2 * X)[0].tolist(), run(X)[0].tolist()] == [[-1, -2], [-2, -4], [-1, -2]]


@pytest.mark.parametrize("flags", [None, Flags()], ids=["op by op", "clusters"])
def test_calls_by_threads_at_the_same_time_have_variables_of_their_own(flags):
    module, (x, held) = graph_cases.counter().program()
    run = GraphEngine("ops", "reference", "reference", flags).compile(module)
    calls = [lambda: run(x, held), lambda: run(x, held * 2)]
    alone = [call() for call in calls]
    assert not np.array_equal(alone[0][0], alone[1][0])
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        assert not any(differs_at_once(calls, alone) for _ in range(20))
    finally:
        sys.setswitchinterval(interval)


def test_values_inside_are_those_on_the_way():
    found = values_of(aot.carried_by(carried("b")), ["a:0", "b:0"], [X])
    assert {endpoint: one.tolist() for endpoint, one in found.items()} == {"a:0": [1, 2], "b:0": [-1, -2]}


def test_a_program_without_a_graph_is_refused():
    text = "ENTRY e { ROOT x = f32[2] parameter(0) }"
    with pytest.raises(compiler.UnsupportedError, match="the program carries none"):
        GraphEngine("ops", "reference", "reference").compile(text)


@pytest.mark.parametrize("op", ["XlaReduce", "XlaVariadicReduceV2", "XlaSelectAndScatter", "XlaVariadicSort"])
def test_ops_with_functions_run_alone(op):
    case = op_cases.CASES_OF[op][0]
    lowered = aot.lower_with_graph(case.graph(), case.feeds(), case.fetches)
    given = [lowered.values[name] for name in lowered.inputs]
    results = GraphEngine("ops", "reference", "reference").compile(lowered.module)(*given)
    for found, expected in zip(results, compiler.interpret(lowered.module, *given), strict=True):
        np.testing.assert_array_equal(found, expected)
