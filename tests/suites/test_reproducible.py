"""Every program of the suites comes to the same code each time, in whatever order sets of instructions are walked.

Instructions are hashed by where they lie in memory, which differs from run to run.  Here their hashes count up in one
compilation and down in the next: each set that fits its table is walked the other way round.
"""

import pytest

import compiler
from compiler.ir.module import Computation, Instruction
from xlabench.cases import programs
from xlabench.cases.suite import known_suites, load_suite

PATHS = {program.name: program.path for name in known_suites() for program in load_suite(name).programs}
OPTIONS = {"cpu": compiler.CompileOptions(threads=2, opt=0), "nvptx": compiler.CompileOptions(device="sim")}
_LARGEST = (1 << 60) - 1


class Numbered:
    """Hashes by the order in which objects are first asked for theirs."""

    def __init__(self, *, upwards):
        self.upwards = upwards
        self.objects = {}

    def __call__(self, asked):
        number, _ = self.objects.setdefault(id(asked), (len(self.objects), asked))
        return number if self.upwards else _LARGEST - number


def artifacts(text, backend, numbered, monkeypatch):
    with monkeypatch.context() as patch:
        for class_ in (Instruction, Computation):
            patch.setattr(class_, "__hash__", lambda self: numbered(self))
        found = compiler.compile(text, backend, OPTIONS[backend]).artifacts
    return {name: value for name, value in found.items() if isinstance(value, str)}


@pytest.mark.slow
@pytest.mark.parametrize("backend", OPTIONS)
@pytest.mark.parametrize("name", PATHS)
def test_the_same_text_comes_to_the_same_code(name, backend, monkeypatch):
    text = programs.read_text(PATHS[name])
    one, other = (artifacts(text, backend, Numbered(upwards=upwards), monkeypatch) for upwards in (True, False))
    assert [name for name in one if one[name] != other[name]] == []
