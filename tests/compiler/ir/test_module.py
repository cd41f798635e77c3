"""`str` of a module is its text."""

from pathlib import Path

import pytest

import compiler

PROGRAMS = sorted((Path(compiler.__file__).parents[1] / "suites" / "smoke").glob("*.sim.hlo"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_a_module_says_its_text(path):
    module = compiler.parse(path.read_text())
    assert str(module) == f"{module}" == compiler.to_text(module)
    assert compiler.parse(str(module)) == module
