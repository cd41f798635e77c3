"""Which clusters a run of a case has, without running it."""

from dataclasses import replace

import numpy as np
import pytest
from cluster_graphs import SETTLED, graph_of
from graph_nodes import FLOAT, function, node, types

from compiler.graph import BY_NAME, FunctionReference, Graph, PartialShape
from compiler.jit import for_execution, parse_flags
from xlabench.graphs.case import GraphCase
from xlabench.graphs.clustered import clustered
from xlabench.graphs.running import HOST, HOST_DEVICE, GraphEngine
from xlabench.tensorflow.config import ConfigProto
from xlabench.tensorflow.runtime.clustering import Clusters
from xlabench.tensorflow.runtime.placement import assign_devices
from xlabench.tensorflow.runtime.plan import Around
from xlabench.tensorflow.runtime.resources import Resources

RESOURCE = BY_NAME["resource"]

X = np.array([1, -2], np.float32)
TEXT = """
    x = Placeholder()
    a = Abs(x)
    b = Neg(a)
    s = Stop(b)
    c = Exp(b)
    unused = Exp(x)
"""


def case(*fetches):
    return GraphCase(graph_of(TEXT), {"x": X}, fetches, {})


def test_what_runs_is_in_clusters_and_what_is_not_fetched_is_not():
    found = clustered(case("c"), parse_flags(SETTLED))
    (members,) = found.members.values()
    assert set(members) == {"a", "b", "c"}
    assert found.listing.splitlines()[0].endswith(": 3 nodes")
    assert "  c (Exp)" in found.listing
    assert [one.tolist() for one in found.case.values.values()] == [[1, -2]]


def test_the_graph_of_the_case_stays_as_it_was():
    given = case("c")
    before = [dict(node.attributes) for node in given.graph.nodes]
    clustered(given, parse_flags(SETTLED))
    assert [dict(node.attributes) for node in given.graph.nodes] == before


def test_without_flags_there_are_none():
    found = clustered(case("c"), parse_flags(""))
    assert (found.members, found.listing) == ({}, "")


@pytest.mark.parametrize("op", ["PartitionedCall", "StatefulPartitionedCall", "grown"])
def test_what_functions_hold_is_in_clusters_as_the_run_has_it(op):
    """As in a SavedModel, whose graph is one call: by itself it is a cluster only where it reads no variable."""
    body = [node("v", "ReadVariableOp", "w", dtype=FLOAT), node("n", "Neg", "x", T=FLOAT)]
    body += [node("m", "Mul", "n:y:0", "v:value:0", T=FLOAT)]
    grown = function("grown", {"x": FLOAT, "w": RESOURCE}, {"y": FLOAT}, body, {"y": "m:z:0"})
    stated = {"f": FunctionReference("grown"), "Tin": types(FLOAT, RESOURCE), "Tout": types(FLOAT)}
    nodes = [
        node("x", "Placeholder", dtype=FLOAT, shape=PartialShape((2,))),
        node("w", "VarHandleOp", dtype=FLOAT, shape=PartialShape(()), shared_name=b"w"),
        node("call", op, "x", "w", **(stated if op != "grown" else {})),
        node("y", "Exp", "call", T=FLOAT),
    ]
    case = GraphCase(Graph(nodes, [grown]), {"x": X}, ("y",), {"w": np.array(3, np.float32)})
    (members,) = clustered(case, parse_flags(SETTLED)).members.values()
    assert {"Neg", "Mul", "Exp", "ReadVariableOp"} <= {_op(case, name) for name in members}
    module, inputs = case.program()
    clusters = Clusters(ConfigProto(), HOST, parse_flags(SETTLED))
    made = clusters.cluster(
        _executed(case), Around({HOST: HOST_DEVICE}, Resources(), clusters.cluster, {}, is_soft=True)
    )
    assert [one.op for one in made.nodes].count("_XlaRun") == 1
    assert "call" not in [one.name for one in made.nodes]
    (found,) = GraphEngine("clusters", "reference", "cpu", parse_flags(SETTLED)).compile(module)(*inputs)
    np.testing.assert_allclose(found, np.exp(-3 * X), rtol=1e-6)


def _op(case, name):
    """The op of a node that is in a graph, or was written out of its function."""
    inner = {one.name: one.op for function in case.graph.functions for one in function.nodes}
    return inner.get(name.rpartition("/")[2]) or case.graph.node(name).op


def _executed(case):
    run = for_execution(case.graph, tuple(case.values), case.fetches, [], HOST)
    nodes = [replace(one, attributes=dict(one.attributes)) for one in run.graph.nodes]
    assign_devices(nodes, {HOST: HOST_DEVICE}, is_soft=True)
    return replace(run.graph, nodes=nodes)
