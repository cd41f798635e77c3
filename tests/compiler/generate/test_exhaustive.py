"""Small programs come in a fixed order, and each is one, or is left out."""

from itertools import islice

import pytest

import compiler
from compiler.generate.exhaustive import BASES, Deviating, Packing, Small, small_programs, space_of

TYPES = ("f32", "s32", "pred")


def test_they_come_in_one_order_and_none_comes_twice():
    first, again = (list(islice(small_programs(TYPES), 3000)) for _ in range(2))
    assert first == again
    assert len(set(first)) == 3000
    assert first[0].base == BASES[0]


def test_what_is_banned_is_left_out():
    banned = frozenset({("abs", "f32")})
    assert ("abs", "f32") not in {(one.opcode, one.element_type) for one in islice(small_programs(TYPES, banned), 500)}


def test_one_decision_is_another_than_the_simplest():
    choices = Deviating(at=1, value=5)
    assert [choices.integer(0, 9), choices.integer(1, 3), choices.integer(2, 9)] == [0, 3, 2]
    assert choices.asked == [(0, 9), (1, 3), (2, 9)]
    assert not Deviating().more(0, 3)
    assert not Deviating(at=0, value=1).more(3, 3)


@pytest.mark.parametrize("opcode", ["abs", "reduce", "dot", "while", "sort"])
def test_programs_stand_side_by_side_in_a_valid_module(opcode):
    packing = Packing("m", space_of(TYPES, frozenset()))
    assert packing.add(Small(opcode, "f32", BASES[0]))
    assert packing.add(Small(opcode, "f32", BASES[1], second="negate", third="abs"))
    module = packing.finish()
    compiler.verify(module)
    assert len(module.entry.root.operands) == 2


def test_what_an_opcode_does_not_take_is_no_program():
    packing = Packing("m", space_of(TYPES, frozenset()))
    assert not packing.add(Small("cholesky", "s32", BASES[0]))
    assert packing.finish() is None
