"""What a judge is wrong about: the first instruction of a program about which it is wrong alone, on what it is given.

The reference and the bounds of its results are two computations of one program, and neither engine nor reduction has a
part in it where they differ.  Which instruction they differ about says what to look at, and tells one such bug from
another: all are noticed by a few checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import compiler
from xlabench.diagnosis import kernels
from xlabench.diagnosis.case import Case, recorded
from xlabench.diagnosis.isolate import isolate_each
from xlabench.judging.self_check import JudgeError
from xlabench.survival import about

Try = Callable[[Case], None]
"""Tries the judge on a case, and raises `JudgeError` where it is wrong."""


class Alone(Exception):
    """The program of one instruction about which a judge is wrong, as the cause of the error that tells of it."""


@contextmanager
def told_about(case: Case, again: Try) -> Iterator[None]:
    """Within it a judge is tried on a case; the error that it is wrong says about which opcode, and of what kind.

    Raises:
        JudgeError: it is wrong.
    """
    try:
        yield
    except JudgeError as error:
        opcode, alone = _first_alone(case, again) or (kernels.opcodes(case.module) or "nothing", case)
        told = JudgeError(about(opcode, str(error))).with_traceback(error.__traceback__)
        raise told from Alone(compiler.to_text(alone.module))


def _first_alone(case: Case, again: Try) -> tuple[str, Case] | None:
    """The first instruction about which the judge is wrong alone, by its opcode and as a case; None where none is."""
    for isolated in isolate_each(case, recorded(case)):
        for alone in isolated.cases:
            if _is_wrong(alone, again):
                return isolated.opcode, alone
    return None


def _is_wrong(case: Case, again: Try) -> bool:
    try:
        again(case)
    except JudgeError:
        return True
    except compiler.CompilerError:  # an instruction that is no program alone
        return False
    return False
