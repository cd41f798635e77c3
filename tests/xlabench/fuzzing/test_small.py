"""The profile `exhaustive`: every small program has its place in one pack, whatever the shards are."""

from __future__ import annotations

from collections import Counter

import pytest

import compiler
from compiler.generate import RECIPES, Packing, Small, space_of
from compiler.generate.exhaustive import BASES, COMMON
from xlabench.fuzzing import small

ALL = frozenset[tuple[str, str]]()


@pytest.mark.parametrize("shards", [1, 3])
def test_every_program_is_in_one_pack_of_one_shard(shards):
    known, order = small._order(ALL)
    assert sorted(order) == list(range(len(known))) == list(range(small.count(ALL)))
    places = [n * shards + shard for shard in range(shards) for n in range(small.packs(ALL, shards))]
    assert sorted(places)[: -(-len(known) // small.PACK)] == list(range(-(-len(known) // small.PACK)))


def test_every_opcode_comes_alone_and_behind_every_other():
    known, _ = small._order(ALL)
    assert {one.opcode for one in known if not one.second} == set(RECIPES)
    behind = Counter(
        one.second for one in known if one.opcode == "transpose" and one.element_type == "f32" and not one.third
    )
    assert set(behind) - {""} == set(RECIPES)
    forms = [one for one in known if (one.opcode, one.element_type, one.second) == ("transpose", "f32", "")]
    assert len(forms) > 12
    assert {one.base for one in forms} == set(BASES)


def test_common_opcodes_come_three_in_a_row_in_every_order():
    known, _ = small._order(ALL)
    rows = [(one.opcode, one.second, one.third) for one in known if one.third and one.element_type == "s32"]
    assert len(rows) == len(set(rows)) == len(COMMON) ** 3
    packing = Packing("m", space_of(("f32", "s32", "pred"), ALL))
    assert packing.add(Small("broadcast", "f32", (2, 3, 4), second="transpose", third="reduce"))
    module = packing.finish()
    compiler.verify(module)
    assert [i.opcode for i in module.entry.instructions if i.opcode in COMMON] == ["broadcast", "transpose", "reduce"]


def test_packs_are_programs_and_the_same_whenever_they_are_drawn():
    drawing = {"banned": [], "shard": [1, 2], "seed": 3}
    for number in range(0, 300, 60):
        case = small.drawer(drawing)(number)
        compiler.verify(case.module)
        assert len(case.others) == small._CALLS
        again = small.drawer(drawing)(number)
        assert compiler.to_text(again.module) == compiler.to_text(case.module)


def test_what_is_banned_is_in_no_program():
    banned = frozenset({("negate", "f32")})
    space = space_of(("f32", "s32", "pred"), banned)
    packing = Packing("m", space)
    assert not packing.add(Small("negate", "f32", (2, 3, 4)))
    assert packing.finish() is None
    assert packing.add(Small("negate", "s32", (2, 3, 4)))
