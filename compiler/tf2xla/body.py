"""Nodes of a graph or of a function to instructions of one computation, in the order in which they need each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from compiler.diagnostics import InputError, UnsupportedError, did_you_mean
from compiler.graph import Attribute, FunctionReference, Node, PlaceholderName
from compiler.graph.names import Endpoint, endpoint, is_control
from compiler.ir.module import Computation
from compiler.tf2xla.functionalize_cond import ABSENT
from compiler.tf2xla.operation import Library, Operation
from compiler.tf2xla.ops import RECORDS
from compiler.tf2xla.record import Record, Trait
from compiler.tf2xla.refused import why_not
from compiler.tf2xla.values import Absent, Value


class Whole(Library, Protocol):
    """What a body is a part of."""

    def count(self) -> None:
        """One more node."""

    def is_function(self, name: str) -> bool:
        """Whether the library has a function of that name."""

    def call(self, function: FunctionReference, inputs: Sequence[Value], caller: Operation) -> dict[str, list[Value]]:
        """The results of a function on inputs, by their names.

        Args:
            function: what is called.
            inputs: for its arguments.
            caller: the node that calls.
        """

    def written(
        self, node: Node, record: Record, inputs: Sequence[Value], computation: Computation
    ) -> dict[str, list[Value]]:
        """The outputs of a node by its record, by their names.

        Args:
            node: of the graph.
            record: of its op.
            inputs: of the node.
            computation: where instructions are added.
        """


class Body:
    """Nodes of a graph, or of a function, that become instructions of one computation."""

    def __init__(
        self,
        lowering: Whole,
        nodes: Sequence[Node],
        computation: Computation,
        given: Mapping[str, Sequence[Value | None]],
        where: str = "",
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        """Prepare to lower.

        Args:
            lowering: the whole of which this is a part.
            nodes: those of a graph or of a function.
            computation: where instructions are written.
            given: outputs of nodes (None: not that one), or a function's arguments, that are there.
            where: how messages begin.
            attributes: of a function what its caller gives, None of a graph.
        """
        self._lowering = lowering
        self._nodes = {node.name: node for node in nodes}
        self._computation = computation
        self._given = given
        self._where = where
        self._attributes = attributes
        self._outputs: dict[str, dict[str, list[Value]]] = {}

    @property
    def _in_function(self) -> bool:
        return self._attributes is not None

    def run(self, wanted: Sequence[str]) -> None:
        """Lower every node that these outputs (`^node`: nodes) need."""
        stack: list[tuple[str, Iterator[str]]] = [("", iter(wanted))]
        while stack:
            name, pending = stack[-1]
            following = next((source for text in pending for source in self._needed(text)), None)
            if following is not None:
                node = self._nodes[following]
                self._outputs[following] = {}  # it is under way: a graph without cycles asks for it once
                stack.append((following, iter(_inputs(node))))
                continue
            stack.pop()
            if name:
                self._outputs[name] = self._lowered(self._nodes[name])

    def at(self, text: str) -> list[Value]:
        """What an input names: one tensor, or all of an output that is several where no number is stated.

        Raises:
            InputError: the node has no such output.
        """
        source = self._endpoint(text)
        if self._is_given(source):
            values = [one for one in self._given[source.node] if one is not None]
            is_all = self._in_function and ":" not in text
            return (
                values
                if is_all
                else [values[self._checked(source, len(values))]]
                if self._in_function
                else self._fed(source)
            )
        outputs = self._outputs[source.node]
        if not source.output:
            every = [one for values in outputs.values() for one in values]
            return [every[self._checked(source, len(every))]]
        if source.output not in outputs:
            raise InputError(f"{self._where}{text!r}: {self._nodes[source.node].op} has no output {source.output!r}")
        values = outputs[source.output]
        return values if text.count(":") < 2 else [values[self._checked(source, len(values))]]

    def _fed(self, source: Endpoint) -> list[Value]:
        fed = self._given[source.node][source.port]
        assert fed is not None
        return [fed]

    def _is_given(self, source: Endpoint) -> bool:
        """Whether nothing has to be lowered for it; a fed node has happened, too, for those that wait for it."""
        given = self._given.get(source.node)
        if given is None or self._in_function or source.port < 0:
            return given is not None
        return source.port < len(given) and given[source.port] is not None

    def _checked(self, source: Endpoint, count: int) -> int:
        if source.port >= count:
            raise InputError(f"{self._where}{str(source)!r}: node {source.node!r} has {count} outputs, counted from 0")
        return source.port

    def _endpoint(self, text: str) -> Endpoint:
        source = endpoint(text, in_function=self._in_function)
        if source is None or (source.node not in self._nodes and source.node not in self._given):
            raise InputError(f"{self._where}no node gives {text!r}" + did_you_mean(text.partition(":")[0], self._nodes))
        return source

    def _needed(self, text: str) -> Iterator[str]:
        """The node of an input, if it is not lowered yet and nobody gives its output."""
        source = self._endpoint(text) if not is_control(text) else Endpoint(text[1:], -1)
        if self._is_given(source) or source.node in self._outputs:
            return
        if source.node not in self._nodes:
            raise InputError(f"{self._where}no node is named {source.node!r}" + did_you_mean(source.node, self._nodes))
        yield source.node

    def _lowered(self, node: Node) -> dict[str, list[Value]]:
        self._lowering.count()
        node = self._bound(node)
        record = RECORDS.get(node.op)
        inputs = [one for text in _inputs(node) if not is_control(text) for one in self.at(text)]
        first = len(self._computation.instructions)
        if node.op == ABSENT:
            outputs: dict[str, list[Value]] = {"output": [Absent()]}
        elif record is None:
            outputs = self._call(node, inputs)
        else:
            outputs = self._lowering.written(node, record, inputs, self._computation)
        notes = (("op_type", node.op), ("op_name", node.name))
        for instruction in self._computation.instructions[first:]:
            instruction.attributes.setdefault("metadata", notes)
        return outputs

    def _bound(self, node: Node) -> Node:
        """The node with the attributes that the function's caller gives."""
        if not self._attributes or not any(isinstance(value, PlaceholderName) for value in node.attributes.values()):
            return node
        bound = {
            name: self._attributes.get(value.name, value) if isinstance(value, PlaceholderName) else value
            for name, value in node.attributes.items()
        }
        return replace(node, attributes=bound)

    def _call(self, node: Node, inputs: Sequence[Value]) -> dict[str, list[Value]]:
        """A node whose op is a function of the library."""
        if not self._lowering.is_function(node.op):
            what = f"op {node.op} ({self._where}node {node.name!r})"
            raise UnsupportedError(what, "the lowering to HLO", why_not(node.op))
        caller = Operation(
            node, RECORDS["PartitionedCall"].signature, (), self._computation, self._lowering, checked=False
        )
        return self._lowering.call(FunctionReference(node.op, node.attributes), inputs, caller)


def _inputs(node: Node) -> Sequence[str]:
    """What is lowered before a node: of a check that gives nothing not even what it checks."""
    record = RECORDS.get(node.op)
    left_out = record is not None and Trait.CHECK in record.traits and not record.signature.outputs
    return [text for text in node.inputs if is_control(text)] if left_out else node.inputs


def without_unused(computation: Computation) -> None:
    """Drop what neither the result nor a parameter needs: shapes that were computed on the way."""
    needed = {computation.root, *computation.parameters}
    stack = [computation.root]
    while stack:
        for operand in stack.pop().operands:
            if operand not in needed:
                needed.add(operand)
                stack.append(operand)
    computation.remove([i for i in computation.instructions if i not in needed])
