"""Every instruction of a program as a program of its own, on the values that it gets in the reference.

An error cannot hide behind another this way, nor be carried on: what diverges here is wrong on right operands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from compiler import edit
from xlabench.diagnosis.case import Case, Values, derive
from xlabench.diagnosis.probe import Judgement, Prober

_NOT_ALONE = frozenset(
    {"parameter", "constant", "iota", "tuple", "get-tuple-element", "after-all", "while", "conditional", "call"}
)
_CONTROL = frozenset({"while", "conditional", "call"})


@dataclass(frozen=True, slots=True)
class Part:
    """One instruction alone."""

    place: edit.Place
    opcode: str
    case: Case


@dataclass(frozen=True, slots=True)
class Row:
    """An instruction and the verdict on it alone."""

    place: edit.Place
    opcode: str
    shape: str
    judgement: Judgement
    case: Case


def parts(case: Case, values: Values) -> Iterator[Part]:
    """The instructions that compute something, in the order of execution; those in loops on their last values."""
    yield from _parts(case, case.module.entry, values)


def _parts(case: Case, computation: Any, values: Values) -> Iterator[Part]:
    for instruction in computation.instructions:
        if instruction.opcode in _CONTROL:
            for callee in instruction.called_computations():
                yield from _parts(case, callee, values)
        if instruction.opcode in _NOT_ALONE:
            continue
        place = edit.place_of(instruction)
        alone = derive(Case(case.module, ()), edit.isolate(case.module, place), values)
        if alone is not None:
            yield Part(place, instruction.opcode, alone)


def examine(prober: Prober, case: Case) -> Iterator[Row]:
    """Judge every instruction alone."""
    for part in parts(case, prober.record(case)):
        shape = str(part.case.module.entry.root.shape)
        yield Row(part.place, part.opcode, shape, prober.judge(part.case), part.case)
