"""Of several NaN an argmax takes the first, as NumPy's, in whatever order lanes and threads combine."""

import re

import numpy as np
import pytest

import compiler
from compiler.ir.rewrite import Fuel
from compiler.passes import reduction_normalization

REDUCER = """choice {{ a = {t}[] parameter(0) i = {n}[] parameter(1) b = {t}[] parameter(2) j = {n}[] parameter(3)
  beyond = pred[] compare(a, b), direction={direction} no = pred[] compare(a, a), direction=NE
  taken = pred[] or(beyond, no) equal = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT tie = pred[] and(equal, before) chosen = pred[] or(taken, tie)
  value = {t}[] select(taken, a, b) number = {n}[] select(chosen, i, j)
  ROOT both = ({t}[], {n}[]) tuple(value, number) }}
"""
NUMPYS = {"GT": (np.argmax, "-inf"), "LT": (np.argmin, "inf")}
SHAPES = [((4, 8), 1), ((3, 100), 1), ((70, 17), 1), ((1000,), 0), ((37, 70), 0), ((3, 50, 20), 1), ((200, 4), 0)]


def text(dims, axis, direction="GT", types=("f32", "s32"), start=None, along=None):
    """An argmax over one dimension, of which only the numbers are a result."""
    given, numbered = (f"{t}[{','.join(map(str, dims))}]" for t in types)
    kept = ",".join(str(size) for n, size in enumerate(dims) if n != axis)
    t, n = types
    return f"""{REDUCER.format(t=t, n=n, direction=direction)}
    ENTRY main {{ x = {given} parameter(0) at = {numbered} iota(), iota_dimension={axis if along is None else along}
      worst = {t}[] constant({start or NUMPYS[direction][1]}) none = {n}[] constant(0)
      r = ({t}[{kept}], {n}[{kept}]) reduce(x, at, worst, none), dimensions={{{axis}}}, to_apply=choice
      ROOT number = {n}[{kept}] get-tuple-element(r), index=1 }}"""


def drawn(dims, dtype=np.float32):
    rng = np.random.default_rng(dims)
    return np.where(rng.random(dims) < 0.2, np.nan, rng.integers(-3, 4, dims)).astype(dtype)


@pytest.mark.parametrize(("dims", "axis"), SHAPES, ids=str)
@pytest.mark.parametrize("direction", NUMPYS)
def test_the_first_of_several_nan_is_taken(dims, axis, direction, gpu):
    x, program = drawn(dims), text(dims, axis, direction)
    for run in (compiler.compile(program), lambda x: gpu(program, x)):
        np.testing.assert_array_equal(run(x)[0], NUMPYS[direction][0](x, axis))


@pytest.mark.parametrize("types", [("f64", "s64"), ("f16", "u32"), ("f32", "s8")])
def test_whatever_the_types(types):
    module = compiler.parse(text((3, 100), 1, types=types))
    x = drawn((3, 100), module.entry.parameters[0].array.element_type.dtype)
    (found,) = compiler.compile(module)(x)
    np.testing.assert_array_equal(found, np.argmax(x, 1))


@pytest.mark.parametrize(("dims", "axis"), [((64, 512), 1), ((100, 64), 0), ((300, 4), 0)], ids=str)
def test_elements_that_come_in_their_order_are_not_asked_for_their_numbers(dims, axis):
    """Lanes that are combined in the end, and start values, may have the lesser number on the right."""
    code = compiler.compile(text(dims, axis), options=compiler.CompileOptions(opt=0)).artifacts["ir-no-opt.ll"]
    blocks = {block.partition(":")[0]: block for block in re.split(r"\n(?=[\w.]+:\n)", code)}
    step, *_ = (block for name, block in blocks.items() if f"label %{name}," in block and "fcmp ogt" in block)
    assert "smin" not in step


def rewritten(program):
    fuel = Fuel()
    reduction_normalization.run(compiler.parse(program), fuel)
    return [rewrite.rule for rewrite in fuel.rewrites]


def test_the_numbers_say_the_order_or_nothing_is_done():
    assert rewritten(text((3, 100), 1)) == ["order by numbers"]
    assert rewritten(text((3, 100), 1, along=0)) == []
    assert rewritten(text((3, 200), 1, types=("f32", "s8"))) == []
    assert rewritten(text((3, 100), 1, start="nan")) == []
    assert rewritten(text((3, 100), 1).replace("select(chosen, i, j)", "add(i, j)")) == []


@pytest.mark.parametrize("shown", [False, True])
def test_zeros_of_a_value_that_somebody_sees_keep_their_order(shown):
    """JAX gives the value a name that nobody uses."""
    program = text((3, 100), 1).replace(
        "ROOT number = s32[3] get-tuple-element(r), index=1",
        "value = f32[3] get-tuple-element(r), index=0 number = s32[3] get-tuple-element(r), index=1"
        + (" ROOT all = (f32[3], s32[3]) tuple(value, number)" if shown else " ROOT only = s32[3] copy(number)"),
    )
    assert rewritten(program) == ([] if shown else ["order by numbers"])
