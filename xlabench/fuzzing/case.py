"""A case of a campaign: a program, what it is called with, and the variants of engines that compile it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from xlabench.fuzzing import variants
from xlabench.judging.tolerance import Array


class Call(NamedTuple):
    """What a program is called with, and the kind of the values; of the first call that is not said."""

    kind: str
    inputs: list[Array]


@dataclass(frozen=True, slots=True)
class Case:
    """One program with its inputs.

    Attributes:
        inputs: those that it is called with first.
        original: the module that means the same, of one that was made by changes to another.
        changes: the kinds of the changes.
        note: what a reader is told of how it was made.
        others: further inputs, by the kinds of their values.
        options: what engines are to compile it with, by their names, unless their specs say it themselves.
        members: the numbers of the programs that are packed in it, of one that is a pack (`xlabench.fuzzing.packs`).
        ops: of a graph that it was lowered from, the ops.
        is_apart: whether it is compiled alone, in a variant of its own, whatever its number.
    """

    number: int
    module: Any
    inputs: list[Array]
    original: Any = None
    changes: tuple[str, ...] = ()
    note: str = ""
    others: Mapping[str, list[Array]] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    members: tuple[int, ...] = ()
    ops: tuple[str, ...] = ()
    is_apart: bool = False

    @property
    def label(self) -> str:
        """The number, or those of what is packed in it."""
        return "+".join(map(str, self.members or (self.number,)))

    @property
    def calls(self) -> list[Call]:
        """All inputs in their order."""
        return [Call("", self.inputs), *(Call(kind, inputs) for kind, inputs in self.others.items())]

    def call(self, number: int) -> Call:
        """The call of a number, or the last of fewer."""
        return self.calls[min(number, len(self.calls) - 1)]

    def on(self, spec: str) -> str:
        """The variant of an engine that it is for."""
        return variants.varied(spec, self.options)

    def given(self, kind: str) -> list[Array]:
        """The inputs of a kind, or the first ones."""
        return self.others[kind] if kind else self.inputs

    def noted(self, kind: str) -> str:
        """What a reader is told of a call with values of a kind."""
        return "; ".join(filter(None, [self.note, kind and f"inputs of the kind {kind}"]))
