"""Graphs made node by node, by the records' signatures: types, numbers and names as TensorFlow's Python makes them.

Attributes that say types and how many tensors there are follow from the inputs; what disagrees is refused in
TensorFlow's words.  Numbers and arrays among the inputs become constants.  Programs that are given node by node, and
gradients, are built by this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from compiler.diagnostics import InputError, UnsupportedError, did_you_mean
from compiler.graph import (
    BY_NAME,
    Attribute,
    AttributeList,
    DataType,
    Function,
    Graph,
    Node,
    PartialShape,
    Tensor,
    tensor_of,
)
from compiler.graph.names import endpoint, is_control
from compiler.tf2xla.inference import Inference, held_by, types_of
from compiler.tf2xla.matching import attribute_of, matched
from compiler.tf2xla.naming import Names
from compiler.tf2xla.ops import RECORDS
from compiler.tf2xla.record import Trait
from compiler.tf2xla.refused import why_not
from compiler.tf2xla.signature import Port, Signature
from compiler.tf2xla.terms import UNKNOWN, Built, Given, Output

_RESOURCE = BY_NAME["resource"]


class Builder:
    """A graph that is being built."""

    def __init__(self, graph: Graph | None = None) -> None:
        """Go on with a graph, or begin one.

        Raises:
            InputError: a node of the graph makes no sense.
        """
        self.graph = Graph()
        self.names = Names()
        self.built: dict[str, Built] = {}
        self.kept_loops: dict[str, Any] = {}
        """Of loops that were differentiated what they keep for it."""
        self._inference = Inference(lambda: {one.name: one for one in self.graph.functions})
        self._device = ""
        self._control: tuple[Node, ...] = ()
        self._attributes: Mapping[str, Attribute] = {}
        if graph is not None:
            self.graph.functions = graph.functions
            for node in in_order(graph.nodes):
                self.adopt(node)

    @property
    def scope_name(self) -> str:
        """The scope that nodes have their names in, with a `/` at the end."""
        return self.names.scope

    def scope(self, name: str) -> AbstractContextManager[str]:
        """A context in which nodes have names in a scope; one that ends with `/` is entered again."""
        return self.names.within(name)

    @contextmanager
    def within(
        self,
        device: str | None = None,
        control: Sequence[Node] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> Iterator[None]:
        """New nodes have a device, wait for nodes, have more attributes; None leaves what it is.

        Args:
            device: of new nodes.
            control: what they wait for.
            attributes: that they have besides.
        """
        before = self._device, self._control, self._attributes
        self._device = before[0] if device is None else device
        self._control = before[1] if control is None else tuple(control)
        self._attributes = before[2] if attributes is None else dict(attributes)
        try:
            yield
        finally:
            self._device, self._control, self._attributes = before

    def add(self, op: str, *inputs: Given, name: str = "", control: Sequence[Node] = (), **attributes: Any) -> Built:
        """Add a node.

        Args:
            op: the op, or a function of the library.
            inputs: for each input of the signature an output, a number or an array; for one of several tensors a list.
            name: the name that it is to have; the op's, made unique, where there is none.
            control: nodes that it waits for.
            attributes: those that do not follow from the inputs, as Python values.

        Raises:
            UnsupportedError: nobody knows the op.
            InputError: inputs or attributes are not what the op takes, or have shapes that it refuses.
        """
        signature = self.signature(op)
        unknown = [one for one in attributes if one not in signature.attributes and not one.startswith("_")]
        if unknown:
            hint = did_you_mean(unknown[0], signature.attributes)
            raise InputError(f"{op} got an unexpected attribute {unknown[0]!r}{hint}")
        name = self.names.unique(name or op)
        stated = dict(self._attributes)
        for key, value in attributes.items():
            stated[key] = attribute_of(signature.attributes[key].kind if key in signature.attributes else "", value)
        takes, inferred = matched(self, op, name, signature, inputs, stated)
        defaults = {row.name: row.default for row in signature.attributes.values() if row.default is not None}
        waits = dict.fromkeys(f"^{one.name}" for one in (*self._control, *control))
        taken = tuple(one.text for port in takes.values() for one in port)
        node = Node(name, op, (*taken, *waits), self._device, {**defaults, **stated, **inferred})
        return self._built(node, signature, takes)

    def constant(self, value: Any, data_type: DataType | None = None, name: str = "Const") -> Output:
        """Add a value; numbers of Python without a type are int32, float32 or bool.

        Args:
            value: a number, a list of numbers, an array, or a tensor.
            data_type: of the constant; None for that of the value.
            name: of the node.
        """
        tensor = value if isinstance(value, Tensor) else as_tensor(value, data_type)
        return self.add("Const", name=name, dtype=tensor.type, value=tensor).output

    def output(self, text: str) -> Output:
        """The output that a text names: `node`, or `node:port`.

        Raises:
            InputError: there is none.
        """
        source = endpoint(text)
        found = self.built.get(source.node) if source else None
        if source is None or found is None or not 0 <= source.port < len(found.outputs):
            raise InputError(f"no output {text!r} in the graph" + did_you_mean(text, self.built))
        return found.outputs[source.port]

    def signature(self, op: str) -> Signature:
        """What an op, or a function of the library, takes and gives.

        Raises:
            UnsupportedError: nobody knows it.
        """
        record = RECORDS.get(op)
        if record is not None:
            return record.signature
        called = next((one for one in self.graph.functions if one.name == op), None)
        if called is None:
            raise UnsupportedError(f"op {op}", "the builder of graphs", why_not(op))
        return signature_of(called)

    def _built(
        self, node: Node, signature: Signature, takes: Mapping[str, Sequence[Output]], *, is_open: bool = False
    ) -> Built:
        built = Built(self, node, signature, takes)
        try:
            ports = types_of(built, signature.outputs)
        except TypeError as error:
            raise InputError(f"node {node.name!r} ({node.op}): an attribute that says a type is missing") from error
        types = [one for _, listed in ports for one in listed]
        facts = [(UNKNOWN, ())] * len(types) if is_open else self._inference.shapes(built, RECORDS.get(node.op), types)
        outputs = [
            _variable(built, number) if kind == _RESOURCE else Output(built, number, kind, shape, trials)
            for number, (kind, (shape, trials)) in enumerate(zip(types, facts, strict=True))
        ]
        built.outputs = tuple(outputs)
        for port, listed in ports:
            built.gives[port.name], outputs = outputs[: len(listed)], outputs[len(listed) :]
        self.graph.nodes.append(node)
        self.built[node.name] = built
        return built

    def adopt(self, node: Node) -> Built:
        """Take a node of a graph as it is; what it takes is there already."""
        self.names.unique(f"{node.name}/")
        signature = self.signature(node.op)
        inputs = [self.output(text) for text in node.data_inputs]
        return self._built(node, signature, self.by_port(node, signature, inputs))

    def adopt_open(self, node: Node, signature: Signature) -> Built:
        """Take a node of which nothing is known but its types: what it takes may come later, or nobody knows its op.

        Args:
            node: as its graph has it.
            signature: of its op.
        """
        self.names.unique(f"{node.name}/")
        return self._built(node, signature, {}, is_open=True)

    def by_port(self, node: Node, signature: Signature, inputs: Sequence[Output]) -> dict[str, Sequence[Output]]:
        """What a node takes by the names that a signature has for it.

        Args:
            node: says how many outputs each name stands for.
            signature: of its op.
            inputs: what it takes, in order.
        """
        takes: dict[str, Sequence[Output]] = {}
        empty = Built(self, node, signature, {})
        for port in signature.inputs:
            count = _count(empty, port)
            takes[port.name], inputs = inputs[:count], inputs[count:]
        return takes

    def extend(self, built: Built, inputs: Sequence[Output], attributes: Mapping[str, Attribute]) -> Sequence[Output]:
        """Let a loop carry more; gives the outputs that it has for them.

        Args:
            built: a loop.
            inputs: what it carries besides.
            attributes: that change with it, its functions.
        """
        node = built.node
        first = len(built.outputs)
        every = [*built.inputs, *inputs]
        waits = [text for text in node.inputs if is_control(text)]
        node.inputs = (*(one.text for one in every), *waits)
        node.attributes |= {**attributes, "T": AttributeList("type", tuple(one.type.base for one in every))}
        more = [Output(built, first + n, one.type, one.shape, one.trials) for n, one in enumerate(inputs)]
        built.outputs = (*built.outputs, *more)
        built.takes = {"input": every}
        built.gives["output"] = list(built.outputs)
        return more

    def give_more(self, built: Built, like: Sequence[Output], attributes: Mapping[str, Attribute]) -> list[Output]:
        """Let a node that runs functions give more, of which types and shapes is known; gives the outputs for it.

        Args:
            built: a node that runs functions.
            like: outputs of the types and shapes of what it gives besides.
            attributes: that change with it, its functions.
        """
        first = len(built.outputs)
        types = [*(one.type for one in built.outputs), *(one.type.base for one in like)]
        built.node.attributes |= {**attributes, "Tout": AttributeList("type", tuple(types))}
        if "output_shapes" in built.node.attributes:
            built.node.attributes["output_shapes"] = AttributeList("shape", ())
        more = [Output(built, first + n, one.type.base, one.shape, one.trials) for n, one in enumerate(like)]
        built.outputs = (*built.outputs, *more)
        built.gives["output"] = list(built.outputs)
        return more


def _traits(built: Built) -> Trait:
    record = RECORDS.get(built.node.op)
    return Trait.NONE if record is None else record.traits


def _variable(built: Built, number: int) -> Output:
    same = built.inputs[number] if len(built.inputs) > number and Trait.CALLS in _traits(built) else None
    holds, trials = held_by(built) if same is None or same.type != _RESOURCE else (same.holds, same.trials)
    return Output(built, number, _RESOURCE, PartialShape(()), trials, holds)


def _count(built: Built, port: Port) -> int:
    return 1 if port.is_one else built.attribute(port.number) if port.number else len(built.attribute(port.type) or ())


def as_tensor(value: Any, data_type: DataType | None = None) -> Tensor:
    """A Python value as a tensor: int32, float32 or bool unless it says more, or a type is given.

    Raises:
        InputError: it is none.
    """
    if data_type is not None and data_type.element_type is not None:
        return tensor_of(np.asarray(value).astype(data_type.element_type.dtype))
    array = np.asarray(value)
    if not isinstance(value, np.ndarray | np.generic):
        array = array.astype({"f": np.float32, "i": np.int32}.get(array.dtype.kind, array.dtype))
    return tensor_of(array)


def signature_of(function: Function) -> Signature:
    """What a function takes and gives, as an op of its name."""
    ports = [
        tuple(
            Port(
                one.name,
                one.list_attribute or one.type_attribute or str(one.type),
                one.number_attribute,
                is_list=bool(one.list_attribute),
            )
            for one in side
        )
        for side in (function.inputs, function.outputs)
    ]
    return Signature(ports[0], ports[1], {})


def in_order(nodes: Sequence[Node]) -> list[Node]:
    """Nodes after those that they take from."""
    by_name = {node.name: node for node in nodes}
    done: dict[str, Node] = {}
    for first in nodes:
        stack = [first]
        under_way: set[str] = set()
        while stack:
            node = stack[-1]
            under_way.add(node.name)
            sources = [endpoint(text) for text in node.data_inputs]
            waiting = [one.node for one in sources if one and one.node in by_name and one.node not in done]
            waiting = [one for one in waiting if one not in under_way]
            if waiting:
                stack.append(by_name[waiting[0]])
            else:
                stack.pop()
                done.setdefault(node.name, node)
    return list(done.values())
