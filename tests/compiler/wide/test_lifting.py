"""The lifted program has f64 for floats and c128 for complex numbers, and knows what it was made of."""

import pytest

import compiler
from compiler.ir.types import TYPES
from compiler.wide.lifting import lift, lift_type

TEXT = """twice { p = bf16[] parameter(0)  ROOT q = bf16[] add(p, p) }
ENTRY e { x = (bf16[2], s8[2]) parameter(0)  a = bf16[2] get-tuple-element(x), index=0
  k = (bf16[], s32[]) constant((0.1, 7))  c = bf16[] get-tuple-element(k), index=0
  b = bf16[2] broadcast(c), dimensions={}  m = bf16[2] map(a), dimensions={0}, to_apply=twice
  ROOT r = bf16[2] multiply(m, b) }"""


@pytest.mark.parametrize("name", [name for name, type_ in TYPES.items() if type_.bits])
def test_only_numbers_with_fractions_are_lifted(name):
    type_ = TYPES[name]
    expected = "c128" if type_.is_complex else "f64" if type_.is_float else name
    assert lift_type(type_).name == expected


def test_every_instruction_knows_the_one_that_it_was_made_of():
    module = compiler.parse(TEXT)
    before = compiler.to_text(module)
    lifted, originals = lift(module)
    assert compiler.to_text(module) == before
    assert [originals[i].name for i in lifted.instructions()] == [i.name for i in module.instructions()]
    assert "bf16" not in compiler.to_text(lifted).replace("module", "")
    assert str(lifted.entry.parameters[0].shape) == "(f64[2], s8[2])"


def test_constants_keep_the_value_that_their_own_type_has():
    lifted, _ = lift(compiler.parse(TEXT))
    (constant,) = (i for i in lifted.entry.instructions if i.opcode == "constant")
    first, second = constant.literal.elements
    assert (first.array, second.array) == (0.10009765625, 7)
