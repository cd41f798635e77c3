"""Which clusters a run of a case has: the same passes on the same graph as when it runs, without running it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from compiler.tf import Flags, Marking, Options, Progress, cluster, cluster_of, for_execution, inline_functions
from xlabench.graphs.case import GraphCase
from xlabench.graphs.running import HOST, HOST_DEVICE
from xlabench.tensorflow.runtime.placement import assign_devices


@dataclass(frozen=True, slots=True)
class Clustered:
    """A case with its clusters.

    Attributes:
        case: the graph that runs, whose nodes say which cluster they are in, with its values.
        marking: what was decided, and which nodes could be in clusters, in the order in which fuel is used up.
    """

    case: GraphCase
    marking: Marking

    @property
    def members(self) -> dict[str, list[str]]:
        """The nodes of each cluster."""
        found: dict[str, list[str]] = {}
        for node in self.case.graph.nodes:
            if cluster_of(node):
                found.setdefault(cluster_of(node), []).append(node.name)
        return found

    @property
    def listing(self) -> str:
        """The clusters for people, a line for each node."""
        lines = []
        for name, nodes in self.members.items():
            lines += [f"{name}: {len(nodes)} nodes", *(f"  {one} ({self.case.graph.node(one).op})" for one in nodes)]
        return "\n".join(lines)


def clustered(case: GraphCase, flags: Flags) -> Clustered:
    """The clusters that a case has when it runs with these flags; raises as `cluster` does."""
    feeds = tuple(case.values)
    fetches = [text for text in case.fetches if not text.startswith("^")]
    targets = [text[1:] for text in case.fetches if text.startswith("^")]
    run = for_execution(case.graph, feeds, fetches, targets, HOST)
    nodes = [replace(one, attributes=dict(one.attributes)) for one in run.graph.nodes]
    graph = inline_functions(replace(run.graph, nodes=nodes))
    assign_devices(graph.nodes, {HOST: HOST_DEVICE}, is_soft=True)
    marked, marking = cluster(graph, flags, Options(device=HOST, progress=Progress()))
    values = dict(zip(run.feeds, case.values.values(), strict=True))
    return Clustered(replace(case, graph=marked, values=values), marking)
