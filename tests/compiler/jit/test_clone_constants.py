"""Constants that several take: who gets a copy, and who waits for nobody's cluster then."""

import pytest
from cluster_graphs import SETTLED, graph_of

from compiler.graph import verify
from compiler.jit import Options, cluster, parse_flags
from compiler.jit.clone_constants import clone_constants

SHARED = "k = Const(){}\na = AddV2(k, k)\nb = Neg(k)\nn = NoOp(^k)"


def _cloned(text):
    graph = graph_of(text)
    clone_constants(graph, Options())
    verify(graph)
    return {one.name: one.inputs for one in graph.nodes}


def test_everybody_gets_a_small_constant():
    assert _cloned(SHARED.format("")) == {
        "k": (),
        "a": ("k/clone_0", "k/clone_1"),
        "b": ("k/clone_2",),
        "n": ("^k",),
        "k/clone_0": (),
        "k/clone_1": (),
        "k/clone_2": (),
    }


@pytest.mark.parametrize(
    "text",
    [
        "k = Const()\na = Neg(k)",
        SHARED.format(" on /gpu:0"),
        SHARED.format(" {dtype=int32, value=[1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16]}"),
        SHARED.format("") + "\ni = InplaceAdd(k)",
    ],
)
def test_others_stay_as_they_are(text):
    assert _cloned(text) == {one.name: one.inputs for one in graph_of(text).nodes}


def test_clusters_hold_the_constants_that_they_take():
    graph = graph_of("k = Const()\nx = Stop()\na = AddV2(x, k)\nb = Stop(a)\nc = AddV2(b, k)")
    for flags, expected in ((SETTLED, [["a", "k/clone_0"], ["k", "c"]]), ("--tf_xla_auto_jit=-1", [])):
        _, marking = cluster(graph, parse_flags(flags), Options())
        assert sorted(map(sorted, marking.members().values())) == sorted(map(sorted, expected))
