"""Slices of a program that a reduction tries first: what stands near an instruction, the first or last instructions.

Badness that is in one instruction is left with little around it after a probe or two, wherever it stood.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from compiler import edit
from xlabench.diagnosis.case import Case, Recorded, Values, derive

_FAR = 3


def neighbourhoods(case: Case, focus: Sequence[edit.InstructionId], recorded: Recorded) -> Iterator[Case | None]:
    """What stands near them, nearest first: in the entry operands up to a distance, elsewhere only what is there.

    What never ran is given zeros: a compiler may fail at it all the same, and nothing else would keep it.

    Args:
        case: the program and its inputs.
        focus: the instructions, by computation and name.
        recorded: what instructions were when the reference ran.
    """
    for instruction_id in _inner(case, focus):
        edited = edit.isolate(case.module, instruction_id)
        for values in (recorded.first, recorded.last):
            yield derive(case, edited, {**_zeros(edited), **values})
    known = {edit.id_of(i): i for i in case.module.entry.instructions}
    for distance in range(1, _FAR + 1):
        for instruction_id in focus:
            if instruction_id in known:
                yield _around(case, known[instruction_id], distance, recorded.last)


def _inner(case: Case, focus: Sequence[edit.InstructionId]) -> list[edit.InstructionId]:
    inner = chain.from_iterable(c.instructions for c in case.called_computations())
    return [instruction_id for instruction_id in map(edit.id_of, inner) if instruction_id in focus]


def _zeros(edited: edit.Edited) -> Values:
    given = zip(edited.module.entry.parameters, edited.sources, strict=True)
    shapes = {source: parameter.shape for parameter, source in given if not isinstance(source, int)}
    zeros = {source: edit.zeros(shape) for source, shape in shapes.items()}
    return {source: value for source, value in zeros.items() if isinstance(value, np.ndarray)}


def _around(case: Case, centre: Any, distance: int, values: Values) -> Case | None:
    near, edge = {centre}, {centre}
    for _ in range(distance):
        edge = {operand for instruction in edge for operand in instruction.operands} - near
        near |= edge
    outside = [edit.id_of(i) for i in case.module.entry.instructions if i not in near or i in edge]
    kept = derive(case, edit.keep_results(case.module, [edit.id_of(centre)]), values)
    return kept and derive(kept, edit.to_parameters(kept.module, outside), values)


def prefix(case: Case, length: int, values: Values) -> Case | None:
    """The first instructions of the entry; the results are the values that nothing among them uses.

    Args:
        case: the case.
        length: how many instructions are kept.
        values: what stood at places of the case.
    """
    first = case.module.entry.instructions[:length]
    among = set(first)
    ends = [
        edit.id_of(i)
        for i in first
        if i.opcode not in ("parameter", "constant") and not any(user in among for user in i.users)
    ]
    return derive(case, edit.keep_results(case.module, ends), values) if ends else None


def suffix(case: Case, length: int, values: Values) -> Case | None:
    """The last instructions of the entry; what they need of the others is given.

    Args:
        case: the program and its inputs.
        length: instructions that are kept.
        values: what the others were when the reference ran.
    """
    instructions = case.module.entry.instructions
    before = instructions[: len(instructions) - length]
    return derive(case, edit.to_parameters(case.module, [edit.id_of(i) for i in before]), values)
