"""Steps of a plan: nodes with their kernels, and the slots that values pass through."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from compiler.tf import Node
from xlabench.tensorflow.runtime.kernels import Kernel

COPY = "_Copy"
"""The op of a node that takes a value from one device's memory to another's."""
MERGES = frozenset({"Merge", "RefMerge", "_XlaMerge"})
"""Ops that run as soon as one of their inputs is alive."""


@dataclass(frozen=True, slots=True)
class Step:
    """A node that runs.

    Attributes:
        number: in its plan.
        node: in the graph as it is after clustering.
        kernel: what runs.
        takes: the slots of its inputs.
        first, stop: the slots of its outputs.
        waits: the steps that it waits for, by number.
    """

    number: int
    node: Node
    kernel: Kernel
    takes: tuple[int, ...]
    first: int
    stop: int
    waits: tuple[int, ...]


@dataclass(slots=True)
class Plan:
    """What a run does.

    Attributes:
        steps: every step in order.
        slots: what slots hold before a run.
        feeds: the slots of what is fed, in order.
        fetches: the slots of what is fetched, in order.
        quick: the steps that do something, which are enough for a run without a trace.
        may_die: whether some steps may have dead inputs.
        copies: how many values cross from one device to another, by both names.
    """

    steps: list[Step] = field(default_factory=list)
    slots: list[Any] = field(default_factory=list)
    feeds: list[int] = field(default_factory=list)
    fetches: list[int] = field(default_factory=list)
    quick: list[Step] = field(default_factory=list)
    may_die: bool = False
    copies: dict[tuple[str, str], int] = field(default_factory=dict)


class Row(NamedTuple):
    """One execution of a step; nanoseconds since 1970."""

    step: Step
    start_ns: int
    begin_ns: int
    end_ns: int
    stop_ns: int
    outputs: tuple[Any, ...]
