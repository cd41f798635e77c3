"""Clusters of drawn graphs held to what makes a clustering right, whatever it is: no result of a run is asked.

A run says nothing of clusters that are not made where they could be, of devices, which are all one where campaigns run,
of scopes, or of an order that happens not to matter for the values at hand.  So each graph is clustered once more, its
nodes on drawn devices, in drawn scopes, by drawn flags, and what comes of it is judged (`xlabench.graphs.legality`,
`xlabench.graphs.unfolded`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from compiler.tf import (
    RECORDS,
    Flags,
    Graph,
    Marking,
    Node,
    Options,
    Progress,
    for_execution,
    inline_functions,
    optimize,
)
from xlabench.fuzzing.graphs import wired
from xlabench.fuzzing.graphs.operands import Generator
from xlabench.graphs import forms
from xlabench.graphs.case import GraphCase
from xlabench.graphs.declustering import Declustering
from xlabench.graphs.legality import ASKED, SCOPE, Clustering
from xlabench.graphs.unfolded import Unfolded
from xlabench.survival import about

_CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
_GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
_DEVICES = (
    (_CPU,),
    (_GPU,),
    (_CPU, _GPU),
    (_CPU, _GPU, _GPU.replace("GPU:0", "GPU:1")),
    (_CPU, _CPU.replace("CPU:0", "XLA_CPU:0")),
)
"""The devices that the nodes of a graph are on; where there are several, each node is on one by chance."""
_ONE_DEVICE, _INLINED, _SCOPED, _REFUSED, _LIMITED = 0.5, 0.5, 0.25, 0.1, 0.3
"""How often all is on the CPU, functions are written out, nodes have scopes, some say no, flags leave something out."""
_MOST_SCOPES, _MOST_FUEL, _CUT = 3, 12, 0.75
_ALWAYS = frozenset({"AddV2", "Mul", "Sub", "Neg", "Maximum", "Minimum", "Tanh", "Square", "Abs", "Reshape"})
"""Ops that are clustered wherever anything is, of the types that they are drawn on."""


class WrongClustering(AssertionError):
    """What clustering makes of a graph may not be."""


def hold(rng: Generator, case: GraphCase) -> None:
    """Cluster a graph, and one of wires alone, on drawn devices by drawn flags, and judge the clusters.

    Args:
        rng: draws devices, scopes and flags.
        case: the graph, with what it is run on.

    Raises:
        WrongClustering: the clusters, or what was made of them, may not be.
    """
    for graph in (_executed(rng, case), wired.draw(rng)):
        placed = _placed(rng, graph)
        flags = _flags(rng, placed)
        _judge(optimize(placed, flags, Options(progress=Progress())), flags, placed)


def _judge(made: Any, flags: Flags, graph: Graph) -> None:
    clusters = made.marking.clusters
    found = Clustering(made.marked, flags, clusters, made.marking.candidates).problems()
    found += _left_out(made.marking, flags, graph)
    found += forms.problems(made.graph, _CUT)
    found += Declustering(made.marked, clusters).problems()
    found += Unfolded(made.marked, made.encapsulated, made.graph).problems()
    if found:
        raise WrongClustering(about(found[0].partition(":")[0], "; ".join(found[:4])))


def _executed(rng: Generator, case: GraphCase) -> Graph:
    """The graph of a run."""
    fetches = [text for text in case.fetches if not text.startswith("^")]
    targets = [text[1:] for text in case.fetches if text.startswith("^")]
    graph = for_execution(case.graph, tuple(case.values), fetches, targets, _CPU).graph
    return inline_functions(graph) if rng.random() < _INLINED else graph


def _placed(rng: Generator, graph: Graph) -> Graph:
    """The graph with its nodes on devices, and in scopes."""
    devices = _DEVICES[0] if rng.random() < _ONE_DEVICE else _DEVICES[int(rng.integers(len(_DEVICES)))]
    is_scoped = rng.random() < _SCOPED
    nodes = []
    for node in graph.nodes:
        device = devices[int(rng.integers(len(devices)))]
        stated = dict(node.attributes)
        if is_scoped and node.op not in ("_Arg", "_Retval") and rng.random() < 0.5:
            stated[SCOPE] = f"scope_{rng.integers(_MOST_SCOPES)}".encode()
        if rng.random() < _REFUSED * is_scoped:
            stated[ASKED] = False
        nodes.append(replace(node, device=device, attributes=stated))
    return replace(graph, nodes=nodes)


def _flags(rng: Generator, graph: Graph) -> Flags:
    stated: dict[str, Any] = {"min_cluster_size": int(rng.choice([1, 1, 2, 4]))}
    ops = sorted({node.op for node in graph.nodes if node.op in RECORDS})
    if ops and rng.random() < _LIMITED:
        name = str(rng.choice(["max_cluster_size", "clustering_fuel", "ops_to_cluster", "cluster_exclude_ops"]))
        some = tuple(op for op in ops if rng.random() < 0.5)
        number = int(rng.integers(1, _MOST_FUEL))
        stated[name] = some if name.endswith(("cluster", "ops")) else number
    if rng.random() < _LIMITED:
        stated["enable_lazy_compilation"] = False
    if rng.random() < _LIMITED:
        stated |= {"check_cluster_input_numerics": True, "check_cluster_output_numerics": True}
    return Flags(auto_jit=2, auto_jit_single_gpu=2, cpu_global_jit=True, **stated)


def _left_out(marking: Marking, flags: Flags, graph: Graph) -> list[str]:
    """Nodes that were not even candidates, though nothing speaks against them; and nodes of which nothing is said."""
    known = {*marking.clusters, *marking.reasons}
    found = [f"reasons: nothing is said of {node.name}" for node in graph.nodes if _is_plain(node) - known]
    if flags.ops_to_cluster or flags.cluster_exclude_ops or flags.clustering_fuel < len(graph.nodes):
        return found
    candidates = {*marking.candidates}
    return found + [
        f"candidates: {node.name} ({node.op}) is none" for node in graph.nodes if _is_plain(node) - candidates
    ]


def _is_plain(node: Node) -> set[str]:
    """The name of a node against which nothing can speak; none of another."""
    is_plain = node.op in _ALWAYS and node.attributes.get(ASKED) is not False
    return {node.name} if is_plain else set()
