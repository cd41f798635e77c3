"""Loops as TensorFlow 1 writes them, found in a graph and folded into one node each.

Such a loop is no node: values go into a *frame* by `Enter`, from iteration to iteration by `NextIteration` and `Merge`,
and out of it by `Exit`, so that the graph has cycles, and nodes that run more than once.  Who orders nodes, or makes
functions of loops, wants neither: each frame, the innermost first, becomes one node that takes what enters it and gives
what leaves it.

In which frame a node is its inputs say, as in TensorFlow's `BuildControlFlowInfo`: one that takes values of two frames
would wait for ever, and is an error.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from compiler.diagnostics import InputError
from compiler.graph.graph import Node
from compiler.graph.names import Names, endpoint, is_control, is_name

FRAME = "_Frame"
"""The op of a node that stands for a loop."""
_IN_FRAMES = ("Enter", "Exit", "NextIteration", "LoopCond")
_TAKES = {**dict.fromkeys(_IN_FRAMES, 1), "Switch": 2}


@dataclass(frozen=True, slots=True)
class Frame:
    """A loop of version 1: the nodes between its `Enter` and `Exit`.

    Attributes:
        name: what the attributes of its `Enter` call it.
        node: what stands for it: takes what the `Enter` take, in their order, and gives what the `Exit` give.
        nodes: all that is inside, `Enter` and `Exit` among it; loops inside are folded.
    """

    name: str
    node: Node
    nodes: Sequence[Node]

    def all(self, kind: str) -> list[Node]:
        """The nodes of an op of control flow, in order."""
        return [node for node in self.nodes if is_a(node, kind)]


def is_a(node: Node, kind: str) -> bool:
    """Whether a node is an op, or the op of that name for references to variables, of the loops and switches of v1."""
    return node.op in (kind, f"Ref{kind}")


def source_of(text: str) -> str:
    """The node that an input names."""
    return text.removeprefix("^").partition(":")[0]


def in_order(nodes: Sequence[Node]) -> list[Node]:
    """Nodes after what they take and wait for, but over back edges; of those that could be next the one made first.

    Raises:
        InputError: some wait for themselves, and no NextIteration is among them.
    """
    numbers = {node.name: number for number, node in enumerate(nodes)}
    waiting = [0] * len(nodes)
    users: list[list[int]] = [[] for _ in nodes]
    for number, node in enumerate(nodes):
        sources = {numbers[source_of(text)] for text in node.inputs}
        if is_a(node, "Merge"):
            sources = {one for one in sources if not is_a(nodes[one], "NextIteration")}
        waiting[number] = len(sources)
        for source in sources:
            users[source].append(number)
    ready = [number for number, count in enumerate(waiting) if not count]
    order = []
    while ready:
        number = heapq.heappop(ready)
        order.append(nodes[number])
        for user in users[number]:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, user)
    if len(order) < len(nodes):
        left = next(node.name for node, count in zip(nodes, waiting, strict=True) if count)
        raise InputError(f"node {left!r} waits for itself, and no NextIteration is on the way")
    return order


def folded(nodes: Sequence[Node]) -> tuple[list[Node], dict[str, Frame]]:
    """The nodes outside of all loops, and the loops by the nodes that stand for them, the innermost first.

    Raises:
        InputError: nodes take values of several frames, leave one that they are not in, or have too few inputs.
    """
    for node in nodes:
        _check_inputs(node)
    if not any(is_a(node, kind) for node in nodes for kind in _IN_FRAMES):
        return list(nodes), {}
    return Frames(nodes).folded()


def _check_inputs(node: Node) -> None:
    count, op = len(node.data_inputs), node.op.removeprefix("Ref")
    if (op == "Merge" and not count) or count != _TAKES.get(op, count):
        raise InputError(f"node {node.name!r} ({node.op}): it takes {_TAKES.get(op, 'some')} tensors, and has {count}")


def inside_loops(nodes: Sequence[Node]) -> set[str]:
    """The nodes that run in iterations, and whose values nobody outside can have; raises as `folded` does."""
    _, frames = folded(nodes)
    inner = {node.name for frame in frames.values() for node in frame.nodes}
    left = (node for frame in frames.values() if frame.node.name not in inner for node in frame.all("Exit"))
    return inner - {node.name for node in left}


class Frames:
    """The frame of a loop that each node runs in, by name; that of an `Enter` is the one which it opens."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        """Find the frames of a graph.

        Raises:
            InputError: nodes take values of several frames, so that nobody knows how often they run, or leave one that
                they are not in.
        """
        self._nodes = {node.name: node for node in nodes}
        self._inside: dict[str, str] = {}
        self._outer: dict[str, str] = {}
        for node in in_order(nodes):
            self._inside[node.name] = self._frame(node)
        for node in nodes:
            if is_a(node, "Merge"):
                self._common(node, node.inputs)

    def name(self, node: str) -> str:
        """The frame of a node, by its name; empty outside of loops."""
        return self._inside.get(node, "")

    def path(self, node: str) -> list[str]:
        """The frame of a node and those around it, the innermost first."""
        return self._path(self.name(node))

    def folded(self) -> tuple[list[Node], dict[str, Frame]]:
        """Fold every frame; see `folded`."""
        names = Names(self._nodes)
        members: dict[str, list[Node]] = {"": [], **{name: [] for name in self._outer}}
        for name, frame in self._inside.items():
            members[frame].append(self._nodes[name])
        order = sorted(self._outer, key=lambda frame: len(self._path(frame)), reverse=True)
        stand = {name: names.free(name if is_name(name) else "frame") for name in order}
        moved: dict[str, str] = {}
        for name in order:
            exits = (one for one in members[name] if is_a(one, "Exit"))
            moved |= {one.name: f"{stand[name]}:{port}" for port, one in enumerate(exits)}
        frames: dict[str, Frame] = {}
        for name in order:
            inner = [with_outputs(node, moved) for node in members[name]]
            node = _stands_for(stand[name], inner)
            frames[node.name] = Frame(name, node, inner)
            members[self._outer[name]].append(node)
        return [with_outputs(node, moved) for node in members[""]], frames

    def _path(self, frame: str) -> list[str]:
        path = []
        while frame:
            path.append(frame)
            frame = self._outer[frame]
        return path

    def _frame(self, node: Node) -> str:
        """The frame that a node is in, those before it being known."""
        known = [text for text in node.inputs if source_of(text) in self._inside]
        outer = self._common(node, known)
        is_enter = is_a(node, "Enter")
        if not outer and not is_enter and node.op.removeprefix("Ref") in _IN_FRAMES:
            raise InputError(f"node {node.name!r} ({node.op}) is in no frame")
        if outer and node.op == "_Retval":
            raise InputError(f"output {node.inputs[0]!r} is inside of frame {outer!r}: fetch what leaves the loop")
        if not is_enter:
            return outer
        stated = node.attributes.get("frame_name")
        name = stated.decode() if isinstance(stated, bytes) else ""
        if not name:
            raise InputError(f"node {node.name!r} ({node.op}): it names no frame")
        if self._outer.setdefault(name, outer) != outer or name == outer:
            raise InputError(f"node {node.name!r}: frame {name!r} is entered from two frames")
        return name

    def _common(self, node: Node, inputs: Sequence[str]) -> str:
        """The frame that values come from."""
        frames = {self._given(text): text for text in inputs}
        if len(frames) > 1:
            said = ", ".join(f"{text!r} of {f'frame {frame!r}' if frame else 'none'}" for frame, text in frames.items())
            raise InputError(f"node {node.name!r}: it takes values of several frames, {said}: let them Enter and Exit")
        return next(iter(frames), "")

    def _given(self, text: str) -> str:
        """The frame in which an output is there."""
        name = source_of(text)
        inside = self._inside[name]
        return self._outer[inside] if is_a(self._nodes[name], "Exit") else inside


def _stands_for(name: str, nodes: Sequence[Node]) -> Node:
    enters = [node for node in nodes if is_a(node, "Enter")]
    takes = [node.data_inputs[0] for node in enters]
    waits = dict.fromkeys(text for node in enters for text in node.inputs if is_control(text))
    return Node(name, FRAME, (*takes, *waits), enters[0].device)


def with_outputs(node: Node, moved: Mapping[str, str]) -> Node:
    """The node, taking other outputs in place of some, which are named as `Endpoint` spells them."""
    takes = [moved.get(str(endpoint(text)), text) for text in node.data_inputs]
    waits = dict.fromkeys(f"^{source_of(moved.get(text[1:], text))}" for text in node.inputs if is_control(text))
    return replace(node, inputs=(*takes, *waits))
