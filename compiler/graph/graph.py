"""A graph as data: nodes that take other nodes' outputs by name, and the functions that they may call.

The model is TensorFlow's GraphDef, without its storage: what a file holds beyond it (types of experiments, notes for
debuggers, fields that came later) is kept serialised in `rest`, so that it is written back as it was.  Nothing here
knows ops; a node of an op that nobody knows is a node like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from compiler.diagnostics import InputError, did_you_mean
from compiler.graph.attributes import Attribute, shown
from compiler.graph.names import is_control
from compiler.graph.types import INVALID, DataType


@dataclass(slots=True)
class Node:
    """A node of a graph: an operation on outputs of others.

    Attributes:
        name: unique in its graph or function.
        op: the name of an op, or of a function of the library that is called.
        inputs: what it takes, `node:port` (port 0 may be left out), and after these what it waits for, `^node`.
        device: where it is to run, a possibly partial specification.
        attributes: by their names.
        rest: what else the file's message holds, serialised.
    """

    name: str
    op: str
    inputs: tuple[str, ...] = ()
    device: str = ""
    attributes: dict[str, Attribute] = field(default_factory=dict)
    rest: bytes = b""

    def __str__(self) -> str:
        attributes = ", ".join(f"{name}={shown(value)}" for name, value in sorted(self.attributes.items()))
        device = f" on {self.device}" if self.device else ""
        return (
            f"{self.name} = {self.op}({', '.join(self.inputs)})" + (f" {{{attributes}}}" if attributes else "") + device
        )

    @property
    def data_inputs(self) -> tuple[str, ...]:
        """What it takes, without what it only waits for."""
        return tuple(text for text in self.inputs if not is_control(text))


@dataclass(frozen=True, slots=True)
class Argument:
    """An input or an output of a function: one tensor, or several.

    Its type is `type`, or the value of the attribute `type_attribute`; there are as many as `number_attribute` says, or
    as types in the list that `list_attribute` holds.
    """

    name: str
    type: DataType = INVALID
    type_attribute: str = ""
    number_attribute: str = ""
    list_attribute: str = ""
    rest: bytes = b""

    def __str__(self) -> str:
        kind = self.list_attribute or self.type_attribute or str(self.type)
        return f"{self.name}: " + (f"{self.number_attribute}*{kind}" if self.number_attribute else kind)

    @property
    def is_one(self) -> bool:
        """Whether it is exactly one tensor."""
        return not self.number_attribute and not self.list_attribute


@dataclass(slots=True)
class Function:
    """A function of the library.

    Attributes:
        name: what nodes call it by.
        inputs: its arguments, which nodes take by name.
        outputs: its results.
        nodes: its body, whose inputs name arguments (`x`) and outputs of ops by name and number (`node:output:0`).
        returns: for each of its outputs what of the body it is.
        control_returns: nodes that run whenever the function is called, each under a name.
        attributes: by their names.
        signature_rest, rest: what else the file's messages hold, serialised.
    """

    name: str
    inputs: tuple[Argument, ...] = ()
    outputs: tuple[Argument, ...] = ()
    nodes: list[Node] = field(default_factory=list)
    returns: dict[str, str] = field(default_factory=dict)
    control_returns: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, Attribute] = field(default_factory=dict)
    signature_rest: bytes = b""
    rest: bytes = b""

    def __str__(self) -> str:
        inputs, outputs = (", ".join(map(str, arguments)) for arguments in (self.inputs, self.outputs))
        return "\n".join([f"function {self.name}({inputs}) -> ({outputs}) {{", *self._lines(), "}"])

    def _lines(self) -> Iterator[str]:
        yield from (f"  {node}" for node in self.nodes)
        yield from (f"  return {name} = {text}" for name, text in self.returns.items())
        yield from (f"  run {text} as {name}" for name, text in self.control_returns.items())


_Named = TypeVar("_Named", Node, Function)


@dataclass(slots=True)
class Graph:
    """Nodes in the order of their creation, functions, and which versions of TensorFlow made and may read it.

    Attributes:
        nodes: all nodes; a node may stand before those that it takes from.
        functions: the library; several of one name are a violation that `verify` reports.
        producer, min_consumer: versions of the graph's format, not of TensorFlow.
        rest, library_rest, versions_rest: what else the file's messages hold, serialised.
    """

    nodes: list[Node] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    producer: int = 0
    min_consumer: int = 0
    rest: bytes = b""
    library_rest: bytes = b""
    versions_rest: bytes = b""

    def __str__(self) -> str:
        return "\n".join([*map(str, self.nodes), *map(str, self.functions)])

    def node(self, name: str) -> Node:
        """The node of a name.

        Raises:
            InputError: there is none.
        """
        return _named(name, self.nodes, "node")

    def function(self, name: str) -> Function:
        """The function of a name.

        Raises:
            InputError: there is none.
        """
        return _named(name, self.functions, "function")

    def counts(self) -> Mapping[str, int]:
        """How often each op stands in the graph and its functions, the most frequent first."""
        counted: dict[str, int] = {}
        for nodes in (self.nodes, *(function.nodes for function in self.functions)):
            for node in nodes:
                counted[node.op] = counted.get(node.op, 0) + 1
        return dict(sorted(counted.items(), key=lambda row: (-row[1], row[0])))


def _named(name: str, among: Iterable[_Named], what: str) -> _Named:
    every = list(among)
    for one in every:
        if one.name == name:
            return one
    raise InputError(f"no {what} {name!r} in the graph" + did_you_mean(name, (one.name for one in every)))
