"""Before anything is loaded the working directory is forgotten, where `python -m compiler` begins and nowhere else."""

import importlib
import signal
import sys
from pathlib import Path

import pytest

from compiler import startup

HERE = str(Path(startup.__file__).parents[1])


@pytest.fixture
def begun(monkeypatch):
    """The search path, and what Ctrl-C does, after a start with these arguments."""
    before = signal.getsignal(signal.SIGINT)

    def start(argv, original, path):
        monkeypatch.setattr(sys, "argv", argv)
        monkeypatch.setattr(sys, "orig_argv", original)
        monkeypatch.setattr(sys, "path", list(path))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        importlib.reload(startup)
        return sys.path, signal.getsignal(signal.SIGINT)

    yield start
    monkeypatch.undo()
    signal.signal(signal.SIGINT, before)
    importlib.reload(startup)


@pytest.mark.parametrize(
    "words", [["python", "-m", "compiler"], ["python", "-mcompiler"], ["python", "-I", "-m", "compiler.__main__"]]
)
def test_the_command_forgets_the_working_directory_and_ends_without_a_word(begun, words):
    path, interrupt = begun(["-m", "print", "a.hlo"], [*words, "print", "a.hlo"], ["/tmp", "/lib"])
    assert path == ["/lib"]
    assert interrupt is signal.SIG_DFL


def test_where_the_compiler_itself_lies_it_is_kept(begun):
    assert begun(["-m"], ["python", "-m", "compiler"], [HERE, "/lib"])[0] == [HERE, "/lib"]


@pytest.mark.parametrize(
    ("argv", "original"),
    [
        (["script.py"], ["python", "script.py"]),
        (["-m"], ["python", "-m", "other"]),
        (["-m", "compiler"], ["python", "-m", "other", "compiler"]),
        ([], ["python"]),
    ],
    ids=["a script", "another module", "another module that is given the word", "nothing"],
)
def test_whoever_else_imports_it_is_left_alone(begun, argv, original):
    path, interrupt = begun(argv, original, ["/tmp", "/lib"])
    assert path == ["/tmp", "/lib"]
    assert interrupt is signal.default_int_handler
