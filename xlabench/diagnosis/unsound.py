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
from xlabench.errors import BenchError
from xlabench.judging.bounds import Basis, basis_of
from xlabench.judging.self_check import JudgeError
from xlabench.survival import about

Try = Callable[[Case], object]
"""Tries the judge on a case, and raises `JudgeError` where it is wrong, anything where it breaks down."""


class Alone(Exception):
    """The program of one instruction about which a judge is wrong, as the cause of the error that tells of it."""


def bounded(case: Case) -> Basis:
    """What a case's results are judged by, for which the rules of bounds may break down."""
    return basis_of(case.module, case.inputs, compiler.interpret(case.module, *case.inputs))


@contextmanager
def told_about(case: Case, again: Try) -> Iterator[None]:
    """Within it a judge is tried on a case; the error that it is wrong says about which opcode, and of what kind.

    So does what it breaks down with, where it does so again on one instruction alone: that is how the rule of an opcode
    is wrong as well, and the same slip shows in both ways.

    Raises:
        JudgeError: it is wrong, or breaks down.
    """
    try:
        yield
    except JudgeError as error:
        opcode, alone = _first_alone(case, again, JudgeError) or (kernels.opcodes(case.module) or "nothing", case)
        raise _told(error, opcode, str(error)) from Alone(compiler.to_text(alone.module))
    except (compiler.CompilerError, BenchError):
        raise
    except Exception as error:
        found = _first_alone(case, again, type(error))
        if found is None:
            raise
        opcode, alone = found
        _first_cause(error).__cause__ = Alone(compiler.to_text(alone.module))
        raise _told(error, opcode, f"{type(error).__name__}: {error}") from error


def _told(error: Exception, opcode: str, said: str) -> JudgeError:
    return JudgeError(about(opcode, said)).with_traceback(error.__traceback__)


def _first_cause(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _first_alone(case: Case, again: Try, kind: type[Exception]) -> tuple[str, Case] | None:
    """The first instruction on which the judge raises alike alone, by its opcode and as a case; None where none is."""
    for isolated in isolate_each(case, recorded(case)):
        for alone in isolated.cases:
            if _raises(alone, again, kind):
                return isolated.opcode, alone
    return None


def _raises(case: Case, again: Try, kind: type[Exception]) -> bool:
    try:
        again(case)
    except compiler.CompilerError:  # an instruction that is no program alone
        return False
    except Exception as error:  # noqa: BLE001 - whatever it is, it is compared
        return isinstance(error, kind)
    return False
