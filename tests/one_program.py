"""A small program with its input and bundles of it, and the command line asked in the process of a test."""

import numpy as np
from click.testing import CliRunner

import compiler
from xlabench.bundles import saving
from xlabench.bundles.failure import Failure
from xlabench.cli import cli

PROGRAM = """HloModule m

ENTRY e {
  x = f32[8] parameter(0)
  a = f32[8] tanh(x)
  b = f32[8] negate(a)
  ROOT c = f32[8] add(b, x)
}
"""
X = np.arange(8, dtype=np.float32)


def run_command(*arguments):
    """What a command gives."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def right_result():
    """What the program gives."""
    return compiler.interpret(compiler.parse(PROGRAM), X)[0]


def write_bundle(folder, expected, *, text=PROGRAM, engine="reference", reference="reference", verdict="wrong"):
    """A bundle in a folder that is made, of a failure with what was expected and got."""
    folder.mkdir()
    failure = Failure(text, [X], [expected], [expected], engine, reference, 1, verdict, "8 elements are wrong")
    for name, data in saving._contents(failure).items():
        (folder / name).write_bytes(data)
    return folder
