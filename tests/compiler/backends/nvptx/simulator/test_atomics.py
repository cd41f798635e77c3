"""Lanes that update one place do so one after the other, and each gets the value before its own."""

import numpy as np
import pytest

OPERATIONS = {
    "add.u32": lambda old, n: old + n,
    "min.s32": min,
    "max.u32": max,
    "and.b32": lambda old, n: old & n,
    "or.b32": lambda old, n: old | n,
    "xor.b32": lambda old, n: old ^ n,
    "exch.b32": lambda old, n: n,
    "inc.u32": lambda old, n: 0 if old >= n else old + 1,
    "dec.u32": lambda old, n: n if old == 0 or old > n else old - 1,
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("start", [0, 5, 40])
def test_one_place_is_updated_by_all_lanes_one_after_another(run_body, name, start):
    array = np.full(64, start, np.uint32)
    left = run_body(f" atom.global.{name} %x, [%o], %i;", array, ending="")
    expected = start
    for lane in range(64):
        expected = OPERATIONS[name](expected, lane)
    assert left[0] == expected
    assert left[1:].tolist() == array[1:].tolist()


def test_every_lane_gets_what_was_there_before_it(run_body):
    text = " atom.global.add.u32 %x, [%o], 1; add.u32 %x, %x, 100; setp.ne.u32 %p, %i, 0;"
    left = run_body(text, ending="@%p st.global.u32 [%a], %x;")
    assert sorted(left[1:].tolist()) == list(range(101, 164))
    assert left[0] == 64


def test_a_place_is_swapped_where_it_is_what_was_expected(run_body):
    text = " setp.eq.u32 %p, %i, 7; mov.u32 %x, 0; @%p atom.global.cas.b32 %x, [%o], 0, 9;"
    assert run_body(text, ending="")[0] == 9
    assert run_body(text.replace("[%o], 0", "[%o], 1"), ending="")[0] == 0


def test_an_update_without_a_result_does_the_same(run_body):
    assert run_body(" red.global.add.u32 [%o], %i;", ending="")[0] == sum(range(64))
