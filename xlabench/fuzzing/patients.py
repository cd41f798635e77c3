"""What the judge is tried on in a campaign: single operations by turns, and the programs that engines were judged on.

An engine that is wrong is found because the judge says so; a judge that is wrong says nothing.  So it is asked about a
few operations on tame and on special numbers (`xlabench.judging.self_check`), about operations on numbers that are not
known exactly (`xlabench.judging.second_computation`, of many elements `xlabench.judging.second_meanings`), about cases
themselves on one of their inputs, and about excuses (`xlabench.judging.excuse_check`): with so few cases that it takes
about a tenth of the time, of small ones with fewer, since these take less.  What it gets wrong is a failure of our own.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

import compiler
from compiler.generate import PAIRS, RandomChoices, Space
from xlabench.cases.inputs import DTYPES
from xlabench.diagnosis.case import Case as Patient
from xlabench.diagnosis.unsound import bounded, told_about
from xlabench.fuzzing.case import Case
from xlabench.fuzzing.values import KINDS, make_inputs
from xlabench.judging import excuse_check, library_calls, second_computation, second_meanings, self_check
from xlabench.judging.bounds import Basis
from xlabench.judging.tightness import HELD

OPERATIONS, OPERATIONS_EVERY, CASES_EVERY, ROUTINES_EVERY, EXCUSES_EVERY = 7, 5, 11, 7, 8
"""How many the judge is asked about with one of how many cases; about one of how many cases itself; with one of how
many about a routine of LAPACK, whose results are right by relations of their own; with one of how many about an
excuse."""
SECOND_EVERY = 2
"""With one of how many cases a row of the second computation is held against bounds, with the others one of many
elements: each takes 2 to 3 ms, and all of them, which is 188 and 90, have had their turn when half of the time that a
minute of two cores is has passed.  From then on small cases have fewer, as of everything else."""
USUAL_INSTRUCTIONS = 40
"""Of most programs of campaigns: beside one of so many times fewer, so many times less of each kind is tried."""
_ROUTINES = "custom-call"
_RANDOM = "rng"
_ALWAYS = frozenset({"pred", "s32"})
_SPREAD = 611_953  # a prime, so that neighbours are of different kinds
_MOST_ELEMENTS, _MOST_OF_CASE, _ATTEMPTS = 64, 1 << 16, 4


@cache
def _types() -> dict[str, tuple[str, ...]]:
    """The types of each opcode, the rarer ones too: what is wrong of one is mostly so of all.

    Random numbers have no bounds that could be wrong: all of them are open.
    """
    found: dict[str, list[str]] = {}
    for opcode, kind in sorted(PAIRS):
        if kind in DTYPES and opcode not in (_ROUTINES, _RANDOM):
            found.setdefault(opcode, []).append(kind)
    return {opcode: tuple(kinds) for opcode, kinds in found.items()}


def operation(number: int) -> Any:
    """A program of about one operation, each opcode in its turn; None where it cannot be drawn alone."""
    turn, offset = divmod(number * _SPREAD, len(_types()))
    opcode, kinds = list(_types().items())[offset]
    if is_tame(number):
        kinds = tuple(kind for kind in kinds if DTYPES[kind].name in HELD) or kinds
    return _drawn(number, opcode, kinds[turn % len(kinds)])


def is_tame(number: int) -> bool:
    """Whether an operation is asked about on tame numbers: each opcode is every other time."""
    rounds, position = divmod(number, len(_types()))
    return bool((rounds + position) % 2)


def routine(number: int) -> Any:
    """A program of about one call of LAPACK; None where it cannot be drawn alone."""
    return _drawn(number, _ROUTINES, sorted(kind for opcode, kind in PAIRS if opcode == _ROUTINES)[number % 4])


def _drawn(number: int, opcode: str, kind: str) -> Any:
    others = frozenset((opcode, other) for other in _ALWAYS if other != kind)
    space = Space(
        frozenset({opcode}), _ALWAYS | {kind}, banned=others, most_instructions=1, most_elements=_MOST_ELEMENTS
    )
    for attempt in range(_ATTEMPTS):
        choices = RandomChoices(number + (attempt << 32))
        module = compiler.generate.program(choices, space, name="patient")
        if any(instruction.opcode == opcode for instruction in module.instructions()):
            return module
    return None


def examine(case: Case) -> None:
    """Try the judge on a case, and on what has its turn; and the reference on calls of libraries for GPUs.

    Raises:
        JudgeError: it is wrong about one.
        LibraryError: the reference is.
    """
    if compiler.device_count(case.module) == 1:
        library_calls.check(case.module, case.inputs)
    if (turn := _turn(case, EXCUSES_EVERY)) is not None:
        excuse_check.check(turn, np.random.default_rng(case.number))
    is_early = case.number < SECOND_EVERY * len(second_computation.rows())
    if (turn := case.number if is_early else _turn(case, 1)) is not None:
        turn, left = divmod(turn, SECOND_EVERY)
        second = second_meanings if left else second_computation
        rows = second.rows()
        second.check(rows[turn % len(rows)], np.random.default_rng(case.number))
    for module, inputs, is_tame in _patients(case):
        check = partial(_check, number=case.number, is_tame=is_tame)
        patient = Patient(module, tuple(inputs))
        with told_about(patient, check):
            check(patient)


def _check(patient: Patient, *, number: int, is_tame: bool) -> None:
    self_check.check(patient.module, patient.inputs, np.random.default_rng(number), is_tame=is_tame)


def require_soundness(case: Case, kind: str, basis: Basis) -> None:
    """Refuse a basis of judgements that the reference's own results of a call break.

    Args:
        case: the program and its inputs.
        kind: of the inputs of the call.
        basis: what its results were judged by.

    Raises:
        JudgeError: they break it, about an opcode.
    """
    with told_about(Patient(case.module, tuple(case.given(kind))), _require_soundness):
        self_check.require_soundness(basis)


def _require_soundness(patient: Patient) -> None:
    self_check.require_soundness(bounded(patient))


def _turn(case: Case, every: int) -> int | None:
    """Which turn it is of something that has one with each of so many cases, and fewer small ones; None of others."""
    count = max(1, sum(1 for _ in case.module.instructions()))
    turn, left = divmod(case.number, every)
    turn, more_left = divmod(turn, max(1, USUAL_INSTRUCTIONS // count))
    return None if left or more_left else turn


class _Drawn(NamedTuple):
    """A program with inputs, and whether it is a single operation on tame numbers."""

    module: Any
    inputs: list[Any]
    is_tame: bool


def _patients(case: Case) -> Iterator[_Drawn]:
    is_asked = not case.number % CASES_EVERY and compiler.device_count(case.module) == 1
    if is_asked and _elements(case.module) <= _MOST_OF_CASE:
        _, inputs = case.calls[case.number % len(case.calls)]
        yield _Drawn(case.module, inputs, is_tame=False)
    if (turn := _turn(case, ROUTINES_EVERY)) is not None and (module := routine(turn)) is not None:
        yield _Drawn(module, make_inputs(module, np.random.default_rng(case.number), "tame"), is_tame=True)
    turn = _turn(case, OPERATIONS_EVERY)
    if turn is None:
        return
    kinds = list(KINDS)
    for offset in range(OPERATIONS):
        number = turn * OPERATIONS + offset
        module = operation(number)
        if module is not None:
            kind = "tame" if is_tame(number) else kinds[number // 2 % len(kinds)]
            inputs = make_inputs(module, np.random.default_rng(number), kind)
            # Numbers that are counted begin at 0, where functions have their edges.
            is_counted = any(instruction.opcode == "iota" for instruction in module.instructions())
            yield _Drawn(module, inputs, is_tame=kind == "tame" and not is_counted)


def _elements(module: Any) -> int:
    return sum(leaf.size for i in module.instructions() for leaf in compiler.edit.leaves(i.shape))
