"""How `python -m compiler` ends: errors as messages and exit codes, and as JSON where that was asked for.

An error that the input is to blame for is a message on standard error and exit code 2, or 125 where this compiler
cannot handle a valid program; output that cannot be written ends it with 2 too, and one that nobody reads with 141, as
with `xlabench`.  Any other exception is a bug of ours, with exit code 70 (`compiler.crash`).  After `--json` all of
them are also the one object on standard output, since whoever reads that looks nowhere else.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import click

from compiler import crash
from compiler.diagnostics import CompilerError, UnsupportedError

BAD_INPUT, UNDECIDABLE, INTERRUPTED, CLOSED_OUTPUT = 2, 125, 130, 141
"""Exit codes: of 125 git bisect says that it skips; 128 and the number of the signal where one ended the command, as
shells have it."""
_OUTPUT_ERRORS = (errno.ENOSPC, errno.EIO, errno.EPIPE)


class _OutputLost(Exception):
    """What is printed cannot be written; not the error itself, with which click would end the process."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error)
        self.error = error


@contextmanager
def _watched_output() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _OUTPUT_ERRORS:
            raise
        raise _OutputLost(error) from error


def _without_output(error: OSError) -> int:
    """End quietly where nobody reads on, and say why nothing can be written otherwise."""
    with suppress(OSError):  # Python would say once more what is left to write
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == errno.EPIPE:
        return CLOSED_OUTPUT
    click.echo(f"compiler: output cannot be written: {error.strerror}", err=True)
    return BAD_INPUT


class Commands(click.Group):
    """Turns errors of the input, and of the output, into messages and exit codes."""

    def main(self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **extra: Any) -> Any:  # type: ignore[override]
        """Run a command to its end; only here an error becomes an exit code.

        Args:
            args: the words behind the program's name, None for those of this process.
            standalone_mode: whether the process ends with the exit code; without it errors are raised.
            **extra: what click hands to the command's context.
        """
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **extra)
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # from `compiler.startup`
            signal.signal(signal.SIGINT, signal.default_int_handler)
        arguments = list(sys.argv[1:] if args is None else args)
        if sys.stdout is None:  # a shell has closed it
            sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - lives as long as the process
        try:
            with _watched_output():
                code = _ended(partial(super().main, arguments, standalone_mode=False, **extra), arguments)
                sys.stdout.flush()
        except _OutputLost as lost:
            code = _without_output(lost.error)
        sys.exit(code)

    def make_context(self, *given: Any, **extra: Any) -> click.Context:
        """A context; the help may be written here."""
        with _watched_output():
            return super().make_context(*given, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand."""
        try:
            with _watched_output():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.Abort from None  # here, since click itself would print an empty line first


def _ended(run: Callable[[], Any], arguments: Sequence[str]) -> int:
    """The exit code of a command, whose error is said."""
    kept = ""
    try:
        result = run()
    except _OutputLost:
        raise
    except click.ClickException as error:
        error.show()
        message, code = error.format_message(), error.exit_code
    except click.Abort:
        message, code = "interrupted", INTERRUPTED
        click.echo(f"compiler: {message}", err=True)
    except CompilerError as error:
        message, code = str(error), UNDECIDABLE if isinstance(error, UnsupportedError) else BAD_INPUT
        click.echo(f"compiler: {message}", err=True)
    except Exception as error:  # noqa: BLE001 - every other error is a bug of ours
        said, kept = crash.report(error)
        message, code = "".join(traceback.format_exception_only(error)).strip(), crash.INTERNAL
        click.echo(said, err=True)
    else:
        return result if isinstance(result, int) else 0
    if "--json" in arguments:
        click.echo(json.dumps({"error": message, "exit_code": code, **({"traceback": kept} if kept else {})}))
    return code
