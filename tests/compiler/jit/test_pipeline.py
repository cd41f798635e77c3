"""All passes in order leave the graph that they are given alone, and say of each node where it went."""

from cluster_graphs import SETTLED, graph_of

from compiler.jit import Options, parse_flags
from compiler.jit.attributes import CLUSTER, cluster_of
from compiler.jit.pipeline import cluster, optimize

TEXT = """
    x = _Arg()
    a = Abs(x)
    b = Neg(a)
    z = _Retval(b)
"""
FLAGS = parse_flags(SETTLED)


def test_the_graph_itself_stays_as_it_was():
    graph = graph_of(TEXT)
    marked, _ = cluster(graph, FLAGS, Options())
    assert not any(CLUSTER in node.attributes for node in graph.nodes)
    assert {node.name for node in marked.nodes if cluster_of(node)} == {"a", "b"}


def test_clusters_become_functions_that_are_compiled_and_run():
    done = optimize(graph_of(TEXT), FLAGS, Options())
    ops = {node.op for node in done.graph.nodes}
    assert {"_XlaCompile", "_XlaRun"} <= ops
    assert not {"Abs", "Neg"} & ops
    assert [sorted(node.op for node in one.nodes) for one in done.graph.functions] == [["Abs", "Neg"]]
    assert {node.name for node in done.marked.nodes} == {"x", "a", "b", "z"}


def test_without_flags_nothing_is_compiled():
    done = optimize(graph_of(TEXT))
    assert sorted(node.op for node in done.graph.nodes) == ["Abs", "Neg", "_Arg", "_Retval"]
