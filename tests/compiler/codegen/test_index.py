"""Index algebra: normal forms, division without divisions, and chains of data movement against the interpreter."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parts import every

import compiler
from compiler import CompileOptions
from compiler.codegen.index import Emission, Index, Variable, constant, digits, linear, reshape, whole
from compiler.codegen.llvm_ir import Builder, Module, Value
from compiler.codegen.nest import LoopNest, _loops
from compiler.generate import RandomChoices, Space, program
from compiler.generate.choices import Choices
from compiler.inputs import draw

MOVES = frozenset({"reshape", "transpose", "broadcast", "slice", "pad", "concatenate", "reverse", "dynamic-slice",
                   "dynamic-update-slice", "iota", "negate", "bitcast-convert", "convert"})  # fmt: skip


def emission() -> Emission:
    module = Module()
    return Emission(Builder(module.function("f", "void", [])))


def variable(size: int) -> Variable:
    return Variable(Value("i64", f"%v{size}"), size)


def test_digits_add_up_to_their_variable() -> None:
    whole_ = variable(2 * 3 * 5)
    assert linear(digits(whole_, (2, 3, 5)), (2, 3, 5)) == whole(whole_)


def test_a_variable_without_choice_is_zero() -> None:
    assert whole(variable(1)) == constant(0)
    assert digits(variable(6), (1, 6))[0] == constant(0)


def test_opposite_terms_vanish() -> None:
    one = whole(variable(7))
    assert one + one.times(-1) == Index()
    assert one.times(3).plus(2) + one.times(-3) == constant(2)


def test_bounds_hold_for_negative_factors() -> None:
    index = whole(variable(4)).times(-2) + whole(variable(3)).times(5).plus(1)
    assert index.bounds() == (1 - 6, 1 + 10)


@pytest.mark.parametrize("sizes", [(2, 3), (4, 1, 5), (7,), (2, 2, 2, 3)])
def test_a_reshape_there_and_back_costs_no_division(sizes: tuple[int, ...]) -> None:
    out = emission()
    loop = whole(variable(int(np.prod(sizes))))
    there = reshape(out, (loop,), (int(np.prod(sizes)),), sizes)
    assert reshape(out, there, sizes, (int(np.prod(sizes)),)) == [loop]
    assert not out.builder.function.lines[1:]


@pytest.mark.parametrize(("factor", "narrow"), [(1000, True), (1 << 20, False)])
def test_narrow_indices_are_computed_in_32_bits_where_these_hold_them(factor: int, narrow: bool) -> None:  # noqa: FBT001
    for asked in (False, True):
        here = emission()
        here.narrow = asked
        index = whole(variable(5000)).times(factor) + whole(variable(7)).plus(-3)
        assert here.value(index).type == "i64"
        assert any(" i32 " in line for line in here.builder.function.lines) == (asked and narrow)


def test_division_of_what_straddles_is_done_at_run_time() -> None:
    out = emission()
    quotient, remainder = out.divide(whole(variable(10)).plus(1), 4)
    assert quotient.bounds() == (0, 2)
    assert any("udiv" in line for line in out.builder.function.lines)
    assert remainder + quotient.times(4) == whole(variable(10)).plus(1) or remainder.terms


@pytest.mark.parametrize(
    ("size", "cuts"), [(24, {6}), (24, {2, 6, 12}), (24, {5}), (1, set()), (7, {7, 1}), (12, {4, 6})]
)
def test_loops_cover_the_group(size: int, cuts: set[int]) -> None:
    loops = _loops(size, cuts)
    assert int(np.prod(loops)) == size
    group = LoopNest(size, loops)
    counts = itertools.product(*map(range, loops))
    assert [group.combine([constant(c) for c in point]).constant for point in counts] == list(range(size))


class Drawn(Choices):
    """Choices made by Hypothesis, so that a failing program shrinks."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data

    def integer(self, low: int, high: int) -> int:
        return self.data.draw(st.integers(low, high))

    def more(self, drawn: int, most: int) -> bool:
        return drawn < most and self.data.draw(st.booleans())


def check(module: compiler.Module, seed: int) -> None:
    inputs = draw(module, seed)
    expected = compiler.interpret(module, *inputs)
    for options in (CompileOptions(opt=1, threads=1), CompileOptions(opt=1, threads=1, fusion=False)):
        actual = compiler.compile(module, "cpu", options)(*inputs)
        for left, right in zip(expected, actual, strict=True):
            np.testing.assert_array_equal(left, right)


@pytest.mark.slow
@settings(max_examples=30, derandomize=True)
@given(st.data())
def test_chains_of_data_movement_move_data_right(data: st.DataObject) -> None:
    space = Space(MOVES, frozenset({"s32", "s16"}), most_instructions=8, most_elements=600, empty_percent=3)
    check(program(Drawn(data), space), 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", every(3, range(60)))
def test_long_random_chains_of_data_movement_move_data_right(seed: int) -> None:
    space = Space(MOVES, frozenset({"s32", "u8"}), most_instructions=20, most_elements=2000, empty_percent=1)
    check(program(RandomChoices(1000 + seed), space), seed)
