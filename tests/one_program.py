"""A small program with its input, and the command line asked in the process of a test."""

import numpy as np
from click.testing import CliRunner

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
