"""On which side of a `Switch` a node of TensorFlow 1 runs, and which `Merge` ends the branch.

`Switch` gives its value to one of two outputs, and whatever takes the other one does not run; `Merge` gives the value
that is there.  So every node stands on a *path*: the predicates that hold, or do not, where it runs, the outermost
first.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.diagnostics import InputError, UnsupportedError
from compiler.graph import Node, Tensor
from compiler.graph.frames import is_a, source_of
from compiler.graph.names import endpoint, is_control
from compiler.tf2xla.flat_functions import RESULT

Path = tuple[tuple[str, bool], ...]
"""Predicates, and whether they hold, where a node runs."""
DEEPEST = 64
"""Branches that stand in each other."""


class Paths:
    """Where each node runs.

    Attributes:
        of: the path of each node.
        predicates: of each Switch what it asks, however that was passed on or is asked.
        inverted: those whose first output is there where it holds.
        ends: of each Merge the predicate that it ends, and the number of its input where that holds.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        """Walk nodes that stand in an order in which they can run."""
        self.of: dict[str, Path] = {}
        self.predicates: dict[str, str] = {}
        self.inverted: set[str] = set()
        self.ends: dict[str, tuple[str, int]] = {}
        self._nodes = {node.name: node for node in nodes}
        for node in nodes:
            self.of[node.name] = self._path(node)

    def first(self, node: Node) -> str:
        """The outermost predicate of the branches that a node belongs to; empty where it belongs to none."""
        path = self.of[node.name]
        if path:
            return path[0][0]
        return self.predicates.get(node.name) or self.ends.get(node.name, ("", 0))[0]

    def holds(self, node: Node) -> bool | None:
        """On which side of its outermost predicate a node stands; None where it stands on none."""
        path = self.of[node.name]
        return path[0][1] if path else None

    def at(self, text: str) -> Path:
        """Where an output is there."""
        source = endpoint(text)
        assert source is not None, "the graph is verified"
        path = self.of[source.node]
        if source.node in self.predicates and not is_control(text):
            return (*path, (self.predicates[source.node], (source.port == 1) is not (source.node in self.inverted)))
        return path

    def _path(self, node: Node) -> Path:
        if node.op in _ALWAYS:
            return ()
        paths = [self.at(text) for text in node.inputs]
        if is_a(node, "Merge"):
            count = len(node.data_inputs)
            paths = [self._merged(node, paths[:count]), *paths[count:]]
        path = tuple(dict.fromkeys(one for each in sorted(paths, key=len, reverse=True) for one in each))
        if len(path) > DEEPEST:
            raise UnsupportedError(
                "a branch", "the lowering to HLO", f"branches stand more than {DEEPEST} deep in each other"
            )
        if len(path) > len({predicate for predicate, _ in path}):
            raise InputError(f"node {node.name!r} ({node.op}): it needs both sides of a Switch, and never runs")
        if is_a(node, "Switch"):
            self.predicates[node.name], holds = self._predicate(node.inputs[1])
            self.inverted |= set() if holds else {node.name}
        return path

    def _predicate(self, text: str) -> tuple[str, bool]:
        """What a Switch asks, and whether it asks that it holds.

        Which input a Merge has taken, as gradients ask, is what was asked before the Merge.
        """
        source = endpoint(text)
        while source is not None and (node := self._nodes[source.node]).op == "Identity":
            source = endpoint(node.inputs[0])
        if node.op == "Equal":
            first, second = (self._nodes[source_of(one)] for one in node.data_inputs)
            value = second.attributes.get("value")
            if node.data_inputs[0] == f"{first.name}:1" and first.name in self.ends and isinstance(value, Tensor):
                predicate, number = self.ends[first.name]
                return predicate, bool(value.array() == number)
        return str(source), True

    def _merged(self, node: Node, paths: Sequence[Path]) -> Path:
        """Where a Merge runs: where either side does, which must be all that tells them from each other."""
        common = tuple(one for one in paths[0] if all(one in path for path in paths))
        rests = [[one for one in path if one not in common] for path in paths]
        if [len(rest) for rest in rests] != [1, 1] or rests[0][0][0] != rests[1][0][0]:
            reason = "its inputs are not the two sides of a Switch"
            raise UnsupportedError(f"op {node.op} (node {node.name!r})", "the lowering to HLO", reason)
        predicate, holds = rests[0][0]
        self.ends[node.name] = predicate, 0 if holds else 1
        return common


_ALWAYS = (RESULT, "ControlTrigger")
"""What runs in any case: results, which a caller takes where they are there, and what dead values trigger, too."""
