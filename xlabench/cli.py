"""The command line: which subcommands there are, and how errors end.

A subcommand's file is loaded when it is asked for and not before, so that `xlabench --help` needs neither NumPy nor
LLVM; that is why the one-line summaries stand here, and a test compares them with those of the commands.  That is also
why output that cannot be written is dealt with here and in `compiler.commands.ending`: neither may load the other.

A `BenchError` or an error of the compiler is a message on standard error and an exit code, and where `--json` was asked
for an object on standard output as well.  Every other exception is a bug of ours: it is said in three lines, with the
file that keeps the traceback (`xlabench.crash`) and an exit code that is nobody's verdict.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click

from xlabench import crash
from xlabench.errors import ExitCode, did_you_mean, exit_code_of
from xlabench.startup import CUSTOM_CALLS, require_own

COMMANDS: Mapping[str, str] = {
    "run": "xlabench.commands.run",
    "replay": "xlabench.commands.replay",
    "reduce": "xlabench.commands.reduce",
    "bisect": "xlabench.commands.bisect",
    "isolate": "xlabench.commands.isolate",
    "recheck": "xlabench.commands.recheck",
    "bundle": "xlabench.commands.bundle",
    "compile": "xlabench.commands.compile",
    "tfcompile": "xlabench.commands.tfcompile",
    "train": "xlabench.commands.train",
    "tf": "xlabench.commands.tf",
    "nightly": "xlabench.commands.nightly",
    "report": "xlabench.commands.report",
    "compare": "xlabench.commands.compare",
    "roofline": "xlabench.commands.roofline",
    "fuzz": "xlabench.commands.fuzz",
    "mutate": "xlabench.commands.mutate",
    "ptx-sim": "xlabench.commands.ptx_sim",
}
"""The file of each subcommand; it offers `command`."""

SUMMARIES: Mapping[str, str] = {
    "run": "Run an HLO file or a graph on two engines and compare.",
    "replay": "Run a repro bundle again.",
    "reduce": "Make a failing program as small as it can be.",
    "bisect": "Find the pass, rewrite or kernel that is to blame for a failure.",
    "isolate": "Run every instruction alone on the values it really gets.",
    "recheck": "Replay every bundle of a folder.",
    "bundle": "Show, verify or export a repro bundle.",
    "compile": "Compile a program ahead of time to an object file with a C interface.",
    "tfcompile": "Compile a graph of TensorFlow's ahead of time to an object file with a C++ class.",
    "train": "Train a small model, step by step on one engine.",
    "tf": "Run a script written for TensorFlow's sessions.",
    "nightly": "Run a suite on all engines, compare, time, record and report.",
    "report": "Write the report of a recorded run again.",
    "compare": "Show what is different between two recorded runs.",
    "roofline": "Compare kernels of every kind and size with what the machine can do.",
    "fuzz": "Run generated programs on all engines and keep what goes wrong.",
    "mutate": "Change real programs in ways that keep their results, and compare.",
    "ptx-sim": "Run a kernel of a PTX file on the simulator.",
}

_OUTPUT_ERRORS = (errno.EPIPE, errno.ENOSPC, errno.EIO)


class _OutputLost(Exception):
    """What is said cannot be written; not the error itself, with which click would end the process as wrong."""

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


class _Commands(click.Group):
    """A group whose members are loaded on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature is click's
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = did_you_mean(args[0], COMMANDS)
            ctx.fail(f"unknown command {args[0]!r}{hint}; known are: {', '.join(COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))

    def main(self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **extra: Any) -> Any:  # type: ignore[override]
        """Run a command to its end; only here an error becomes an exit code."""
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **extra)
        arguments = list(sys.argv[1:] if args is None else args)
        if sys.stdout is None:  # a shell has closed it
            sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - lives as long as the process
        run = partial(super().main, arguments, standalone_mode=False, **extra)
        try:
            with _watched_output():
                code = _ended(run, arguments)
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
        with _watched_output():
            return super().invoke(ctx)


def _ended(run: Callable[[], Any], arguments: Sequence[str]) -> int:
    """The exit code of a command, whose error is said."""
    try:
        require_own()
        result = run()
    except click.ClickException as error:
        error.show()
        message, code = error.format_message(), error.exit_code
    except click.Abort:
        message, code = "interrupted", int(ExitCode.INTERRUPTED)
        click.echo(f"xlabench: {message}", err=True)
    except Exception as error:
        if isinstance(error, _OutputLost):
            raise
        known = exit_code_of(error)
        if known is None:
            return _bug(error, arguments)
        message, code = str(error), int(known)
        click.echo(f"xlabench: {message}", err=True)
    else:
        return int(result) if isinstance(result, int) else ExitCode.FINE
    if "--json" in arguments:
        click.echo(json.dumps({"error": message, "exit_code": code}))
    return code


def _bug(error: Exception, arguments: Sequence[str]) -> int:
    """Say what went wrong in us, in three lines, and where its traceback is kept."""
    said, kept = crash.report(error, "xlabench", arguments)
    click.echo(said, err=True)
    if "--json" in arguments:
        message = "".join(traceback.format_exception_only(error)).strip()
        click.echo(json.dumps({"error": message, "exit_code": int(ExitCode.INTERNAL), "traceback": kept}))
    return ExitCode.INTERNAL


def _without_output(error: OSError) -> ExitCode:
    """End quietly where nobody reads on, and say why nothing can be written otherwise."""
    with suppress(OSError):  # Python would say once more what is left to write
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == errno.EPIPE:
        return ExitCode.CLOSED_OUTPUT
    click.echo(f"xlabench: output cannot be written: {error.strerror}", err=True)
    return ExitCode.BAD_INPUT


def _version() -> str:
    try:
        return version("xlabench")
    except PackageNotFoundError:
        return "not installed"


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(_version(), prog_name="xlabench")
def cli() -> None:
    """Benchmark and test tensor compilers on HLO programs.

    An engine is named by a spec: reference, cpu, cpu:fusion=off, cpu:threads=1,opt=0, nvptx:sim, nvptx, xla.

    Exit codes: 0 fine, 1 wrong, 2 bad input, 3 compile error, 4 crash, 5 timeout, 70 a bug of xlabench, 125 cannot be
    decided here, 130 ended by Ctrl-C, 141 nobody read the output.
    """
    if os.environ.get(CUSTOM_CALLS):
        import_module("xlabench.custom_calls").use_inherited()


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point of the command `xlabench`; ends the process."""
    cli.main(args=list(sys.argv[1:] if arguments is None else arguments), prog_name="xlabench")
