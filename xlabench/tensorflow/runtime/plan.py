"""What a run does, settled once for its fetches and feeds: which nodes, where, in which order, by which kernels.

Only what the fetches need is in it.  Fed tensors are `_Arg` nodes, nodes stand on devices, clusters are made, values
that cross from one device's memory to another's are copied, and are counted there; then every node becomes a step that
takes values from slots and puts its own into others.  A loop of frames is one step (`frames.py`), so that the order of
steps is the same in every run; a step that would take a dead value (`Switch`) is passed over and leaves dead ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compiler.tf import (
    FRAME,
    RECORDS,
    CompilerError,
    Frame,
    Graph,
    Node,
    folded,
    for_execution,
    in_order,
    input_types,
    is_a,
    output_types,
    why_not,
)
from xlabench.tensorflow import errors
from xlabench.tensorflow.runtime import host, summaries
from xlabench.tensorflow.runtime.frames import Iteration
from xlabench.tensorflow.runtime.kernels import KERNELS, Kernel, Maker, raised
from xlabench.tensorflow.runtime.lists import maker_for
from xlabench.tensorflow.runtime.lookup import TABLES
from xlabench.tensorflow.runtime.placement import assign_devices
from xlabench.tensorflow.runtime.programs import READ, LoweredKernel, output_count
from xlabench.tensorflow.runtime.references import REFERENCES, changing
from xlabench.tensorflow.runtime.refusals import refusing
from xlabench.tensorflow.runtime.resources import Resources
from xlabench.tensorflow.runtime.sampling import SAMPLERS
from xlabench.tensorflow.runtime.settings import Device
from xlabench.tensorflow.runtime.steps import COPY, Plan, Step
from xlabench.tensorflow.runtime.stores import STORES
from xlabench.tensorflow.runtime.texts import TEXTS
from xlabench.tensorflow.runtime.value_sizes import VALUE_SIZES

_VALUES = frozenset({"Const", "VarHandleOp", "Variable", "VariableV2"})
"""Nodes whose value is the same in every run of a session."""
_IDLE = frozenset({"_Retval", "_Arg"})
_KERNELS: Mapping[str, Maker] = {
    **KERNELS,
    **host.KERNELS,
    **summaries.KERNELS,
    **VALUE_SIZES,
    **SAMPLERS,
    **STORES,
    **TABLES,
    **TEXTS,
    **REFERENCES,
}
FUNCTION = "_Function"
"""The op whose kernel runs a node that is named for a function of the library."""
_FEEDABLE = frozenset({"Placeholder", "PlaceholderWithDefault"})


@dataclass(frozen=True, slots=True)
class Around:
    """What a plan depends on besides the graph.

    Attributes:
        devices: by name, the host first.
        resources: the session's variables.
        cluster: the graph with clusters, if it is to have any.
        kernels: makers of kernels of nodes that clustering makes, and of calls, by op.
        is_soft: whether nodes may run elsewhere than they say.
        refuses: whether the host's kernels refuse the values that TensorFlow's do (`refusals.py`).
    """

    devices: Mapping[str, Device]
    resources: Resources
    cluster: Callable[[Graph, Around], Graph]
    kernels: Mapping[str, Callable[[Node, Graph, Around], Kernel]]
    is_soft: bool
    refuses: bool = True


def make(graph: Graph, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str], around: Around) -> Plan:
    """The plan of a run.

    Args:
        graph: the session's.
        feeds: names of tensors, `node:port`.
        fetches: names of tensors.
        targets: names of nodes that only run.
        around: the session.

    Raises:
        InvalidArgumentError: the graph makes no sense, or a node is to run where there is nothing.
    """
    fed = {text.partition(":")[0] for text in feeds}
    waits = {f"^{node.name}" for node in graph.nodes if node.name in fed and node.op in _FEEDABLE}
    nodes = [replace(one, inputs=tuple(x for x in one.inputs if x not in waits)) for one in graph.nodes]
    first = next(iter(around.devices))
    try:
        run = for_execution(replace(graph, nodes=nodes), feeds, fetches, targets, first)
        nodes = [replace(one, attributes=dict(one.attributes)) for one in run.graph.nodes]
        assign_devices(nodes, around.devices, is_soft=around.is_soft)
        return of_graph(around.cluster(replace(run.graph, nodes=nodes), around), run.feeds, run.fetches, around)
    except CompilerError as error:
        raise errors.InvalidArgumentError(None, None, str(error)) from error


def of_graph(graph: Graph, entries: Sequence[str], exits: Sequence[str], around: Around) -> Plan:
    """The plan of a graph whose nodes have devices, its feeds and fetches by the names of their nodes.

    Args:
        graph: what is run.
        entries: the names of the nodes that are fed.
        exits: those of the nodes that are fetched.
        around: what a plan depends on besides.

    Raises:
        InputError: its loops make no sense.
    """
    nodes, frames = folded(graph.nodes)
    return _Planner(replace(graph, nodes=nodes), around, frames).plan(entries, exits)


class _Planner:
    """Steps of a graph whose nodes have devices, with the loops that some of its nodes stand for."""

    def __init__(self, graph: Graph, around: Around, frames: Mapping[str, Frame]) -> None:
        self._graph = graph
        self._around = around
        self._frames = frames
        self._plan = Plan()
        self._numbers: dict[str, int] = {}
        self._slots: dict[str, int] = {}
        self._copied: dict[tuple[str, str], str] = {}
        self._nodes = {node.name: node for node in graph.nodes}
        self._library = {function.name: function for function in graph.functions}

    def plan(self, entries: Sequence[str], exits: Sequence[str]) -> Plan:
        """Every node as a step."""
        for node in in_order(self._graph.nodes):
            self._add(self._with_copies(self._with_reads(node)))
        plan = self._plan
        plan.may_die = any(is_a(node, "Switch") or node.op == FRAME for node in self._graph.nodes)
        plan.feeds = [self._slots[f"{name}:0"] for name in entries]
        plan.fetches = [plan.steps[self._numbers[name]].takes[0] for name in exits]
        plan.quick = [one for one in plan.steps if not _is_idle(one, may_die=plan.may_die)]
        return plan

    def _with_reads(self, node: Node) -> Node:
        """The node, taking what variables hold where it wants values, and is given references."""
        inputs = list(node.inputs)
        wanted = input_types(node, self._library)
        for number, (text, kind) in enumerate(zip(node.data_inputs, wanted, strict=False)):
            is_handed_on = kind is not None and kind.is_reference and node.op != "_Retval"
            if self._is_reference(text) and not is_handed_on:
                source = self._nodes[text.partition(":")[0]]
                read = Node(f"{node.name}/_read_{number}", READ, (text,), source.device)
                self._nodes[read.name] = read
                self._add(read)
                inputs[number] = read.name
        return replace(node, inputs=tuple(inputs))

    def _is_reference(self, text: str) -> bool:
        """Whether an output is a reference to a variable."""
        name, _, port = text.partition(":")
        types = output_types(self._nodes[name], self._library) if name in self._nodes else None
        kind = types[int(port or 0)] if types else None
        return kind is not None and kind.is_reference

    def _with_copies(self, node: Node) -> Node:
        """The node, taking copies of what lies on other devices."""
        inputs = []
        for text in node.inputs:
            source = self._nodes[text.removeprefix("^").partition(":")[0]]
            is_handle = source.op == "VarHandleOp" or (not text.startswith("^") and self._is_reference(text))
            is_same = text.startswith("^") or source.device == node.device or is_handle
            inputs.append(text if is_same else self._copy(text, source, node.device))
        return replace(node, inputs=tuple(inputs))

    def _copy(self, text: str, source: Node, device: str) -> str:
        key = text, device
        if key not in self._copied:
            name = f"{source.name}/_{2 * len(self._copied) + 1}"
            pair = source.device, device
            self._plan.copies[pair] = self._plan.copies.get(pair, 0) + 1
            node = Node(name, COPY, (text,), device, {"from": source.device.encode()})
            self._nodes[name] = node
            self._add(node)
            self._copied[key] = name
        return self._copied[key]

    def _add(self, node: Node) -> None:
        plan = self._plan
        kernel, count = self._kernel(node)
        first = len(plan.slots)
        plan.slots += [None] * count
        takes = tuple(self._slots[text if ":" in text else f"{text}:0"] for text in node.data_inputs)
        waits = tuple(self._numbers[text[1:]] for text in node.inputs if text.startswith("^"))
        if node.op in _VALUES:
            plan.slots[first : first + count] = kernel([])
        self._slots.update((f"{node.name}:{port}", first + port) for port in range(count))
        self._numbers[node.name] = len(plan.steps)
        plan.steps.append(Step(len(plan.steps), node, kernel, takes, first, first + count, waits))

    def _kernel(self, node: Node) -> tuple[Kernel, int]:
        own = _OWN.get(node.op)
        if own is not None:
            return own
        if node.op == FRAME:
            return self._loop(self._frames[node.name])
        around = self._around
        count = output_count(node, self._graph.functions)
        maker = around.kernels.get(FUNCTION if node.op in self._library else node.op)
        if maker is not None:
            return maker(node, self._graph, around), count
        simple = _KERNELS.get(node.op) or maker_for(node)
        if simple is not None:
            return simple(node, around.resources), count
        if node.op not in RECORDS:
            said = f"No OpKernel was registered to support Op '{node.op}' used by {{{{node {node.name}}}}}"
            raise raised(errors.InvalidArgumentError, node, f"{said}: {why_not(node.op)}")
        device = around.devices[node.device]
        spec = device.cluster_spec if device.compiles else device.spec
        lowered: Kernel = LoweredKernel(node, spec, around.resources, self._graph.functions)
        if around.refuses and device.is_host:
            lowered = refusing(node, lowered)
        outputs = RECORDS[node.op].signature.outputs
        return changing(node, lowered) if outputs and outputs[0].is_reference else lowered, count

    def _loop(self, frame: Frame) -> tuple[Kernel, int]:
        iteration = Iteration(frame)
        planner = _Planner(replace(self._graph, nodes=iteration.nodes), self._around, self._frames)
        plan = planner.plan(iteration.entries, iteration.exits)
        return lambda inputs: iteration.run(plan, inputs), len(frame.all("Exit"))


def _is_idle(step: Step, *, may_die: bool) -> bool:
    """Whether nothing happens when it runs: its value is there, and it hands on nobody's death."""
    if step.node.op in _IDLE:
        return True
    return step.node.op in _VALUES | {"NoOp"} and not (may_die and step.waits)


def _kept(inputs: Sequence[Any]) -> Sequence[Any]:
    return inputs


def _copied(inputs: Sequence[Any]) -> Sequence[Any]:
    return [one.copy() if hasattr(one, "copy") else one for one in inputs]


def _none(_inputs: Sequence[Any]) -> Sequence[Any]:
    return ()


_OWN: Mapping[str, tuple[Kernel, int]] = {"_Arg": (_kept, 1), COPY: (_copied, 1), "_Retval": (_none, 0)}
