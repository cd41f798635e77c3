"""Back ends are loaded when they are used, and only those."""

from __future__ import annotations

import subprocess
import sys

import pytest

import compiler
from compiler.backends import BACKENDS

TEXT = "HloModule m\nENTRY e { x = f32[4] parameter(0) ROOT y = f32[4] add(x, x) }"
PROGRAM = """
import sys
import numpy as np
import compiler
module = compiler.parse({text!r})
compiler.interpret(module, np.ones(4, np.float32))
{step}
print(*sorted(name for name in sys.modules if name.endswith(".executable")))
"""


@pytest.mark.parametrize(
    ("step", "loaded"),
    [
        ("", ""),
        ("compiler.compile(module)", "compiler.backends.cpu.executable"),
        (
            'compiler.compile(module, "nvptx", compiler.CompileOptions(device="sim"))',
            "compiler.backends.nvptx.executable",
        ),
        *((f"compiler.load({name!r})", f"compiler.backends.{name}.executable") for name in BACKENDS),
    ],
)
def test_only_what_is_used_is_loaded(step: str, loaded: str) -> None:
    script = PROGRAM.format(text=TEXT, step=step)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == sorted(["compiler.backends.executable", *loaded.split()])


def test_one_that_is_not_there_is_refused_with_those_that_are() -> None:
    for ask in (compiler.load, lambda name: compiler.compile(TEXT, name)):
        with pytest.raises(compiler.InputError, match="unknown back end 'gpu'; back ends are: cpu, nvptx"):
            ask("gpu")
