"""Outputs of nodes as terms of formulas, so that a gradient reads like the mathematics.

An `Output` knows who builds the graph that it is in; operators add nodes there.  What is known of an output before
anything runs is its type, its partial shape, and `Trial`s: its sizes, and its value where it follows from sizes, when
every size that is not known is set to one number, and to another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from compiler.graph import AttributeList, DataType, Node, PartialShape
from compiler.tf2xla.signature import Signature

Array = NDArray[Any]
UNKNOWN = PartialShape(None)


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """An output where sizes that are not known are set to a number: its sizes, its value where it is known."""

    dims: tuple[int, ...]
    value: Array | None = None


class Maker(Protocol):
    """Who adds nodes to a graph."""

    @property
    def scope_name(self) -> str:
        """The scope that nodes have their names in, with a `/` at the end."""

    def add(self, op: str, *inputs: Given, name: str = "", control: Sequence[Node] = (), **attributes: Any) -> Built:
        """Add a node; types and attributes that follow from the inputs are not given.

        Args:
            op: TensorFlow's.
            inputs: outputs, values, or lists of these.
            name: of the node; "" for the op's.
            control: nodes that it waits for.
            attributes: of the node.
        """

    def constant(self, value: Any, data_type: DataType | None = None, name: str = "Const") -> Output:
        """Add a node that gives a value.

        Args:
            value: a number, a list of numbers, an array, or a tensor.
            data_type: of the constant; None for that of the value.
            name: of the node.
        """

    def scope(self, name: str) -> AbstractContextManager[str]:
        """A context in which nodes have names in a scope."""


@dataclass(slots=True, eq=False)
class Built:
    """A node of a graph with what it takes and gives.

    Attributes:
        maker: who made it.
        node: as the graph has it.
        signature: of its op.
        takes: its inputs, by the names that the signature has for them.
        outputs: in order.
    """

    maker: Maker
    node: Node
    signature: Signature
    takes: Mapping[str, Sequence[Output]]
    outputs: tuple[Output, ...] = ()
    gives: dict[str, Sequence[Output]] = field(default_factory=dict)

    @property
    def inputs(self) -> list[Output]:
        """All inputs in order."""
        return [one for port in self.takes.values() for one in port]

    @property
    def output(self) -> Output:
        """The first output of the node."""
        return self.outputs[0]

    def __getitem__(self, name: str) -> Output:
        """The input, or output, of that name."""
        return (self.takes[name] if name in self.takes else self.gives[name])[0]

    def attribute(self, name: str) -> Any:
        """An attribute's value, or its default; of a list the values."""
        row = self.signature.attributes.get(name)
        value = self.node.attributes.get(name, row.default if row else None)
        return value.values if isinstance(value, AttributeList) else value

    def constant(self, value: Any, data_type: DataType | None = None) -> Output:
        """A value beside the node."""
        return self.maker.constant(value, data_type)

    def add(self, op: str, *inputs: Given, **attributes: Any) -> Output:
        """The first output of a new node.

        Args:
            op: TensorFlow's.
            inputs: outputs, values, or lists of these.
            attributes: of the node.
        """
        return self.maker.add(op, *inputs, **attributes).output


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """One output of a node."""

    built: Built
    port: int
    type: DataType
    shape: PartialShape
    trials: tuple[Trial, ...] = ()
    holds: DataType | None = None
    """Of a variable the type of what it holds, whose sizes then are those of the trials."""

    @property
    def name(self) -> str:
        """`node:port`."""
        return f"{self.built.node.name}:{self.port}"

    @property
    def text(self) -> str:
        """What an input of a node that takes it says."""
        return self.built.node.name if not self.port else self.name

    def __str__(self) -> str:
        return f"{self.name}: {self.type}{self.shape}"

    @property
    def value(self) -> Array | None:
        """Its value where it is known before anything runs."""
        values = [trial.value for trial in self.trials if self.holds is None]
        if not values or any(one is None for one in values):
            return None
        first = values[0]
        return first if all(np.array_equal(first, one) for one in values[1:]) else None  # type: ignore[arg-type]

    @property
    def held_shape(self) -> PartialShape:
        """The shape of what a variable holds; of any other output its own."""
        if self.holds is None or not self.trials:
            return self.shape if self.holds is None else UNKNOWN
        pairs = zip(*(trial.dims for trial in self.trials), strict=True)
        return PartialShape(tuple(a if a == b else None for a, b in pairs))

    @property
    def rank(self) -> int | None:
        """The number of its dimensions."""
        return None if self.shape.dims is None else len(self.shape.dims)

    def op(self, op: str, *others: Given, **attributes: Any) -> Output:
        """An op applied to this and the others.

        Args:
            op: TensorFlow's.
            others: further inputs.
            attributes: of the node.
        """
        return self.built.maker.add(op, self, *others, **attributes).output

    def __add__(self, other: Given) -> Output:
        return self.op("AddV2", other)

    def __sub__(self, other: Given) -> Output:
        return self.op("Sub", other)

    def __mul__(self, other: Given) -> Output:
        return self.op("Mul", other)

    def __truediv__(self, other: Given) -> Output:
        return self.op("RealDiv", other)

    def __neg__(self) -> Output:
        return self.op("Neg")

    def __rsub__(self, other: float) -> Output:
        return self.built.maker.constant(other, self.type) - self

    def __rtruediv__(self, other: float) -> Output:
        return self.built.maker.constant(other, self.type) / self


@dataclass(frozen=True, slots=True, eq=False)
class IndexedSlices:
    """The gradient of an array of which a program took rows: `values[i]` is to be added to row `indices[i]`.

    Attributes:
        values: the rows.
        indices: their numbers; one may be there several times.
        sizes: those of the array, as an output.
    """

    values: Output
    indices: Output
    sizes: Output

    def dense(self) -> Output:
        """The array of which these are slices, zero elsewhere."""
        rows = self.sizes.op("StridedSlice", [0], [1], [1], shrink_axis_mask=1)
        return self.values.op("UnsortedSegmentSum", self.indices, rows)


Given = Any
"""What an input of a node is given: an output, several, or a number or array that becomes a constant."""
Gradient = Output | IndexedSlices | None
"""The gradient of one output or input, None where there is none."""
