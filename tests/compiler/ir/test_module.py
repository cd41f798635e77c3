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


_IN_ORDER = """ENTRY e {
    a = f32[] parameter(0)
    b = f32[] negate(a)
    c = f32[] abs(a)
    d = f32[] exponential(a), control-predecessors={c}
    ROOT r = (f32[], f32[]) tuple(b, d) }"""


@pytest.mark.parametrize(
    ("moved", "to", "order"),
    [
        ("a", 0, "a b c d r"),
        ("b", 2, "a c b d r"),
        ("b", 4, "a c d b r"),
        ("d", 2, "a b c d r"),
        ("a", 4, "a b c d r"),
        ("r", 0, "a b c d r"),
    ],
)
def test_sorting_moves_what_stands_before_its_operands_or_what_it_awaits_and_nothing_else(moved, to, order):
    computation = compiler.parse(_IN_ORDER).entry
    instruction = next(i for i in computation.instructions if i.name == moved)
    computation.instructions.remove(instruction)
    computation.instructions.insert(to, instruction)
    computation.sort()
    assert " ".join(i.name for i in computation.instructions) == order
