"""The command line: which subcommands there are, and how errors end.

A subcommand's file is loaded when it is asked for and not before, so that `xlabench --help` needs neither NumPy nor
LLVM; that is why the one-line summaries stand here, and a test compares them with those of the commands.

A `BenchError` or an error of the compiler is a message on standard error and an exit code; every other exception is a
bug of ours and shows as a traceback.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click

from xlabench.errors import exit_code_of

COMMANDS: Mapping[str, str] = {
    "run": "xlabench.commands.run",
    "replay": "xlabench.commands.replay",
    "reduce": "xlabench.commands.reduce",
    "bisect": "xlabench.commands.bisect",
    "isolate": "xlabench.commands.isolate",
    "recheck": "xlabench.commands.recheck",
    "bundle": "xlabench.commands.bundle",
    "compile": "xlabench.commands.compile",
    "train": "xlabench.commands.train",
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
    "run": "Run an HLO file on two engines and compare.",
    "replay": "Run a repro bundle again.",
    "reduce": "Make a failing program as small as it can be.",
    "bisect": "Find the pass, rewrite or kernel that is to blame for a failure.",
    "isolate": "Run every instruction alone on the values it really gets.",
    "recheck": "Replay every bundle of a folder.",
    "bundle": "Show, verify or export a repro bundle.",
    "compile": "Compile a program ahead of time to an object file with a C interface.",
    "train": "Train a small model, step by step on one engine.",
    "nightly": "Run a suite on all engines, compare, time, record and report.",
    "report": "Write the report of a recorded run again.",
    "compare": "Show what is different between two recorded runs.",
    "roofline": "Compare kernels of every kind and size with what the machine can do.",
    "fuzz": "Run generated programs on all engines and keep what goes wrong.",
    "mutate": "Change real programs in ways that keep their results, and compare.",
    "ptx-sim": "Run a kernel of a PTX file on the simulator.",
}


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
            ctx.fail(f"unknown command {args[0]!r}; known are: {', '.join(COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:
            code = exit_code_of(error)
            if code is None:
                raise
            click.echo(f"xlabench: {error}", err=True)
            ctx.exit(code)


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

    Exit codes: 0 fine, 1 wrong, 2 bad input, 3 compile error, 4 crash, 5 timeout, 125 cannot be decided here.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point of the command `xlabench`; ends the process."""
    cli.main(args=list(sys.argv[1:] if arguments is None else arguments), prog_name="xlabench")
