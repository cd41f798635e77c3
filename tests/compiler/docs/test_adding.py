"""What the page says of adding an op, a pass and so on is done in a copy of the project, and works as it says."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pages
import pytest

PAGE = pages.ROOT / "compiler" / "docs" / "adding.md"

SOFTSIGN = """
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
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with all that the page adds."""
    folder: Path = tmp_path_factory.mktemp("project")
    pages.copy_project(folder)
    for step in pages.read(PAGE):
        if isinstance(step, pages.Edit):
            step.make(folder)
    return folder


@pytest.mark.slow
def test_what_is_added_works_as_the_page_shows(changed: Path) -> None:
    pages.check(changed, [step for step in pages.read(PAGE) if isinstance(step, pages.Command)])


@pytest.mark.slow
def test_two_rows_are_an_elementwise_op(changed: Path) -> None:
    """Read, verified, evaluated, bounded, fused, compiled for both targets and drawn by the generator."""
    pages.python(changed, "-c", SOFTSIGN)


def test_contracts_that_the_page_changes_name_what_it_adds() -> None:
    text = (pages.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    edits = [step for step in pages.read(PAGE) if isinstance(step, pages.Edit) and step.file == "pyproject.toml"]
    assert len(edits) == 3
    for edit in edits:
        text = edit.changed(text)
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    assert {"evaluated", "count"} <= set(" ".join(map(str, contracts)).replace("'", " ").split())
