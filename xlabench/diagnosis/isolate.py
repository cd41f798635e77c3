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
class Isolated:
    """One instruction alone, on what it is given first, and in a loop on what it is given last.

    `source` is the line of the user's file that it comes from, "" where nothing says it.
    """

    instruction_id: edit.InstructionId
    opcode: str
    source: str
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """An instruction and the verdict on it alone."""

    instruction_id: edit.InstructionId
    opcode: str
    shape: str
    source: str
    judgement: Judgement
    case: Case


def isolate_each(case: Case, values: Recorded) -> Iterator[Isolated]:
    """The instructions that compute something, in the order of execution."""
    yield from _isolate_each(case, case.module.entry, values)


def _isolate_each(case: Case, computation: Any, values: Recorded) -> Iterator[Isolated]:
    for instruction in computation.instructions:
        if instruction.opcode in _CONTROL:
            for callee in instruction.called_computations():
                yield from _isolate_each(case, callee, values)
        if instruction.opcode in _NOT_ALONE:
            continue
        instruction_id = edit.id_of(instruction)
        edited = edit.isolate(case.module, instruction_id)
        given = [values.first, values.last] if _is_repeated(edited, values) else [values.last]
        alone = [one for one in (derive(Case(case.module, ()), edited, some) for some in given) if one is not None]
        if len(alone) > 1 and alone[0].key() == alone[1].key():
            alone.pop()
        if alone:
            yield Isolated(instruction_id, instruction.opcode, edit.source_of(instruction), tuple(alone))


def _is_repeated(edited: edit.Edited, values: Recorded) -> bool:
    """Whether what an edit takes from the program stood there as something else in the end than at first."""
    given = [source for source in edited.sources if not isinstance(source, int)]
    return any(values.first.get(instruction_id) is not values.last.get(instruction_id) for instruction_id in given)


def examine(prober: Prober, case: Case) -> Iterator[Row]:
    """Judge every instruction alone on what the reference gives it; none where that gives no values."""
    return judged(prober, isolate_each(case, prober.record(case)))


def judged(prober: Prober, alone_each: Iterable[Isolated]) -> Iterator[Row]:
    """Judge parts; the row of one that runs again and again shows where it fails, if it does."""
    for isolated in alone_each:
        for alone in isolated.cases:
            judgement = prober.judge(alone)
            if judgement.is_failure:
                break
        yield Row(
            isolated.instruction_id,
            isolated.opcode,
            str(alone.module.entry.root.shape),
            isolated.source,
            judgement,
            alone,
        )
