"""`python -m compiler`: a program by hand, step by step: print, verify, opt, run, emit, graph, tf2xla, cluster."""

from __future__ import annotations

import click

from compiler.commands import cluster, emit, graph, opt, print, run, tf2xla, verify  # noqa: A004 - each is named as its subcommand
from compiler.commands.ending import Commands


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Look at a program by hand: FILE is HLO text, `-` reads standard input.

    With jaxlib it may also be StableHLO or MHLO, as text or bytecode, a file of jax.export, or a protocol buffer of
    XLA's; each may be compressed by gzip.

    \b
    python -m compiler print FILE                      read it and write it back
    python -m compiler verify FILE                     every violation of the language's rules
    python -m compiler opt FILE --passes dce,cse       the program after passes, or after a pipeline
    python -m compiler run FILE --backend cpu          its results
    python -m compiler emit ptx FILE --backend nvptx   LLVM IR, assembly, PTX, buffers, ...
    python -m compiler graph GRAPH                     a graph of TensorFlow's, read and printed
    python -m compiler tf2xla GRAPH --fetch y          the same lowered to HLO
    python -m compiler cluster GRAPH --fetch y         what of it is compiled together, and why not the rest

    With --json each prints one object, whose keys its help names; an error is {"error": ..., "exit_code": ...}.

    Exit codes: 0 fine, 2 bad input, 70 a bug of the compiler, 125 a valid program that it cannot handle, 130 ended by
    Ctrl-C, 141 nobody read the output.
    """  # noqa: D301 - click wants the backspace itself, which keeps the lines as they are


for _module in (print, verify, opt, run, emit, graph, tf2xla, cluster):
    cli.add_command(_module.command)

if __name__ == "__main__":
    cli.main(prog_name="python -m compiler")
