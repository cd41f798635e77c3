"""All passes in TensorFlow's order.

Constants are copied, scopes written, clusters marked, slices given static shapes, nodes at the edges of clusters taken
out again; what is left becomes functions, and their calls ops that compile and run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from compiler.graph import Graph, verify
from compiler.jit.build_xla_ops import build_xla_ops
from compiler.jit.clone_constants import clone_constants
from compiler.jit.cluster_scoping import scope_clusters
from compiler.jit.dumps import annotated, dump
from compiler.jit.encapsulate_subgraphs import encapsulate_subgraphs
from compiler.jit.flags import DEFAULTS, Flags
from compiler.jit.increase_dynamism import increase_dynamism
from compiler.jit.mark_for_compilation import Marking, jit_level, mark_for_compilation
from compiler.jit.options import OFF, Options
from compiler.jit.partially_decluster import partially_decluster
from compiler.tf2xla import output_count


@dataclass(frozen=True, slots=True)
class Optimized:
    """A graph after all passes.

    Attributes:
        graph: with `_XlaCompile`, `_XlaRun` and `_XlaMerge` in place of clusters, which are functions of its library.
        marking: which node was put into which cluster, and why others were in none.
        marked: the graph before there were functions, with the names of clusters on its nodes.
        encapsulated: the graph in which each cluster is a call of a function, and nobody says yet how it is compiled.
    """

    graph: Graph
    marking: Marking
    marked: Graph
    encapsulated: Graph


def cluster(graph: Graph, flags: Flags = DEFAULTS, options: Options | None = None) -> tuple[Graph, Marking]:
    """The graph with the names of clusters on its nodes, as the attribute `_XlaCluster`; the graph itself stays.

    Args:
        graph: stays as it is.
        flags: those of TF_XLA_FLAGS.
        options: the session's.

    Raises:
        VerifyError: the graph breaks rules.
        InputError: a flag names no op, a node no device, or a loop makes no sense.
    """
    options = options or Options()
    verify(graph, output_count)
    marked = replace(graph, nodes=[replace(node, attributes=dict(node.attributes)) for node in graph.nodes])
    if jit_level(graph, flags, options) != OFF:
        clone_constants(marked, options)
        scope_clusters(marked)
    dump("before_mark_for_compilation", marked, flags, options)
    marking = mark_for_compilation(marked, flags, options)
    dump("mark_for_compilation", marked, flags, options)
    dump("mark_for_compilation_annotated", annotated(marked), flags, options)
    dump("before_increase_dynamism_for_auto_jit_pass", marked, flags, options)
    if increase_dynamism(marked, options):
        dump("increase_dynamism_for_auto_jit_pass", marked, flags, options)
    partially_decluster(marked, flags, options)
    return marked, marking


def optimize(graph: Graph, flags: Flags = DEFAULTS, options: Options | None = None) -> Optimized:
    """The graph with its clusters compiled and run by ops, as a session runs it; raises as `cluster` does.

    Args:
        graph: stays as it is.
        flags: those of TF_XLA_FLAGS.
        options: the session's.
    """
    options = options or Options()
    marked, marking = cluster(graph, flags, options)
    dump("encapsulate_subgraphs_before", marked, flags, options)
    encapsulated = encapsulate_subgraphs(marked, options)
    dump("encapsulate_subgraphs_after", encapsulated, flags, options)
    dump("before_build_xla_ops", encapsulated, flags, options)
    built = build_xla_ops(encapsulated, flags, options)
    dump("build_xla_ops", built, flags, options)
    return Optimized(built, marking, marked, encapsulated)
