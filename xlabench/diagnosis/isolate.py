"""Every instruction of a program as a program of its own, on the values that it gets in the reference.

An error cannot hide behind another this way, nor be carried on: what diverges here is wrong on right operands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from compiler import edit
from compiler.ops import Trait, having
from xlabench.diagnosis.case import Case, Recorded, derive
from xlabench.diagnosis.probe import Judgement, Prober

_CONTROL = having(Trait.CONTROL)
_NOT_ALONE = having(Trait.STRUCTURAL | Trait.CONTROL | Trait.GENERATES) | {"after-all"}


@dataclass(frozen=True, slots=True)
class Part:
    """One instruction alone, on what it is given first, and in a loop on what it is given last.

    `source` is the line of the user's file that it comes from, "" where nothing says it.
    """

    place: edit.Place
    opcode: str
    source: str
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """An instruction and the verdict on it alone."""

    place: edit.Place
    opcode: str
    shape: str
    source: str
    judgement: Judgement
    case: Case


def parts(case: Case, values: Recorded) -> Iterator[Part]:
    """The instructions that compute something, in the order of execution."""
    yield from _parts(case, case.module.entry, values)


def _parts(case: Case, computation: Any, values: Recorded) -> Iterator[Part]:
    for instruction in computation.instructions:
        if instruction.opcode in _CONTROL:
            for callee in instruction.called_computations():
                yield from _parts(case, callee, values)
        if instruction.opcode in _NOT_ALONE:
            continue
        place = edit.place_of(instruction)
        edited = edit.isolate(case.module, place)
        given = [values.first, values.last] if _is_repeated(edited, values) else [values.last]
        alone = [one for one in (derive(Case(case.module, ()), edited, some) for some in given) if one is not None]
        if len(alone) > 1 and alone[0].key() == alone[1].key():
            alone.pop()
        if alone:
            yield Part(place, instruction.opcode, edit.source_of(instruction), tuple(alone))


def _is_repeated(edited: edit.Edited, values: Recorded) -> bool:
    """Whether what an edit takes from the program stood there as something else in the end than at first."""
    places = [source for source in edited.sources if not isinstance(source, int)]
    return any(values.first.get(place) is not values.last.get(place) for place in places)


def examine(prober: Prober, case: Case) -> Iterator[Row]:
    """Judge every instruction alone on what the reference gives it; none where that gives no values."""
    return judged(prober, parts(case, prober.record(case)))


def judged(prober: Prober, alone_each: Iterable[Part]) -> Iterator[Row]:
    """Judge parts; the row of one that runs again and again shows where it fails, if it does."""
    for part in alone_each:
        for alone in part.cases:
            judgement = prober.judge(alone)
            if judgement.is_failure:
                break
        yield Row(part.place, part.opcode, str(alone.module.entry.root.shape), part.source, judgement, alone)
