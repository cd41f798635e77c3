"""What a run does, settled once for its fetches and feeds: which nodes, where, in which order, by which kernels.

Only what the fetches need is in it.  Fed tensors are `_Arg` nodes, nodes stand on devices, clusters are made, values
that cross from one device's memory to another's are copied, and are counted there; then every node becomes a step that
takes values from slots and puts its own into others.  Frames of loops are not in graphs here, so that the order of nodes
is the same in every run; a step that would take a dead value (`Switch`) is passed over and leaves dead ones.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from compiler.tf import RECORDS, Graph, Node
from xlabench.tensorflow import errors
from xlabench.tensorflow.runtime.kernels import KERNELS, Kernel, raised
from xlabench.tensorflow.runtime.placement import place
from xlabench.tensorflow.runtime.programs import LoweredKernel, output_count
from xlabench.tensorflow.runtime.resources import Resources
from xlabench.tensorflow.runtime.settings import Device

COPY = "_Copy"
"""A node that takes a value from one device's memory to another's."""
_MERGES = frozenset({"Merge", "_XlaMerge"})
_VALUES = frozenset({"Const", "VarHandleOp"})
"""Nodes whose value is the same in every run of a session."""
_STATE = frozenset({"VarHandleOp", "_Retval", "_Arg"})


@dataclass(frozen=True, slots=True)
class Step:
    """A node that runs.

    Attributes:
        node: in the graph as it is after clustering.
        kernel: what runs.
        takes: the slots of its inputs.
        first, stop: the slots of its outputs.
        waits: the steps that it waits for, by number.
        device: where.
    """

    node: Node
    kernel: Kernel
    takes: tuple[int, ...]
    first: int
    stop: int
    waits: tuple[int, ...]
    device: str


@dataclass(slots=True)
class Plan:
    """What a run does.

    Attributes:
        steps: every step in order.
        slots: what slots hold before a run.
        feeds: the slots of what is fed, in order.
        fetches: the slots of what is fetched, in order.
        quick: the steps of a run without a trace, as `(kernel, takes, first, stop)`; empty where values may be dead.
        quick_steps: the steps that these are.
        copies: how many values cross from one device to another, by both names.
    """

    steps: list[Step] = field(default_factory=list)
    slots: list[Any] = field(default_factory=list)
    feeds: list[int] = field(default_factory=list)
    fetches: list[int] = field(default_factory=list)
    quick: list[tuple[Kernel, tuple[int, ...], int, int]] = field(default_factory=list)
    quick_steps: list[Step] = field(default_factory=list)
    copies: dict[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Around:
    """What a plan depends on besides the graph.

    Attributes:
        devices: by name, the host first.
        resources: the session's variables.
        cluster: makes clusters in a graph, in place, if it is to have any.
        kernel: the kernels of nodes that clustering makes, by op.
        is_soft: whether nodes may run elsewhere than they say.
    """

    devices: Mapping[str, Device]
    resources: Resources
    cluster: Callable[[Graph], Graph]
    kernel: Mapping[str, Callable[[Node, Graph, Device, Resources], Kernel]]
    is_soft: bool


def make(graph: Graph, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str], around: Around) -> Plan:
    """The plan of a run.

    Args:
        graph: the session's.
        feeds: names of tensors, `node:port`.
        fetches: names of tensors.
        targets: names of nodes that only run.
        around: the session.
    """
    pruned = _pruned(graph, feeds, [*fetches, *targets])
    arguments = {text: f"_arg_{_flat(text)}_{number}" for number, text in enumerate(feeds)}
    host = next(iter(around.devices))
    nodes = [replace(node, inputs=_rewired(node.inputs, arguments), attributes=dict(node.attributes)) for node in pruned]
    entries = [Node(name, "_Arg", device=host, attributes={"index": n}) for n, name in enumerate(arguments.values())]
    exits = [
        Node(f"_retval_{_flat(text)}_{number}", "_Retval", (arguments.get(text, text),), host)
        for number, text in enumerate(fetches)
    ]
    place(nodes, around.devices, is_soft=around.is_soft)
    made = around.cluster(Graph([*entries, *nodes, *exits], list(graph.functions)))
    return _Planner(made, around).plan([node.name for node in entries], [node.name for node in exits])


def _flat(text: str) -> str:
    node, _, port = text.partition(":")
    return f"{node.replace('/', '_')}_{port or 0}"


def _rewired(inputs: Iterable[str], arguments: Mapping[str, str]) -> tuple[str, ...]:
    fed = {text.partition(":")[0] for text in arguments}
    found = []
    for text in inputs:
        if text.startswith("^"):
            found += [] if text[1:] in fed else [text]
        else:
            full = text if ":" in text else f"{text}:0"
            found.append(arguments.get(full, text))
    return tuple(found)


def _pruned(graph: Graph, feeds: Sequence[str], wanted: Sequence[str]) -> list[Node]:
    """The nodes that are needed, in the order of the graph."""
    by_name = {node.name: node for node in graph.nodes}
    fed = set(feeds)
    fed_nodes = {text.partition(":")[0] for text in feeds}
    needed: set[str] = set()
    stack = [text for text in wanted if text not in fed]
    while stack:
        text = stack.pop()
        name = text.removeprefix("^").partition(":")[0]
        if name in needed:
            continue
        needed.add(name)
        for source in by_name[name].inputs:
            if source.startswith("^"):
                stack += [] if source[1:] in fed_nodes else [source]
            elif (source if ":" in source else f"{source}:0") not in fed:
                stack.append(source)
    return [node for node in graph.nodes if node.name in needed]


class _Planner:
    """Steps of a graph whose nodes have devices."""

    def __init__(self, graph: Graph, around: Around) -> None:
        self._graph = graph
        self._around = around
        self._plan = Plan()
        self._numbers: dict[str, int] = {}
        self._slots: dict[str, int] = {}
        self._copied: dict[tuple[str, str], str] = {}
        self._node_of = {node.name: node for node in graph.nodes}
        self._live = 0

    def plan(self, entries: Sequence[str], exits: Sequence[str]) -> Plan:
        """The plan, its feeds and fetches by the names of their nodes."""
        may_die = any(node.op == "Switch" for node in self._graph.nodes)
        for node in _sorted(self._graph.nodes):
            self._add(self._with_copies(node))
        plan = self._plan
        plan.feeds = [self._slots[f"{name}:0"] for name in entries]
        plan.fetches = [self._step(name).takes[0] for name in exits]
        if not may_die:
            plan.quick_steps = [one for one in plan.steps if one.node.op not in _STATE | _VALUES | {"NoOp"}]
            plan.quick = [(one.kernel, one.takes, one.first, one.stop) for one in plan.quick_steps]
        return plan

    def _step(self, name: str) -> Step:
        return self._plan.steps[self._numbers[name]]

    def _with_copies(self, node: Node) -> Node:
        """The node, taking copies of what lies on other devices."""
        inputs = []
        for text in node.inputs:
            source = self._node_of[text.removeprefix("^").partition(":")[0]]
            is_same = text.startswith("^") or source.device == node.device or source.op == "VarHandleOp"
            inputs.append(text if is_same else self._copy(text, source, node.device))
        return replace(node, inputs=tuple(inputs))

    def _copy(self, text: str, source: Node, device: str) -> str:
        key = text, device
        if key not in self._copied:
            name = f"{source.name}/_{2 * len(self._copied) + 1}"
            pair = source.device, device
            self._plan.copies[pair] = self._plan.copies.get(pair, 0) + 1
            node = Node(name, COPY, (text,), device, {"from": source.device.encode()})
            self._node_of[name] = node
            self._add(node)
            self._copied[key] = name
        return self._copied[key]

    def _add(self, node: Node) -> None:
        plan = self._plan
        kernel, count = self._kernel(node)
        first = len(plan.slots)
        plan.slots += [None] * count
        takes = tuple(
            self._slots[text if ":" in text else f"{text}:0"] for text in node.inputs if not text.startswith("^")
        )
        waits = tuple(self._numbers[text[1:]] for text in node.inputs if text.startswith("^"))
        if node.op in _VALUES:
            plan.slots[first : first + count] = kernel([])
        self._slots.update((f"{node.name}:{port}", first + port) for port in range(count))
        self._numbers[node.name] = len(plan.steps)
        plan.steps.append(Step(node, kernel, takes, first, first + count, waits, node.device))

    def _kernel(self, node: Node) -> tuple[Kernel, int]:
        if node.op in ("_Arg", COPY):
            return (_kept if node.op == "_Arg" else _copied), 1
        if node.op == "_Retval":
            return _none, 0
        device = self._around.devices[node.device]
        special = self._around.kernel.get(node.op)
        if special is not None:
            return special(node, self._graph, device, self._around.resources), output_count(node)
        maker = KERNELS.get(node.op)
        if maker is not None:
            return maker(node, self._around.resources), output_count(node)
        if node.op not in RECORDS:
            said = f"No OpKernel was registered to support Op '{node.op}' used by {{{{node {node.name}}}}}"
            raise raised(errors.InvalidArgumentError, node, said)
        spec = device.cluster_spec if device.compiles else device.spec
        return LoweredKernel(node, spec, self._graph.functions), output_count(node)


def _kept(inputs: Sequence[Any]) -> Sequence[Any]:
    return inputs


def _copied(inputs: Sequence[Any]) -> Sequence[Any]:
    return [one.copy() if hasattr(one, "copy") else one for one in inputs]


def _none(_inputs: Sequence[Any]) -> Sequence[Any]:
    return ()


def _sorted(nodes: Sequence[Node]) -> list[Node]:
    """Nodes after what they take and wait for; of those that could be next the one that was made first."""
    numbers = {node.name: number for number, node in enumerate(nodes)}
    waiting = [0] * len(nodes)
    users: list[list[int]] = [[] for _ in nodes]
    for number, node in enumerate(nodes):
        sources = {numbers[text.removeprefix("^").partition(":")[0]] for text in node.inputs}
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
    return order
