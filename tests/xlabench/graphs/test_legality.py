"""Clusters that may not be are told by the rule that they break, and those that may be are not."""

import pytest
from cluster_graphs import graph_of

from compiler.tf import Flags
from xlabench.graphs.legality import ASKED, CLUSTER, SCOPE, Clustering

_HOST = "/job:localhost/replica:0/task:0/device:CPU:0"
_FLAGS = Flags(auto_jit=2, cpu_global_jit=True, min_cluster_size=1)
_DIAMOND = "x = Stop()\na = Relu(x)\nb = Stop(a)\nc = MatMul(a, b)"
_SWITCHED = "x = Stop()\np = Stop()\ns = Switch(x, p)\na = Relu(s:1)\nb = Relu(x)\nc = MatMul(a, b)"
_VARIABLES = "v = VarHandleOp()\nx = Stop()\na = AssignVariableOp(v, x)\nb = ReadVariableOp(v, ^a)\nc = Relu(b)"
_CHAIN = "x = Stop()\na = Relu(x)\nb = Relu(a)\nc = Relu(b)"


def problems(text, clusters, flags=_FLAGS, **stated):
    """What is said of clusters, given as names of nodes with a space between them."""
    graph = graph_of(text)
    of = {name: f"cluster_{number}" for number, names in enumerate(clusters) for name in names.split()}
    for node in graph.nodes:
        node.device = stated.get("devices", {}).get(node.name, _HOST)
        if node.name in of:
            node.attributes[CLUSTER] = of[node.name].encode()
        node.attributes |= stated.get("attributes", {}).get(node.name, {})
    return Clustering(graph, flags, of, stated.get("candidates", [*of])).problems()


@pytest.mark.parametrize(
    ("text", "clusters", "rule"),
    [
        (_DIAMOND, ["a", "c"], None),
        (_DIAMOND, ["a c"], "cycle"),
        (_DIAMOND, ["a b"], "compilable"),
        (_SWITCHED, ["a c"], None),
        (_SWITCHED, ["b c"], "deadness"),
        (_VARIABLES, ["b c"], None),
        (_VARIABLES, ["a b c"], "variables"),
        (_CHAIN, ["a b c"], None),
        (_CHAIN, ["a b", "c"], "joining"),
    ],
)
def test_what_may_not_be_in_one_cluster_is_told(text, clusters, rule):
    flags = Flags(auto_jit=2, cpu_global_jit=True, min_cluster_size=1, cluster_exclude_ops=("Stop",))
    said = problems(text, clusters, flags)
    assert [one.partition(":")[0] for one in said][:1] == ([rule] if rule else []), said


@pytest.mark.parametrize(
    ("flags", "rule"),
    [
        ({"min_cluster_size": 4}, "size"),
        ({"max_cluster_size": 2}, "size"),
        ({"clustering_fuel": 2}, "fuel"),
        ({"cluster_exclude_ops": ("Relu",)}, "compilable"),
        ({"ops_to_cluster": ("MatMul",)}, "compilable"),
        ({"min_cluster_size": 3, "max_cluster_size": 3, "clustering_fuel": 3, "ops_to_cluster": ("Relu",)}, None),
    ],
)
def test_flags_hold(flags, rule):
    said = problems(_CHAIN, ["a b c"], Flags(auto_jit=2, cpu_global_jit=True, **{"min_cluster_size": 1, **flags}))
    assert {one.partition(":")[0] for one in said} == ({rule} if rule else set()), said


@pytest.mark.parametrize(
    ("stated", "rule"),
    [
        ({"attributes": {"a": {SCOPE: b"p"}, "b": {SCOPE: b"q"}}}, "scope"),
        ({"attributes": {"a": {SCOPE: b"p"}, "c": {SCOPE: b"p"}}}, None),
        ({"attributes": {"a": {ASKED: False}}}, "compilable"),
        ({"devices": {"a": _HOST.replace("CPU", "GPU")}}, None),
        ({"devices": {"a": _HOST.replace("CPU", "GPU"), "b": _HOST.replace("CPU:0", "GPU:1")}}, "devices"),
        ({"devices": {"a": _HOST.replace("CPU", "XLA_CPU"), "b": _HOST.replace("CPU", "GPU")}}, "devices"),
        ({"candidates": ["a", "b"]}, "candidates"),
    ],
)
def test_scopes_devices_and_candidates_hold(stated, rule):
    said = problems(_CHAIN, ["a b c"], **stated)
    assert {one.partition(":")[0] for one in said} == ({rule} if rule else set()), said


def test_a_variable_is_where_its_cluster_runs():
    text = "v = VarHandleOp()\nb = ReadVariableOp(v)\nc = Relu(b)"
    assert problems(text, ["b c"]) == []
    said = problems(text, ["b c"], devices={"c": _HOST.replace("CPU", "GPU")})
    assert [one.partition(":")[0] for one in said] == ["devices"]
