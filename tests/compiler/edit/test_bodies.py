"""What instructions call: bodies in place of calls, one for all alike, without what nothing uses."""

import numpy as np
import pytest
from edited_programs import MAIN, TEXT

import compiler
from compiler import edit
from compiler.inputs import draw


@pytest.fixture
def module():
    module = compiler.parse(TEXT)
    compiler.verify(module)
    return module


def test_bodies_that_differ_in_names_alone_are_one():
    text = """HloModule m
f { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] BODY }
g { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] add(x, y) }
ENTRY e { p = f32[4] parameter(0)  i = f32[] constant(0)
  s = f32[] reduce(p, i), dimensions={0}, to_apply=f
  ROOT t = f32[4] reduce-window(p, s), window={size=2 pad=0_1}, to_apply=g }"""
    for body, count in (("add(a, b)", 2), ("add(b, a)", 3), ("add(a, a)", 3), ("multiply(a, b)", 3)):
        module = compiler.parse(text.replace("BODY", body))
        assert len(edit.share(module).module.computations) == count


def test_a_call_without_unused_arguments_has_what_its_body_uses(module):
    changed = edit.drop_arguments(module, [MAIN["b"]]).module
    (call,) = (i for i in changed.instructions() if i.opcode == "call")
    assert [operand.name for operand in call.operands] == ["a"]
    assert edit.unused_arguments(call) == []


def test_a_call_in_halves_gives_way_to_its_body(module):
    edited = edit.expand(module, {MAIN["began"]: 0}).module
    assert not [i for i in edited.instructions() if i.opcode.startswith("async")]
    inputs = draw(module, 0)
    expected, actual = (compiler.interpret(m, *inputs) for m in (module, edited))
    assert [result.tobytes() for result in actual] == [result.tobytes() for result in expected]


@pytest.mark.parametrize("dims", [(), (3,), (2, 1)])
def test_a_body_laid_open_is_a_map_of_it(module, dims):
    edited = edit.lay_open(module, MAIN["v"], 0, dims)
    compiler.verify(edited.module)
    root = edited.module.entry.root
    assert (root.opcode, root.array.dims) == ("map", dims)
    assert edited.sources == (("sum", "sum.a"), ("sum", "sum.b"))
    a, b = (np.full(dims, value, np.float32) for value in (1, 2))
    assert compiler.interpret(edited.module, a, b)[0].tolist() == (a + b).tolist()
    assert edit.lay_open(module, MAIN["v"], 1, dims) is None


def test_calls_in_what_is_called_are_expanded_at_once():
    text = """
    inner { x = f32[2] parameter(0) ROOT r = f32[2] negate(x) }
    outer { x = f32[2] parameter(0) c = f32[2] call(x), to_apply=inner ROOT r = f32[2] add(c, x) }
    ENTRY main { x = f32[2] parameter(0) ROOT c = f32[2] call(x), to_apply=outer }"""
    edited = edit.expand(compiler.parse(text), {("outer", "c"): 0, ("main", "c"): 0})
    compiler.verify(edited.module)
    assert [i.opcode for i in edited.module.entry.instructions] == ["parameter", "negate", "add"]
