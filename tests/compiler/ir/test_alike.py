"""Numbers of instructions and bodies: equal for what means the same, whatever its names and notes."""

import pytest

import compiler
from compiler.ir.alike import Numbering

BODIES = "f {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] {f} }} g {{ x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] {g} }}"  # noqa: E501
ENTRY = (
    " ENTRY main { p = f32[] parameter(0)  q = f32[] call(p, p), to_apply=f  ROOT r = f32[] call(q, p), to_apply=g }"
)


def numbers(f, g):
    """The numbers of two bodies, and of the two calls of them."""
    module = compiler.parse(BODIES.format(f=f, g=g) + ENTRY)
    numbering = Numbering()
    bodies = [numbering.body(computation) for computation in module.computations[:2]]
    calls = [numbering.operation(i) for i in module.entry.instructions if i.opcode == "call"]
    return bodies, calls


@pytest.mark.parametrize(
    ("f", "g"), [("add(a, b)", "add(x, y)"), ("add(a, b)", 'add(x, y), metadata={op_name="other"}')]
)
def test_names_and_notes_do_not_count(f, g):
    for first, second in numbers(f, g):
        assert first == second


@pytest.mark.parametrize("g", ["add(y, x)", "add(x, x)", "multiply(x, y)", "constant(0)", "constant(-0)"])
def test_everything_else_does(g):
    for f in ("add(a, b)", "constant(0)"):
        if f != g:
            for first, second in numbers(f, g):
                assert first != second
