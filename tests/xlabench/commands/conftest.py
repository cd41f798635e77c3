"""An engine whose results a test makes up, and a file with a program."""

import sys
from types import SimpleNamespace

import pytest
from one_program import PROGRAM

import compiler
from xlabench import engines


@pytest.fixture
def scripted(monkeypatch):
    """An engine `scripted` that does to the right results, or instead of them, what the test says."""

    def install(change):
        def compile_module(module):
            return lambda *inputs: change(compiler.interpret(module, *inputs))

        def create(spec, options, *, dump_to):
            return SimpleNamespace(spec=spec, compile=compile_module)

        module = SimpleNamespace(OPTIONS={}, DEVICES=(), create=create)
        monkeypatch.setitem(sys.modules, "scripted_engine", module)
        monkeypatch.setitem(engines.ENGINES, "scripted", "scripted_engine")

    return install


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "m.hlo"
    path.write_text(PROGRAM)
    return path
