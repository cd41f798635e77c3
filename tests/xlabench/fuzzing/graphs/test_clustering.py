"""Drawn graphs are clustered as may be, and what passes get wrong is told by what it is about."""

from dataclasses import replace

import numpy as np
import pytest

from compiler.tf import Flags, Options, Progress, optimize
from xlabench.fuzzing.graphs import cases, clustering, wired
from xlabench.fuzzing.graphs.clustering import WrongClustering, hold
from xlabench.graphs.declustering import Declustering
from xlabench.graphs.legality import CLUSTER
from xlabench.graphs.unfolded import Unfolded

_FLAGS = Flags(auto_jit=2, cpu_global_jit=True, min_cluster_size=1)


@pytest.mark.parametrize("number", range(12))
def test_clusters_of_drawn_graphs_may_be(number):
    rng = np.random.default_rng([71, number])
    hold(rng, cases.draw_graph(rng, number))


def clustered(number, **flags):
    """A graph of wires with clusters, and what was made of them."""
    graph = wired.draw(np.random.default_rng([72, number]))
    nodes = [replace(node, device="/job:localhost/replica:0/task:0/device:CPU:0") for node in graph.nodes]
    return optimize(replace(graph, nodes=nodes), replace(_FLAGS, **flags), Options(progress=Progress()))


def told(made):
    """What the passes' results are said to be wrong about."""
    with pytest.raises(WrongClustering, match=r"^about ") as caught:
        clustering._judge(made, _FLAGS, made.marked)
    return str(caught.value).split(" ")[1].rstrip(":")


def first(made, holds):
    """The first node of the graph with calls of which something holds."""
    return next(node for node in made.encapsulated.nodes if holds(node))


def test_a_candidate_that_is_forgotten_is_told():
    made = clustered(1)
    left = {name: one for name, one in made.marking.clusters.items() if made.marked.node(name).op == "AddV2"}
    assert left
    made.marking.candidates = [name for name in made.marking.candidates if name not in left]
    assert told(made) == "candidates"


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


def test_who_leaves_a_cluster_for_nothing_and_who_should_have_is_told():
    for number in range(20):
        made = clustered(number)
        clusters = made.marking.clusters
        assert Declustering(made.marked, clusters).problems() == []
        there = {node.name: node for node in made.marked.nodes}
        left = [name for name in clusters if name in there and CLUSTER not in there[name].attributes]
        inside = [node for node in made.marked.nodes if CLUSTER in node.attributes and node.op == "AddV2"]
        if not left or not inside or "static_shaped_slice" in str(made.marked):
            continue
        held = inside[-1].attributes.pop(CLUSTER)
        assert any("for nothing" in said for said in Declustering(made.marked, clusters).problems())
        inside[-1].attributes[CLUSTER] = held
        made.marked.node(left[0]).attributes[CLUSTER] = clusters[left[0]].encode()
        assert any("still in" in said for said in Declustering(made.marked, clusters).problems())
        return
    raise AssertionError("no node left a cluster")
