"""Adding an elementwise op takes two rows, its record and its scalar rule: the rest follows from them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import compiler

RECORD = """\
    Row("softsign", 1, "x / (1 + |x|).", kinds(real=lambda x: x / (1 + np.abs(x))), traits=Trait.EXPENSIVE),
"""
RULE = """\
    "softsign": lambda scalar, operands: scalar.builder.binary(
        "fdiv",
        operands[0],
        scalar.builder.binary("fadd", _abs(scalar, operands), floating(1.0, operands[0].type)),
    ),
"""
ROWS = {
    "ops/arithmetic.py": ("_ROWS = (\n", RECORD),
    "codegen/scalar/rules.py": ("RULES: dict[str, Rule] = {\n", RULE),
}
"""By file the line after which a row is added, and the row."""

USE = """
import numpy as np
import compiler
from compiler.generate import RandomChoices, Space

text = '''
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY e {
  x = f32[16,33] parameter(0)
  y = f32[16,33] softsign(x)
  t = f32[33,16] transpose(y), dimensions={1,0}
  z = f32[33,16] softsign(t)
  zero = f32[] constant(0)
  s = f32[33] reduce(z, zero), dimensions={1}, to_apply=sum
  ROOT both = (f32[16,33], f32[33]) tuple(y, s)
}
'''
module = compiler.parse(text)
compiler.verify(module)
assert compiler.to_text(compiler.parse(compiler.to_text(module))) == compiler.to_text(module)
x = np.linspace(-3, 3, 16 * 33, dtype=np.float32).reshape(16, 33)
expected = compiler.interpret(module, x)
np.testing.assert_allclose(expected[0], x / (1 + np.abs(x)), rtol=1e-6)
bounds = compiler.interpret(module, x, wide=True)
for options in ({"fusion": True}, {"fusion": False}):
    for backend, more in (("cpu", {}), ("nvptx", {"device": "sim"})):
        made = compiler.compile(module, backend=backend, options=compiler.CompileOptions(**options, **more))(x)
        for bound, result in zip(bounds, made, strict=True):
            assert bound.allows(result).all(), (backend, options)

space = Space(frozenset({"softsign", "add"}), frozenset({"f32", "bf16"}))
drawn = {i.opcode for seed in range(5) for i in compiler.generate.program(RandomChoices(seed), space).instructions()}
assert "softsign" in drawn
try:
    compiler.verify(compiler.parse("ENTRY e { x = s32[2] parameter(0) ROOT y = s32[2] softsign(x) }"))
except compiler.CompilerError as error:
    assert "softsign takes floats, not s32" in str(error), error
else:
    raise AssertionError("integers were taken")
"""


@pytest.fixture
def with_softsign(tmp_path: Path) -> Path:
    """A copy of the compiler with one more op."""
    source = Path(compiler.__file__).parent
    shutil.copytree(source, tmp_path / "compiler", ignore=shutil.ignore_patterns("__pycache__"))
    for name, (line, row) in ROWS.items():
        path = tmp_path / "compiler" / name
        text = path.read_text(encoding="utf-8")
        assert text.count(line) == 1
        path.write_text(text.replace(line, line + row), encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_two_rows_are_an_elementwise_op(with_softsign: Path) -> None:
    """Read, verified, evaluated, bounded, fused, compiled for both targets and drawn by the generator."""
    environment = {**os.environ, "PYTHONPATH": str(with_softsign)}
    command = [sys.executable, "-c", USE]
    done = subprocess.run(command, cwd=with_softsign, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
