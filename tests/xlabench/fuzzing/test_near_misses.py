"""Near misses of a program: one thing is another, what combines values stays, and loops may end elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from xlabench.fuzzing import near_misses, variation

_LOOP = """c { s = (u8[], f32[3], f32[3]) parameter(0) i = u8[] get-tuple-element(s), index=0 n = u8[] constant(6)
      ROOT r = pred[] compare(i, n), direction=LT }
    b { s = (u8[], f32[3], f32[3]) parameter(0) i = u8[] get-tuple-element(s), index=0
      x = f32[3] get-tuple-element(s), index=1 y = f32[3] get-tuple-element(s), index=2
      one = u8[] constant(1) j = u8[] add(i, one) z = f32[3] subtract(x, y)
      ROOT t = (u8[], f32[3], f32[3]) tuple(j, z, y) }
    ENTRY e { x = f32[3] parameter(0) y = f32[3] parameter(1) z = u8[] constant(0)
      t = (u8[], f32[3], f32[3]) tuple(z, x, y) ROOT w = (u8[], f32[3], f32[3]) while(t), condition=c, body=b }"""
_SUM = """add { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] add(a, b) z = f32[] constant(0)
      ROOT r = f32[] add(c, z) }
    ENTRY e { x = f32[4] parameter(0) z = f32[] constant(0)
      ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=add }"""


def made(change, text, times):
    module, rng = compiler.parse(text), np.random.default_rng(0)
    found = [change(module, rng) for _ in range(times)]
    return {compiler.to_text(one) for one in found if one is not None and variation.is_valid(one)}


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (near_misses.other_number, ["constant(2)", "constant(7)", "constant(5)", "constant(255)"]),
        (near_misses.other_opcode, ["add(x, y)", "maximum(x, y)"]),
        (near_misses.other_operand, ["subtract(y, x)", "tuple(j, y, z)", "tuple(i, z, y)", "subtract(x, x)"]),
        (near_misses.other_attribute, ["direction=LE", "direction=NE", "index=2"]),
    ],
)
def test_step_bound_state_and_comparison_of_a_loop_change_one_at_a_time(change, shown):
    texts = made(change, _LOOP, 200)
    assert all(any(one in text for text in texts) for one in shown)


@pytest.mark.parametrize(
    "change", [near_misses.other_number, near_misses.other_opcode, near_misses.other_operand], ids=lambda c: c.__name__
)
def test_what_combines_values_and_what_it_begins_with_stay(change):
    assert not made(change, _SUM, 20)


@pytest.mark.parametrize(
    ("line", "name", "near"),
    [
        ("all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=add", "replica_groups", "{{0,2},{1,3}}"),
        (
            "collective-permute(x), source_target_pairs={{0,1},{1,2},{2,0}}",
            "source_target_pairs",
            "{{0,2},{1,0},{2,1}}",
        ),
    ],
)
def test_devices_come_in_other_orders(line, name, near):
    text = f"""HloModule m, replica_count=4
      add {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }}
      ENTRY e {{ x = f32[2] parameter(0) ROOT r = f32[2] {line} }}"""
    assert any(f"{name}={near}" in one for one in made(near_misses.other_attribute, text, 100))


def test_pieces_are_taken_of_longer_arrays():
    text = """ENTRY e { x = f32[3,4] parameter(0) i = s32[] parameter(1) j = s32[] parameter(2)
      ROOT r = f32[1,4] dynamic-slice(x, i, j), dynamic_slice_sizes={1,4} }"""
    texts = made(near_misses.more_of_an_operand, text, 20)
    assert any("f32[6,4] concatenate" in one for one in texts)
    assert any("f32[3,8] concatenate" in one for one in texts)
    assert all("f32[1,4] dynamic-slice" in one for one in texts)
    assert not made(near_misses.more_of_an_operand, "ENTRY e { x = f32[3] parameter(0) ROOT r = f32[3] abs(x) }", 5)


def test_two_that_differ_in_one_attribute_stand_side_by_side():
    text = "ENTRY e { x = f32[3,3] parameter(0) ROOT r = f32[3,3] reverse(x), dimensions={0} }"
    texts = made(near_misses.another_beside, text, 50)
    assert any(one.count("reverse(") == 2 and "dimensions={0}" in one and "dimensions={1}" in one for one in texts)


def test_other_things_are_made_of_the_same_operands():
    text = "ENTRY e { x = f32[3] parameter(0) y = f32[3] parameter(1) ROOT r = pred[3] compare(x, y), direction=LE }"
    texts = made(near_misses.another_beside, text, 100)
    assert any("compare(x, y)" in one and "minimum(x, y)" in one for one in texts)


def test_the_same_is_done_once_more_to_other_operands_and_both_show():
    text = """ENTRY e { x = f32[4] parameter(0) a = f32[2] parameter(1) b = f32[2] parameter(2) i = s32[] parameter(3)
      y = f32[4] abs(x) ROOT r = f32[4] dynamic-update-slice(y, a, i) }"""
    texts = made(near_misses.once_more, text, 60)
    assert any("dynamic-update-slice(y, a, i)" in one and "dynamic-update-slice(y, b, i)" in one for one in texts)
    assert any("dynamic-update-slice(r, a, i)" in one for one in texts)
    assert all("tuple(r, " in one for one in texts)


def test_loops_run_once_more_by_the_same_computations():
    texts = made(near_misses.once_more, _LOOP, 60)
    assert any(one.count("body=b") == one.count("condition=c") == 2 and "while(w)" in one for one in texts)


def test_what_others_count_on_is_done_once():
    text = "ENTRY e { t = token[] after-all() x = f32[2] parameter(0) y = f32[2] parameter(1) {} }"
    sent = text.replace("{}", "ROOT o = token[] outfeed(x, t), outfeed_shape=f32[2]")
    assert not made(near_misses.once_more, sent, 20)


@pytest.mark.parametrize("caller", ["reduce(y, z), dimensions={0}", "reduce-window(y, z), window={size=2}"])
def test_what_combines_is_another_opcode_that_may_be_bracketed(caller):
    text = f"""most {{ a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] maximum(a, b) }}
      ENTRY e {{ x = s32[4] parameter(0) z = s32[] parameter(1) y = s32[4] subtract(x, x)
        ROOT r = s32[{"" if "dim" in caller else 3}] {caller}, to_apply=most }}"""
    texts = made(near_misses.other_combiner, text, 60)
    assert all(any(f"{opcode}(a, b)" in one for one in texts) for opcode in ("add", "and", "minimum", "or", "xor"))
    assert all("subtract(x, x)" in one for one in texts)
    assert not made(near_misses.other_combiner, _SUM, 20)
