"""BuildXlaOps: the call of a cluster becomes the ops that compile it and run what was compiled.

Where a cluster must be compiled (on XLA_* devices, or without lazy compilation):

    key = _XlaCompile(arguments)        outputs = _XlaRun(arguments, key)

Elsewhere it may run op by op as well, as long as nobody knows that compiling pays:

    key, compiled = _XlaCompile(arguments)
    for_run, for_call = Switch(key, compiled)
    outputs = _XlaMerge(StatefulPartitionedCall(arguments, ^for_call), _XlaRun(arguments, for_run))

Who waits for the cluster waits for whichever of the two ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from compiler.diagnostics import InputError
from compiler.graph import BY_NAME, AttributeList, DataType, FunctionReference, Graph, Node, tensor_of
from compiler.graph.names import Names
from compiler.jit.attributes import COMPILED_KERNEL, CONSTANT_ARGS, REFERENCE_VARS, RESOURCE_ARGS
from compiler.jit.devices import device_of, registration_of
from compiler.jit.flags import Flags
from compiler.jit.options import Options
from compiler.tf2xla.node_types import STRING, Library

_FIRST_PRINTS = 1000
"""How often an inserted Print op prints (TensorFlow, build_xla_ops_pass.cc)."""
_HOST = "/job:localhost/replica:0/task:0/device:CPU:0"
"""Where values are printed, wherever the cluster runs."""


def build_xla_ops(graph: Graph, flags: Flags, options: Options) -> Graph:
    """The graph with ops that compile and run in place of the calls of clusters.

    Args:
        graph: whose clusters are calls of functions.
        flags: those of TF_XLA_FLAGS.
        options: the session's.

    Raises:
        InputError: a call states more constants and variables than it has inputs.
    """
    calls = [node.name for node in graph.nodes if node.attributes.get(COMPILED_KERNEL) is True]
    for name in calls:  # one may take from another, which is replaced by then
        graph = _Builder(graph, graph.node(name), flags, options).run()
    return graph


@dataclass(slots=True)
class _Inputs:
    """What a cluster takes, by what it is for who compiles it."""

    constants: tuple[str, ...]
    arguments: tuple[str, ...]
    resources: tuple[str, ...]
    waits: tuple[str, ...]

    @property
    def at_run(self) -> tuple[str, ...]:
        return (*self.arguments, *self.resources)


class _Builder:
    """One call on its way to ops."""

    def __init__(self, graph: Graph, call: Node, flags: Flags, options: Options) -> None:
        self._graph = graph
        self._call = call
        self._flags = flags
        self._names = Names(node.name for node in graph.nodes)
        self._library: Library = {function.name: function for function in graph.functions}
        self._function = graph.function(call.op)
        self._device = device_of(call.device, options.default_device)
        self._made: list[Node] = []
        self._moved: dict[str, str] = {}
        self._inputs = self._split()

    def run(self) -> Graph:
        """Add the ops, and let who took from the call take from them."""
        registration = registration_of(self._device, self._flags)
        strict = not self._flags.enable_lazy_compilation or (
            registration is not None and registration.allows_everything
        )
        key = self._compile(strict=strict)
        if strict:
            ran = self._run(key)
            self._moved = {str(port): _at(ran, port) for port in range(len(self._function.outputs))}
            self._moved["wait"] = ran
        else:
            self._lazy(key)
        kept = [self._redirected(node) for node in self._graph.nodes if node is not self._call]
        return replace(self._graph, nodes=[*kept, *self._made])

    def _split(self) -> _Inputs:
        data = self._call.data_inputs
        constants, resources = (self._count(name) for name in (CONSTANT_ARGS, RESOURCE_ARGS))
        if constants + resources > len(data):
            said = f"it has {len(data)} inputs, fewer than {constants} constants and {resources} variables"
            raise InputError(f"node {self._call.name!r} ({self._call.op}): {said}")
        end = len(data) - resources
        return _Inputs(data[:constants], data[constants:end], data[end:], self._call.inputs[len(data) :])

    def _count(self, name: str) -> int:
        value = self._call.attributes.get(name)
        if not isinstance(value, int) or value < 0:
            raise InputError(f"node {self._call.name!r} ({self._call.op}): its attribute {name!r} must be a number")
        return value

    def _types(self, first: int, count: int) -> AttributeList:
        return _types(argument.type for argument in self._function.inputs[first : first + count])

    @property
    def _results(self) -> AttributeList:
        return _types(result.type for result in self._function.outputs)

    def _add(self, name: str, op: str, inputs: Sequence[str], **attributes: object) -> str:
        """A node of the cluster's, where the cluster runs; its name."""
        full = self._names.free(f"{self._call.name}/{name}")
        self._made.append(Node(full, op, tuple(inputs), str(self._device), dict(attributes)))  # type: ignore[arg-type]
        return full

    def _compile(self, *, strict: bool) -> str:
        own = self._inputs
        return self._add(
            "xla_compile",
            "_XlaCompile",
            (*own.constants, *own.at_run, *own.waits),
            must_compile=strict,
            function=FunctionReference(self._call.op, self._call.attributes),
            Tconstants=self._types(0, len(own.constants)),
            Targs=self._types(len(own.constants), len(own.arguments)),
            Nresources=len(own.resources),
            **{REFERENCE_VARS: self._call.attributes.get(REFERENCE_VARS, False)},
        )

    def _run(self, key: str) -> str:
        own = self._inputs
        arguments = [*own.arguments]
        if self._flags.check_cluster_input_numerics:
            arguments = [self._checked_input(number, text) for number, text in enumerate(arguments)]
        return self._add(
            "xla_run",
            "_XlaRun",
            (*arguments, *own.resources, key),
            Targs=self._types(len(own.constants), len(own.at_run)),
            Tresults=self._results,
            Nresources=len(own.resources),
        )

    def _checked_input(self, number: int, text: str) -> str:
        data_type = self._function.inputs[len(self._inputs.constants) + number].type
        said = f"CheckNumerics failed for input {number}({_named(text)}) into {self._function.name}"
        return self._checked(f"check_input_{number}", text, data_type, said)

    def _checked(self, name: str, text: str, data_type: DataType, said: str) -> str:
        """A value that must be finite, where it can be otherwise."""
        if not str(data_type).startswith(("float", "bfloat")):
            return text
        return self._add(name, "CheckNumerics", (text,), T=data_type, message=said.encode())

    def _lazy(self, key: str) -> None:
        own = self._inputs
        switch = self._add("predicated_compilation_key", "Switch", (key, f"{key}:1"), T=STRING)
        ran = self._run(f"{switch}:1")
        for_call = self._add("data_as_ctrl", "Identity", (switch,), T=STRING)
        called = self._add(
            "stateful_partitioned_call",
            "StatefulPartitionedCall",
            (*own.constants, *own.at_run, *own.waits, f"^{for_call}"),
            f=FunctionReference(self._call.op, self._call.attributes),
            Tin=self._types(0, len(self._function.inputs)),
            Tout=self._results,
        )
        for port, result in enumerate(self._function.outputs):
            if self._is_taken(port):
                given = self._watched(port, _at(ran, port), result.type)
                inputs = (_at(called, port), given)
                self._moved[str(port)] = self._add(f"merge_oidx_{port}", "_XlaMerge", inputs, T=result.type)
        if self._is_taken(None):
            self._moved["wait"] = self._either(called, ran)

    def _is_taken(self, port: int | None) -> bool:
        """Whether anybody takes an output of the call, or waits for it."""
        spellings = {f"^{self._call.name}"} if port is None else {f"{self._call.name}:{port}"}
        spellings |= {self._call.name} if port == 0 else set()
        return any(text in spellings for node in self._graph.nodes for text in node.inputs)

    def _watched(self, port: int, text: str, data_type: DataType) -> str:
        """What a compiled cluster gives, printed or checked where flags say so."""
        name = self._function.name
        if self._flags.print_cluster_outputs:
            message = f"output {port} from {name} is ".encode()
            more = {"first_n": _FIRST_PRINTS, "summarize": -1, "U": AttributeList("type", (data_type,))}
            text = self._add(f"print_{port}", "Print", (text, text), T=data_type, message=message, **more)
            self._made[-1] = replace(self._made[-1], device=_HOST)
        if self._flags.check_cluster_output_numerics:
            said = f"CheckNumerics failed for output {port}({_named(text)}) from cluster {name}"
            text = self._checked(f"check_output_{port}", text, data_type, said)
        return text

    def _either(self, called: str, ran: str) -> str:
        """A node that runs when one of two has: dead tensors cannot be waited for, so that each becomes a value."""
        int32 = BY_NAME["int32"]
        empty = tensor_of(np.zeros(0, np.int32))
        values = [self._add("ctrl_as_data", "Const", (f"^{one}",), dtype=int32, value=empty) for one in (called, ran)]
        merged = self._add("ctrl_merge", "Merge", values, T=int32, N=2)
        return self._add("merged_as_ctrl", "Identity", (merged,), T=int32)

    def _redirected(self, node: Node) -> Node:
        inputs = tuple(self._new(text) for text in node.inputs)
        return node if inputs == node.inputs else replace(node, inputs=inputs)

    def _new(self, text: str) -> str:
        name, _, port = text.partition(":")
        if name == f"^{self._call.name}":
            return f"^{self._moved['wait']}"
        return self._moved[port or "0"] if name == self._call.name else text


def _types(types: object) -> AttributeList:
    return AttributeList("type", tuple(types))  # type: ignore[arg-type]


def _named(text: str) -> str:
    """An output by its whole name, as messages have it."""
    return text if ":" in text else f"{text}:0"


def _at(node: str, port: int) -> str:
    return f"{node}:{port}" if port else node
