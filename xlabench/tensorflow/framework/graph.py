"""`tf.Graph`: what programs build, on the compiler's builder, with the scopes that they build it in.

Names, device specifications, attributes and things to wait for are those of the scopes that are open when a node is
made; so that gradients' nodes have them too, they are given to every node that the builder adds, whoever asked for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from compiler.tf import Attribute, Builder, Built, Node, Output, Signature, message_class, to_binary
from compiler.tf import Graph as Definition
from xlabench.tensorflow.framework import elements
from xlabench.tensorflow.framework.device_names import DeviceName, device_name_of
from xlabench.tensorflow.framework.tensor import Operation, Tensor

_SCOPE = re.compile(r"[A-Za-z0-9_.\\/>-]*\Z")
_FIRST = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*\Z")

_NO_SCOPE = "'{}' is not a valid scope name. A scope name has to match the following pattern: ^[A-Za-z0-9_.\\\\/>-]*$"

DeviceFunction = Callable[[Operation], str]
AttributeScope = Mapping[str, "Attribute | Callable[[Node], Attribute] | None"]


class Controls:
    """A scope of things to wait for; nodes made in it that take others made in it wait through these."""

    def __init__(self, waits: Sequence[Operation]) -> None:
        self.waits = waits
        self.seen: set[str] = set()


class _Builder(Builder):
    """The compiler's builder, which tells a graph of every node."""

    def __init__(self, owner: Graph) -> None:
        super().__init__()
        self.graph.producer = _PRODUCER
        self._owner = owner

    def _built(
        self, node: Node, signature: Signature, takes: Mapping[str, Sequence[Output]], *, is_open: bool = False
    ) -> Built:
        self._owner.prepare(node, takes)
        built = super()._built(node, signature, takes, is_open=is_open)
        self._owner.adopt(built)
        return built


class Graph:
    """A graph that is being built."""

    is_function = False
    """Whether it is the body of a function, which takes what it needs of the graph around it."""

    def __init__(self) -> None:
        self.builder: Builder = _Builder(self)
        self._operations: dict[str, Operation] = {}
        self._collections: dict[str, list[Any]] = {}
        self._devices: list[DeviceName | DeviceFunction] = []
        self._attributes: list[AttributeScope] = []
        self._controls: list[Controls] = []
        self.sessions: list[Any] = SESSIONS
        self.seed: int | None = None
        self.finalized = False
        self.scopes: dict[str, Any] = {}

    @property
    def definition(self) -> Definition:
        """The graph as the compiler has it."""
        return self.builder.graph

    @property
    def version(self) -> int:
        """Another number whenever something was added."""
        return len(self.builder.graph.nodes)

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """The graph that functions of the namespace add to."""
        GRAPHS.append(self)
        try:
            yield self
        finally:
            GRAPHS.remove(self)

    def finalize(self) -> None:
        """Refuse changes from here on."""
        self.finalized = True

    # What is added.

    def create(self, op: str, inputs: Sequence[Any], attributes: Mapping[str, Any], name: str) -> Operation:
        """Add a node.

        Args:
            op: its op.
            inputs: tensors, or lists of them where an input is several.
            attributes: those that are stated.
            name: its name in the open scope; with a `/` at its end the whole of it.

        Raises:
            RuntimeError: the graph is finalized.
            ValueError: the name is none that a node may have.
        """
        if self.finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        if not _FIRST.match(name):
            raise ValueError(_NO_SCOPE.format(name.rstrip("/")))
        given = [
            [self.own(one) for one in argument] if isinstance(argument, list) else self.own(argument)
            for argument in inputs
        ]
        built = self.builder.add(op, *given, name=name, **attributes)
        return self.operation_of(built)

    def own(self, tensor: Tensor) -> Output:
        """The output that a tensor is in this graph.

        Raises:
            ValueError: it is in another.
        """
        if tensor.graph is not self:
            raise ValueError(f"{tensor!r} must be from the same graph as the others: it is in another one.")
        return tensor.output

    def prepare(self, node: Node, takes: Mapping[str, Sequence[Output]]) -> None:
        """What the open scopes say of a new node, the innermost where several say something."""
        said = {name: value for scope in self._attributes for name, value in scope.items()}
        for name, value in said.items():
            made = value(node) if callable(value) else value
            if made is not None:
                node.attributes.setdefault(name, made)
        waits = self._waits({output.built.node.name for port in takes.values() for output in port})
        stated = {text[1:] for text in node.inputs if text.startswith("^")}
        node.inputs += tuple(f"^{name}" for name in waits if name not in stated)
        for controls in self._controls:
            controls.seen.add(node.name)

    def adopt(self, built: Built) -> None:
        """Know a new node."""
        node = built.node
        operation = self._operations[node.name] = Operation(self, built)
        if self._devices and not node.device:
            node.device = self._device(operation)

    def _waits(self, inputs: set[str]) -> list[str]:
        found: dict[str, None] = {}
        for controls in self._controls:
            if not inputs & controls.seen:
                found.update((one.name, None) for one in controls.waits if one.name not in inputs)
        return list(found)

    def _device(self, operation: Operation) -> str:
        device_name = DeviceName()
        for one in reversed(self._devices):
            stated = one if isinstance(one, DeviceName) else device_name_of(str(one(operation) or ""))
            device_name = device_name.within(stated)
        return str(device_name)

    def operation_of(self, built: Built) -> Operation:
        """The operation of a node."""
        return self._operations[built.node.name]

    def tensor_of(self, output: Output) -> Tensor:
        """The tensor of an output."""
        return self._operations[output.built.node.name].outputs[output.port]

    # Scopes.

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Names that begin with this one; with a `/` at its end again one that was there.

        Raises:
            ValueError: the name is none that a scope may have.
        """
        if name and not (_SCOPE if self.builder.names.scope else _FIRST).match(name):
            raise ValueError(_NO_SCOPE.format(name))
        with self.builder.names.within(name or "") as scope:
            yield scope

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """A name that nobody has."""
        return self.builder.names.unique(name)

    @contextmanager
    def device(self, device: Any) -> Iterator[None]:
        """Nodes are to run there; None: nothing that is said outside counts."""
        before = self._devices
        if device is None:
            self._devices = []
        elif callable(device):
            self._devices = [*before, device]
        else:
            self._devices = [*before, device_name_of(str(device))]
        try:
            yield
        finally:
            self._devices = before

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Nodes are to run where another does."""
        operation = op.op if hasattr(op, "op") else op
        with self.device(operation.device or None):
            yield

    @contextmanager
    def attributes(self, scope: AttributeScope) -> Iterator[None]:
        """Nodes have these attributes."""
        self._attributes.append(scope)
        try:
            yield
        finally:
            self._attributes.pop()

    @contextmanager
    def control_dependencies(self, control_inputs: Sequence[Any] | None) -> Iterator[None]:
        """Nodes wait for these; None: for nothing that is said outside."""
        before = self._controls
        if control_inputs is None:
            self._controls = []
        else:
            waits = [self.as_operation(one) for one in control_inputs]
            self._controls = [*before, Controls(waits)]
        try:
            yield
        finally:
            self._controls = before

    def as_operation(self, value: Any) -> Operation:
        """The operation that makes a value."""
        found = value.op if hasattr(value, "op") else value
        if not isinstance(found, Operation):
            found = self.as_graph_element(value)
        if isinstance(found, Tensor):
            return found.op
        assert isinstance(found, Operation)
        return found

    # What is there.

    def get_operations(self) -> list[Operation]:
        """All operations, in the order in which they were made."""
        return list(self._operations.values())

    def as_graph_element(self, value: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """The tensor or operation that a value is, or names, as far as `allow_tensor` and `allow_operation` admit one.

        Raises:
            KeyError: it is not in the graph.
            ValueError: it is none, or of another graph.
            TypeError: it is nothing of the kind.
        """
        return elements.element(self, value, allow_tensor=allow_tensor, allow_operation=allow_operation)

    @property
    def operations(self) -> Mapping[str, Operation]:
        """All operations by name."""
        return self._operations

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of a name; raises as `as_graph_element` does."""
        found: Operation = self.as_graph_element(name, allow_tensor=False)
        return found

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The tensor of a name, `operation:number`; raises as `as_graph_element` does."""
        found: Tensor = self.as_graph_element(name, allow_operation=False)
        return found

    def session_for(self, session: Any, said: str, method: str) -> Any:
        """The session in which something of the graph runs: `session`, or the default one where it is None.

        `said` begins the message where there is none, and `method` is the call that would name one.

        Raises:
            ValueError: there is none.
        """
        found = session or (self.sessions[-1] if self.sessions else None)
        if found is None:
            raise ValueError(
                f"{said}: No default session is registered. Use `with sess.as_default()` or pass an explicit session "
                f"to `{method}(session=sess)`"
            )
        if found.graph is not self:
            raise ValueError(f"{said}: the default session's graph is different from this one's; pass another session.")
        return found

    # Collections.

    def add_to_collection(self, name: str, value: Any) -> None:
        """Add a value to a collection."""
        self._collections.setdefault(name, []).append(value)

    def get_all_collection_keys(self) -> list[str]:
        """The names of the collections that have values."""
        return sorted(name for name, values in self._collections.items() if values and isinstance(name, str))

    def add_to_collections(self, names: Sequence[str] | str, value: Any) -> None:
        """Add a value to several collections."""
        for name in dict.fromkeys([names] if isinstance(names, str) else names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: str) -> list[Any]:
        """A collection itself."""
        return self._collections.setdefault(name, [])

    def get_collection(self, name: str, scope: str | None = None) -> list[Any]:
        """A collection's values, of those with names only what matches a scope."""
        values = list(self._collections.get(name, ()))
        if scope is None:
            return values
        return [one for one in values if hasattr(one, "name") and re.match(scope, one.name)]

    def clear_collection(self, name: str) -> None:
        """Forget a collection."""
        self._collections.pop(name, None)

    def as_graph_def(self, **_options: Any) -> Any:
        """The graph as a message `tf.GraphDef`; raises `UnsupportedError` where the library `protobuf` is missing."""
        return message_class("GraphDef").FromString(to_binary(self.definition))


_PRODUCER = 1882
GRAPHS: list[Graph] = []
"""The graphs that are the default, the innermost last."""
SESSIONS: list[Any] = []
"""The sessions that are the default, the innermost last."""
_FALLBACK: list[Graph] = []


def get_default_graph() -> Graph:
    """The graph that functions of the namespace add to."""
    if GRAPHS:
        return GRAPHS[-1]
    if not _FALLBACK:
        _FALLBACK.append(Graph())
    return _FALLBACK[0]


def graph_of(*values: Any) -> Graph:
    """The graph that something made of these values is in: theirs, or the default one.

    Raises:
        ValueError: they are in several.
    """
    default = get_default_graph()
    if default.is_function:
        return default
    found: Any = None
    for one in values:
        graph = getattr(one, "graph", None)
        if isinstance(graph, Graph):
            if found is not None and found.graph is not graph:
                raise ValueError(f"{one!r} must be from the same graph as {found!r}.")
            found = one if found is None else found
    return default if found is None else found.graph


def reset_default_graph() -> None:
    """Begin with an empty graph.

    Raises:
        AssertionError: one is open.
    """
    if GRAPHS:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs.")
    _FALLBACK.clear()
