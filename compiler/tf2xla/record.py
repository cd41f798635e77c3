"""What is true of an op of TensorFlow's, in one place: its record.

Readers of graphs, the lowering, the analysis of constants and the tests are driven by records; a family of them is a
file in `ops/`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from compiler.graph import PartialShape
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.signature import Signature, signature
from compiler.tf2xla.terms import Built, Gradient
from compiler.tf2xla.values import Value


class Trait(enum.Flag):
    """What else is true of an op."""

    NONE = 0
    STATEFUL = enum.auto()
    """It does more than give its results, or gives others each time."""
    CALLS = enum.auto()
    """It runs functions of the library."""
    ASKS_SHAPE = enum.auto()
    """Its results follow from the shapes of its inputs alone, so that these need not be constants where it must be."""

    CHECK = enum.auto()
    """It ends a run whose values are not as they must be, or tells of them; compiled programs leave it out."""
    HOST = enum.auto()
    """Only a host can run it: it has no lowering."""
    COLLECTIVE = enum.auto()
    """All replicas of a program do it together."""
    SIZED = enum.auto()
    """It takes arrays with sizes that values decide (`sizes.py`)."""


Lower = Callable[[Operation], Value | Sequence[Value | Sequence[Value]] | None]
"""Writes HLO for a node; gives its outputs in order, one alone as it is, a list of tensors as a list."""
Differentiate = Callable[..., Gradient | Sequence[Gradient]]
"""From a node and the gradients of its outputs those of its inputs in order, as new nodes."""


def through_functions(node: Built, *_gradients: Gradient) -> None:
    """Ops that run functions: these are differentiated, which takes more than a formula (`call_gradients.py`)."""
    raise AssertionError(f"{node.node.op} is differentiated by its functions")


Shapes = Callable[[Built], Sequence[PartialShape]]
"""The partial shapes of a node's outputs, where its lowering cannot say them."""


def no_gradient(_node: Built, *_gradients: Gradient) -> None:
    """Ops through which no gradient goes."""


@dataclass(frozen=True, slots=True)
class Record:
    """The record of a TensorFlow op: signature, lowering, constants and traits.

    Attributes:
        name: TensorFlow's.
        signature: what it takes and gives.
        lower: how it is written in HLO.
        doc: one line.
        constants: names of the inputs whose values must be known when the graph is compiled.
        traits: what else is true of it.
        gradient: how it is differentiated; None where TensorFlow does not know, and `no_gradient` where it knows
            that nothing goes through.
        shapes: a rule for partial shapes, None where the lowering says them.
    """

    name: str
    signature: Signature
    lower: Lower
    doc: str
    constants: tuple[str, ...] = ()
    traits: Trait = Trait.NONE
    gradient: Differentiate | None = None
    shapes: Shapes | None = None

    def outputs(self, number_of: Callable[[str], int | None]) -> int | None:
        """How many outputs a node has; `number_of` gives an attribute's number, or the length of its list."""
        total = 0
        for port in self.signature.outputs:
            count = 1 if port.is_one else number_of(port.number or port.type)
            if count is None:
                return None
            total += count
        return total


def record(
    name: str,
    text: str,
    lower: Lower,
    doc: str,
    constants: Sequence[str] = (),
    traits: Trait = Trait.NONE,
) -> Record:
    """A record, its signature from text.

    Args:
        name: the op's.
        text: of the signature.
        lower: writes the op as HLO.
        doc: what it computes, in a line.
        constants: inputs that must be known when the graph is compiled.
        traits: what is true of the op.
    """
    return Record(name, signature(text), lower, doc, tuple(constants), traits)


def with_shapes(row: Record, shapes: Shapes) -> Record:
    """A record with a rule for shapes."""
    return replace(row, shapes=shapes)


def sized(*records: Record) -> list[Record]:
    """Records of ops that take arrays with sizes that values decide."""
    return [replace(one, traits=one.traits | Trait.SIZED) for one in records]


def table(*records: Record) -> dict[str, Record]:
    """Records by name."""
    return {one.name: one for one in records}
