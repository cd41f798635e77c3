"""The guard pages do stop a program: one that is told of a shorter array than it writes is caught."""

from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np
import pytest

import compiler
from compiler.backends.cpu.runtime import guarded

TOLD = """
import numpy as np
import compiler
from compiler.backends.cpu.runtime import guarded
from compiler.backends.cpu.runtime.arguments import Leaf
from dataclasses import replace

executable = compiler.compile("ENTRY e {{ x = f32[{length}] parameter(0) ROOT y = f32[{length}] negate(x) }}")
program = executable._entry.snapshot()
leaves = [Leaf(np.dtype(np.float32), ({told},))]
program = replace(program, parameters=leaves, results=leaves)
print(guarded.call(program, np.arange({told}, dtype=np.float32), at_end={at_end})[0].tolist())
"""


def run(length: int, told: int, *, at_end: bool) -> subprocess.CompletedProcess[str]:
    code = TOLD.format(length=length, told=told, at_end=at_end)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("at_end", [True, False])
def test_a_right_program_runs_as_ever(*, at_end: bool) -> None:
    result = run(8, 8, at_end=at_end)
    assert result.stdout == f"{[-float(x) for x in range(8)]}\n", result.stderr


@pytest.mark.slow
def test_what_runs_over_the_end_is_stopped() -> None:
    assert run(64, 4, at_end=True).returncode == -signal.SIGSEGV


@pytest.mark.slow
def test_what_writes_between_the_end_and_the_page_is_seen() -> None:
    result = run(8, 7, at_end=True)
    assert result.returncode == 1
    assert "ForeignMemory: the program wrote outside of" in result.stderr


def test_an_executable_is_called_so_if_asked() -> None:
    text = "ENTRY e { x = f32[3] parameter(0) y = f32[0] parameter(1) ROOT r = (f32[3], f32[0]) tuple(x, y) }"
    executable = compiler.compile(text, options=compiler.CompileOptions(check_memory=True))
    first, second = executable(np.arange(3, dtype=np.float32), np.empty(0, np.float32))
    assert (first.tolist(), second.shape) == ([0, 1, 2], (0,))
    assert executable.call.func is guarded.call
