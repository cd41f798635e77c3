"""Nodes of a graph or of a function to instructions of one computation, in the order in which they need each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from compiler.diagnostics import InputError, UnsupportedError, did_you_mean
from compiler.graph import Attribute, FunctionReference, Node, PlaceholderName
from compiler.graph.names import Endpoint, endpoint, is_control
from compiler.ir.module import Computation
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops import RECORDS
from compiler.tf2xla.values import Value

if TYPE_CHECKING:
    from compiler.tf2xla.lowering import Lowering


class Body:
    """Nodes of a graph, or of a function, that become instructions of one computation."""

    def __init__(
        self,
        lowering: Lowering,
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
                stack.append((following, iter(node.inputs)))
                continue
            stack.pop()
            if name:
                self._outputs[name] = self._lowered(self._nodes[name])

    def at(self, text: str) -> list[Value]:
        """What an input names: one tensor, or all of an output that is several where no number is stated."""
        place = self._place(text)
        if self._is_given(place):
            part = [one for one in self._given[place.node] if one is not None]
            is_all = self._in_function and ":" not in text
            return (
                part if is_all else [part[self._checked(place, len(part))]] if self._in_function else self._fed(place)
            )
        outputs = self._outputs[place.node]
        if not place.output:
            every = [one for part in outputs.values() for one in part]
            return [every[self._checked(place, len(every))]]
        if place.output not in outputs:
            raise InputError(f"{self._where}{text!r}: {self._nodes[place.node].op} has no output {place.output!r}")
        part = outputs[place.output]
        return part if text.count(":") < 2 else [part[self._checked(place, len(part))]]

    def _fed(self, place: Endpoint) -> list[Value]:
        fed = self._given[place.node][place.port]
        assert fed is not None
        return [fed]

    def _is_given(self, place: Endpoint) -> bool:
        """Whether nothing has to be lowered for it; a fed node has happened, too, for those that wait for it."""
        given = self._given.get(place.node)
        if given is None or self._in_function or place.port < 0:
            return given is not None
        return place.port < len(given) and given[place.port] is not None

    def _checked(self, place: Endpoint, count: int) -> int:
        if place.port >= count:
            raise InputError(f"{self._where}{str(place)!r}: node {place.node!r} has {count} outputs, counted from 0")
        return place.port

    def _place(self, text: str) -> Endpoint:
        place = endpoint(text, in_function=self._in_function)
        if place is None or (place.node not in self._nodes and place.node not in self._given):
            raise InputError(f"{self._where}no node gives {text!r}" + did_you_mean(text.partition(":")[0], self._nodes))
        return place

    def _needed(self, text: str) -> Iterator[str]:
        """The node of an input, if it is not lowered yet and nobody gives its output."""
        place = self._place(text) if not is_control(text) else Endpoint(text[1:], -1)
        if self._is_given(place) or place.node in self._outputs:
            return
        if place.node not in self._nodes:
            raise InputError(f"{self._where}no node is named {place.node!r}" + did_you_mean(place.node, self._nodes))
        yield place.node

    def _lowered(self, node: Node) -> dict[str, list[Value]]:
        self._lowering.count()
        node = self._bound(node)
        record = RECORDS.get(node.op)
        inputs = [one for text in node.data_inputs for one in self.at(text)]
        first = len(self._computation.instructions)
        if record is None:
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
            raise UnsupportedError(what, "the lowering to HLO", "no record has it" + did_you_mean(node.op, RECORDS))
        caller = Operation(
            node, RECORDS["PartitionedCall"].signature, (), self._computation, self._lowering, checked=False
        )
        return self._lowering.call(FunctionReference(node.op, node.attributes), inputs, caller)


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
