"""Exit codes, and the errors of the harness that carry them.

A `BenchError` is something the user can act on: the command line prints its message without a traceback and ends with
its code.  Errors of the compiler are reported the same way; they are told apart here by the names of their classes, so
that this file (which every start of the command line loads) does not load the compiler.  Anything else that is raised
is a bug of ours (`xlabench.crash`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """What a command's exit status means.

    125 is what `git bisect run` takes for "cannot be tested", 70 what mail systems call an internal error, and 130 and
    141 what shells say of a command that Ctrl-C, or a pipe that nobody reads, has ended.
    """

    FINE = 0
    WRONG = 1
    BAD_INPUT = 2
    COMPILE_ERROR = 3
    CRASH = 4
    TIMEOUT = 5
    INTERNAL = 70
    UNDECIDABLE = 125
    INTERRUPTED = 130
    CLOSED_OUTPUT = 141


class BenchError(Exception):
    """Bad usage or bad input: the message says what was given, what is wrong and what to do."""

    exit_code: ClassVar[ExitCode] = ExitCode.BAD_INPUT


class CompileFailure(BenchError):
    """The engine under test failed to compile a valid program."""

    exit_code = ExitCode.COMPILE_ERROR


class RunFailure(BenchError):
    """The engine under test failed while it ran a program that it had compiled."""

    exit_code = ExitCode.CRASH


class TimeoutFailure(BenchError):
    """The engine under test did not end in the time it was given."""

    exit_code = ExitCode.TIMEOUT


class Undecidable(BenchError):
    """What was asked for cannot be decided here: an engine that is not installed, an operation it does not know."""

    exit_code = ExitCode.UNDECIDABLE


class RecordsLost(BenchError):
    """The records cannot be written or read, so that nothing more can be found out that would be known later."""


_COMPILER_ERRORS: Mapping[str, ExitCode] = {
    "ParseError": ExitCode.BAD_INPUT,
    "VerifyError": ExitCode.BAD_INPUT,
    "InputError": ExitCode.BAD_INPUT,
    "ShapeError": ExitCode.BAD_INPUT,
    "UnsupportedError": ExitCode.UNDECIDABLE,
    "CompilerError": ExitCode.COMPILE_ERROR,
}

VERDICT_EXIT_CODES: Mapping[str, ExitCode] = {
    "bitwise": ExitCode.FINE,
    "within": ExitCode.FINE,
    "undecided": ExitCode.FINE,
    "assembled": ExitCode.FINE,
    "wrong": ExitCode.WRONG,
    "flaky": ExitCode.WRONG,
    "unsupported": ExitCode.UNDECIDABLE,
    "bad-input": ExitCode.BAD_INPUT,
    "compile-error": ExitCode.COMPILE_ERROR,
    "crash": ExitCode.CRASH,
    "timeout": ExitCode.TIMEOUT,
    "error": ExitCode.INTERNAL,
}
"""The exit code that reports each verdict."""

_FAILURE_VERDICTS = {
    ExitCode.UNDECIDABLE: "unsupported",
    ExitCode.COMPILE_ERROR: "compile-error",
    ExitCode.CRASH: "crash",
    ExitCode.TIMEOUT: "timeout",
}


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message about a word that is none of those known: the nearest of them, if any is near.

    That of `compiler.diagnostics` would load the compiler.
    """
    near = difflib.get_close_matches(word[:80], known, 3, 0.6)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def exit_code_of(error: BaseException) -> ExitCode | None:
    """The exit code that reports an error; None for one that is a bug of ours."""
    if isinstance(error, BenchError):
        return error.exit_code
    names = (kind.__name__ for kind in type(error).__mro__)
    return next((_COMPILER_ERRORS[name] for name in names if name in _COMPILER_ERRORS), None)


def verdict_of(error: BaseException, *, takes_all: bool = False) -> str | None:
    """The verdict on an engine that failed with an error; None where the input or a bug of ours is to blame.

    One that is said to take all that it is asked about (`takes_all`) fails to compile what it refuses.
    """
    code = exit_code_of(error)
    if takes_all and code is ExitCode.UNDECIDABLE:
        code = ExitCode.COMPILE_ERROR
    return _FAILURE_VERDICTS.get(code) if code is not None else None
