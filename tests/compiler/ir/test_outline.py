"""What is moved into a fusion computes what it did; what it needs comes in, and single numbers are copied along."""

import numpy as np

import compiler
from compiler.ir.outline import outline

TEXT = """ENTRY e { x = f32[3] parameter(0)  y = f32[3] parameter(1)  one = f32[] constant(1)
  ones = f32[3] broadcast(one), dimensions={}
  a = f32[3] add(x, ones)  b = f32[3] multiply(a, y)  c = f32[3] subtract(b, x)
  ROOT t = (f32[3], f32[3]) tuple(b, c) }"""


def moved(members, roots):
    module = compiler.parse(TEXT)
    named = {i.name: i for i in module.entry.instructions}
    return module, named, outline(module, [named[n] for n in members], [named[n] for n in roots], "kLoop")


def test_one_root_is_the_fusions_value():
    module, named, fusion = moved(["ones", "a", "b"], ["b"])
    named["b"].replace_uses_with(fusion)
    module.entry.sort()
    compiler.verify(module)
    inputs = [np.array([1, 2, 3], np.float32)] * 2
    expected = compiler.interpret(TEXT, *inputs)
    assert [r.tolist() for r in compiler.interpret(module, *inputs)] == [r.tolist() for r in expected]


def test_operands_come_in_once_and_single_numbers_are_copied():
    _, named, fusion = moved(["ones", "a", "b", "c"], ["c"])
    assert fusion.operands == (named["x"], named["y"])
    assert sum(i.opcode == "constant" for i in fusion.attributes["calls"].instructions) == 1


def test_several_roots_are_a_tuple_in_their_order():
    _, named, fusion = moved(["ones", "a", "b", "c"], ["c", "b"])
    assert [root.opcode for root in fusion.attributes["calls"].root.operands] == ["subtract", "multiply"]
    assert str(fusion.shape) == "(f32[3], f32[3])"
    assert named["t"].operands == (named["b"], named["c"])
