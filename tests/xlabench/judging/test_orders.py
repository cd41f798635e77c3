"""A reduction in another order is one by a tree over its elements in their order, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from xlabench.engines import engine
from xlabench.judging import orders
from xlabench.judging.judge import Standard, judge
from xlabench.judging.liberties import runs

AFFINE = """f { a = s32[] parameter(0) b = s32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3)
  m = s32[] multiply(a, c) n = s32[] multiply(b, c) o = s32[] add(n, d) ROOT t = (s32[], s32[]) tuple(m, o) }
ENTRY e { x = s32[3,5,4] parameter(0) y = s32[3,5,4] parameter(1) o = s32[] constant(1) z = s32[] constant(0)
  ROOT r = (s32[5], s32[5]) reduce(x, y, o, z), dimensions={2,0}, to_apply=f }"""
OTHER = """f {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] {body} }}
ENTRY e {{ x = f32[6] parameter(0) z = f32[] constant(0) ROOT r = f32[] reduce(x, z), dimensions={{0}}, to_apply=f }}"""

GREATER = """greater {{ a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] parameter(3)
  above = pred[] compare(a, b), direction=GT  equal = pred[] compare(a, b), direction=EQ
  earlier = pred[] compare(i, j), direction=LT  first = pred[] and(equal, earlier)  chosen = pred[] or(above, first)
  value = f32[] select(chosen, a, b)  index = s32[] select(chosen, i, j)  ROOT r = (f32[], s32[]) tuple(value, index) }}
ENTRY e {{ x = f32[5,{size}] parameter(0)  i = s32[5,{size}] iota(), iota_dimension=1  least = f32[] constant(-inf)
  none = s32[] constant(0)
  ROOT r = (f32[5], s32[5]) reduce(x, i, least, none), dimensions={{1}}, to_apply=greater }}"""


def test_a_monoid_gives_the_same_by_every_tree():
    module = compiler.parse(AFFINE)
    inputs = [np.random.default_rng(n).integers(-9, 9, (3, 5, 4)).astype(np.int32) for n in range(2)]
    expected = compiler.interpret(module, *inputs)
    for found in runs(module, inputs, ["order"], 12):
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(one, other)


def test_what_is_no_monoid_depends_on_the_tree():
    module, x = compiler.parse(OTHER.format(body="subtract(a, b)")), np.float32([1, 2, 4, 8, 16, 32])
    found = {float(result) for (result,) in runs(module, [x], ["order"], 40)}
    assert -63 in found
    assert len(found) > 4
    assert all(abs(one) <= 63 for one in found)


@pytest.mark.parametrize(
    ("body", "is_open"),
    [("add(b, a)", False), ("maximum(a, b)", False), ("add(b, b)", True), ("divide(a, b)", True), ("copy(a)", True)],
)
def test_of_sums_and_their_like_bounds_know_what_any_order_gives(body, is_open):
    assert orders.is_open(compiler.parse(OTHER.format(body=body)).entry.root) is is_open


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["cpu", "cpu:opt=0", "cpu:backwards=on,threads=2,share_all=on", "nvptx:sim"])
@pytest.mark.parametrize("size", [9, 33, 129])
def test_an_argmax_that_loses_a_nan_is_right_in_the_order_of_every_engine_and_no_other_element_is(spec, size):
    module = compiler.parse(GREATER.format(size=size))
    subject, rng, verdicts = engine(spec).compile(module), np.random.default_rng(size), set()
    for some in (1, 2, 4, size // 3):
        x = rng.standard_normal((5, size)).astype(np.float32)
        for row in x:
            row[rng.integers(0, size, some)] = np.nan
        expected, actual = compiler.interpret(module, x), list(subject(x))
        verdicts.add(judge(module, [x], expected, actual, Standard()).verdict)
        never = np.argmin(np.where(np.isnan(x), np.inf, x), axis=1)
        changed = [x[np.arange(5), never], never.astype(np.int32)]
        assert judge(module, [x], expected, changed, Standard()).verdict == "wrong"
    assert "undecided" in verdicts or spec != "nvptx:sim"
    assert "wrong" not in verdicts


@pytest.mark.parametrize("index", [0, 7, 3])
def test_where_an_initial_value_is_as_great_as_an_element_either_number_is_right(index):
    module = compiler.parse(
        GREATER.format(size=1).replace("or(above, first)", "or(above, equal)").replace("constant(0)", "constant(7)")
    )
    x = np.full((5, 1), -np.inf, np.float32)
    expected = compiler.interpret(module, x)
    actual = [expected[0], np.full(5, index, np.int32)]
    verdict = judge(module, [x], expected, actual, Standard()).verdict
    right = {0: "undecided", 7: "undecided", int(expected[1][0]): "bitwise"}
    assert verdict == right.get(index, "wrong")
