"""The place of a NaN is open, and nothing else."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from wide_results import wide

import compiler
from compiler.ops import sorting
from compiler.wide.numbers import Wide
from compiler.wide.order import near_others


def test_the_place_of_a_nan_in_the_total_order_is_undecided() -> None:
    lines = ("x = f32[2] parameter(0)", "y = f32[2] sqrt(x)")
    end = "ROOT r = pred[2] compare(x, y), direction=LT, type=TOTALORDER"
    (result,) = wide(*lines, end, inputs=(np.array([-4, 0.25], np.float32),))
    assert result.undecided.tolist() == [True, False]


def test_the_place_of_a_nan_among_the_first_is_undecided() -> None:
    lines = ("x = bf16[2,3] parameter(0)", "y = f16[2,3] bitcast-convert(x)")
    end = "ROOT r = (f16[2,1], s32[2,1]) topk(y), k=1"
    values, places = wide(*lines, end, inputs=(np.array([[1, -np.nan, 2], [1, 2, 3]], ml_dtypes.bfloat16),))
    assert values.undecided.tolist() == places.undecided.tolist() == [[True], [False]]


def test_what_a_comparator_orders_in_a_circle_is_undecided() -> None:
    """Each of 0, 1 and 2 comes before the next, modulo 3; of two there is an order, of three there is none."""
    beats = """beats { a = s32[] parameter(0) b = s32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3)
      n = s32[] constant(3) one = s32[] constant(1) p = s32[] subtract(b, a) q = s32[] add(p, n)
      s = s32[] remainder(q, n)
      ROOT r = pred[] compare(s, one), direction=EQ }"""
    text = f"""{beats} ENTRY e {{ x = s32[2,3] parameter(0) y = s32[2,3] parameter(1)
      ROOT r = (s32[2,3], s32[2,3]) sort(x, y), dimensions={{1}}, is_stable=true, to_apply=beats }}"""
    rows = np.array([[2, 1, 0], [1, 0, 0]], np.int32)
    for result in compiler.interpret(compiler.parse(text), rows, rows, wide=True):
        assert result.undecided.tolist() == [[True] * 3, [False] * 3]


@pytest.mark.parametrize("length", [3, 9, 200])
def test_rows_that_are_not_in_order_although_there_is_one_are_held_against_whoever_sorted_them(length, monkeypatch):
    """A comparator that is no order excuses any result; a reference that does not sort by one that is, excuses none."""
    before = """before { a = s32[] parameter(0) b = s32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3)
      l = pred[] compare(a, b), direction=LT e = pred[] compare(a, b), direction=EQ
      g = pred[] compare(c, d), direction=GT m = pred[] and(e, g) ROOT r = pred[] or(l, m) }"""
    rows = np.stack([np.arange(length)[::-1] % 5, np.arange(length) // 3]).astype(np.int32)
    text = f"""{before} ENTRY e {{ x = s32[2,{length}] parameter(0) y = s32[2,{length}] parameter(1)
      ROOT r = (s32[2,{length}], s32[2,{length}]) sort(x, y), dimensions={{1}}, is_stable=true, to_apply=before }}"""
    monkeypatch.setattr(sorting, "_merge_ranks", lambda _computation, rows, *_: np.zeros(rows[0].shape))
    for result in compiler.interpret(compiler.parse(text), rows, rows[::-1].copy(), wide=True):
        assert not result.undecided.any()


def test_rows_ordered_by_a_computed_nan_are_undecided_whatever_comes_after_it() -> None:
    """A comparator that compares in total order first, and then by what goes along."""
    before = """before { a = f32[] parameter(0) b = f32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3)
      l = pred[] compare(a, b), direction=LT, type=TOTALORDER e = pred[] compare(a, b), direction=EQ, type=TOTALORDER
      g = pred[] compare(c, d), direction=GT m = pred[] and(e, g) ROOT r = pred[] or(l, m) }"""
    for made, is_open in (("sqrt(x)", [[True] * 2, [False] * 2]), ("copy(x)", [[False] * 2] * 2)):
        lines = ("x = f32[2,2] parameter(0)", f"y = f32[2,2] {made}", "i = s32[2,2] iota(), iota_dimension=1")
        end = "ROOT r = (f32[2,2], s32[2,2]) sort(y, i), dimensions={1}, is_stable=true, to_apply=before"
        given = np.array([[4, -4], [1, 4]], np.float32)
        for result in wide(*lines, end, inputs=(given,), computations=before):
            assert result.undecided.tolist() == is_open


def test_which_of_several_zeros_that_may_have_either_sign_is_first_is_undecided() -> None:
    given = (np.array([[0.0, -0.0, 5], [0.0, 1, 5]], np.float32),)
    for made, is_open in (("maximum(x, x)", [[True], [False]]), ("copy(x)", [[False]] * 2)):
        lines = ("x = f32[2,3] parameter(0)", f"y = f32[2,3] {made}")
        end = "ROOT r = (f32[2,1], s32[2,1]) topk(y), k=1, largest=false"
        values, numbers = wide(*lines, end, inputs=given)
        assert not values.undecided.any()
        assert numbers.undecided.tolist() == is_open


def test_what_goes_along_with_such_zeros_is_undecided_and_nothing_else() -> None:
    before = """before { a = f32[] parameter(0) b = f32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3)
      ROOT l = pred[] compare(a, b), direction=LT, type=TOTALORDER }"""
    given = (np.array([[5, 0.0, -0.0], [0.0, 1, 5]], np.float32),)
    for made, is_open in (("maximum(x, x)", [[True, True, False], [False] * 3]), ("copy(x)", [[False] * 3] * 2)):
        lines = ("x = f32[2,3] parameter(0)", f"y = f32[2,3] {made}", "i = s32[2,3] iota(), iota_dimension=1")
        end = "ROOT r = (f32[2,3], s32[2,3]) sort(y, i), dimensions={1}, is_stable=true, to_apply=before"
        keys, numbers = wide(*lines, end, inputs=given, computations=before)
        assert not keys.undecided.any()
        assert numbers.undecided.tolist() == is_open


def test_sums_that_devices_exchange_have_zeros_of_either_sign_in_total_order_too() -> None:
    text = """HloModule m, replica_count=2
    add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
    ENTRY e { x = f32[3] parameter(0)  y = f32[3] all-reduce(x), to_apply=add
      ROOT r = (f32[1], s32[1]) topk(y), k=1, largest=false }"""
    inputs = [np.array([0.0, -0.0, 5], np.float32)] * 2
    values, numbers, *_ = compiler.interpret(compiler.parse(text), *inputs, wide=True)
    assert (values.undecided.any(), numbers.undecided.all()) == (False, True)


@pytest.mark.parametrize("errors", [(0.0,), (0.0, 0.5), (0.0, 0.5, 1.0, 2.0, np.inf)])
def test_elements_are_near_others_as_they_are_in_pairs(errors) -> None:
    rng = np.random.default_rng(len(errors))
    numbers = np.array([0.0, -0.0, 1, 1, 2, 3, -1, 5, 8, np.inf, -np.inf, np.nan])
    for _ in range(300):
        size = int(rng.integers(8))
        rows = Wide(rng.choice(numbers, (2, size)), rng.choice(errors, (2, size)))
        with np.errstate(all="ignore"):
            apart = np.abs(rows.value[:, None, :] - rows.value[:, :, None])
            reach = rows.error[:, None, :] + rows.error[:, :, None]
            found = near_others(rows)
        in_pairs = (~(apart > reach) & (reach > 0) & ~np.eye(size, dtype=np.bool_)).any(axis=-1)
        np.testing.assert_array_equal(found, in_pairs)


def test_of_many_elements_no_pairs_are_made() -> None:
    """They took 200 ms and as many bytes as there are pairs in a campaign's programs."""
    many = 1 << 17
    near = near_others(Wide(np.arange(many) * 3.0, np.where(np.arange(many) == 5, 3.0, 0.0)))
    assert np.flatnonzero(near).tolist() == [4, 5, 6]
