"""Which pairs of ops on variables may not be in one cluster.

A cluster reads all variables before it runs and writes them all after it.  That keeps the order of a read before
anything, and of anything before a write; a write that something which reads waits for would be read too late.  So a
pair is unsafe if a path leads from the first to the second, unless the first only reads or the second only writes.
Functions may do both, since nobody looks inside.

Edges by which a loop goes on are left out: clusters never hold them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping

from compiler.graph import Node
from compiler.jit.topology import Topology
from compiler.tf2xla import RECORDS
from compiler.tf2xla.node_types import Library, called_functions


class Access(enum.Flag):
    """What an op does to variables."""

    NONE = 0
    READ = enum.auto()
    WRITE = enum.auto()


_MODIFY = Access.READ | Access.WRITE
_ACCESS: Mapping[str, Access] = {
    **dict.fromkeys(
        ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "VarIsInitializedOp"), Access.READ
    ),
    "AssignVariableOp": Access.WRITE,
}
"""Ops that do one thing only; all others that take a variable are taken to do both."""


def access_of(node: Node, library: Library) -> Access:
    """What a node does to variables."""
    if node.op in _ACCESS:
        return _ACCESS[node.op]
    record = RECORDS.get(node.op)
    takes = record is not None and any(port.type == "resource" for port in record.signature.inputs)
    return _MODIFY if takes or called_functions(node, library) else Access.NONE


def unsafe_pairs(
    topology: Topology, library: Library, is_ignored: Callable[[int], bool] = lambda _: False
) -> set[tuple[int, int]]:
    """The pairs of nodes that may not be in one cluster, the one that runs first before the other.

    Args:
        topology: the graph's edges.
        library: its functions, which may use variables too.
        is_ignored: whether the node of a number does not count.
    """
    before: dict[int, frozenset[tuple[int, Access]]] = {}
    unsafe: set[tuple[int, int]] = set()
    for number in reversed(topology.post_order()):
        reaching: frozenset[tuple[int, Access]] = frozenset()
        for edge in topology.inputs[number]:
            if not topology.is_back_edge(edge):
                reaching |= before[edge.source]
        access = Access.NONE if is_ignored(number) else access_of(topology.nodes[number], library)
        if access is not Access.NONE:
            unsafe |= {(other, number) for other, _ in reaching if access is not Access.WRITE}
        if access not in (Access.NONE, Access.READ):  # what only reads is safe before anything
            reaching |= {(number, access)}
        before[number] = reaching
    return unsafe
