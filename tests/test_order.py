"""Elements are combined in their order: reducers that are associative and no more rely on it (StableHLO, reduce).

Such are the composition of affine functions, and the last number that is not 0, wherever a lane or a thread begins.
"""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.backends.nvptx.kernels.row import kernel as gpu_row
from xlabench.engines import engine

LAST = """f { a = s32[] parameter(0) b = s32[] parameter(1) z = s32[] constant(0)
  p = pred[] compare(b, z), direction=NE ROOT s = s32[] select(p, b, a) }"""
AFFINE = """f { a = s32[] parameter(0) b = s32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3)
  m = s32[] multiply(a, c) n = s32[] multiply(b, c) o = s32[] add(n, d) ROOT t = (s32[], s32[]) tuple(m, o) }"""
SPECS = ("cpu", "cpu:threads=2,share_all=on", "nvptx:sim")
SHAPES = {
    "thread or element": ((20, 9), (1,)), "team or lanes": ((3, 1100), (1,)), "block, or chunks": ((1, 20000), (1,)),
    "columns": ((600, 40), (0,)), "few columns": ((500, 3), (0,)), "two groups, named backwards": ((5, 30, 7), (2, 0)),
}  # fmt: skip


def shape(dims):
    return f"s32[{','.join(map(str, dims))}]"


def reduction(dims, axes):
    kept = shape([size for d, size in enumerate(dims) if d not in axes])
    dimensions = f"dimensions={{{','.join(map(str, axes))}}}"
    return f"""{AFFINE} ENTRY e {{ x = {shape(dims)} parameter(0) y = {shape(dims)} parameter(1)
      o = s32[] constant(1) z = s32[] constant(0)
      ROOT r = ({kept}, {kept}) reduce(x, y, o, z), {dimensions}, to_apply=f }}"""


def drawn(module, zeros=0.0):
    rng = np.random.default_rng(1)
    made = [rng.integers(-9, 9, parameter.array.dims) | 1 for parameter in module.entry.parameters]
    return [np.where(rng.random(one.shape) < zeros, 0, one).astype(np.int32) for one in made]


def held(text, *, zeros=0.0):
    module = compiler.parse(text)
    inputs = drawn(module, zeros)
    expected = compiler.interpret(module, *inputs)
    for spec in SPECS:
        for one, other in zip(expected, engine(spec).compile(text)(*inputs), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("form", SHAPES)
def test_a_reduction_combines_elements_in_order(form):
    held(reduction(*SHAPES[form]))


@pytest.mark.slow
@pytest.mark.parametrize("most_held", [None, 0])
def test_rows_of_several_passes_are_combined_in_order(most_held, monkeypatch):
    if most_held is not None:
        monkeypatch.setattr(gpu_row, "_MOST_HELD", most_held)
    held(
        f"""{LAST} ENTRY e {{ x = s32[5,300] parameter(0) z = s32[] constant(0)
      r = s32[5] reduce(x, z), dimensions={{1}}, to_apply=f
      s = s32[5,300] broadcast(r), dimensions={{0}} ROOT d = s32[5,300] subtract(x, s) }}""",
        zeros=0.95,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("pad", "dims"), [("0_0x0_199", (3, 200)), ("0_0x199_0", (3, 200)), ("0_69x0_0", (70, 40))])
def test_a_scan_from_either_end_combines_elements_in_order(pad, dims):
    size = "x".join("1" if part == "0_0" else str(n) for part, n in zip(pad.split("x"), dims, strict=True))
    held(
        f"""{LAST} ENTRY e {{ x = {shape(dims)} parameter(0) z = s32[] constant(0)
      ROOT r = {shape(dims)} reduce-window(x, z), window={{size={size} pad={pad}}}, to_apply=f }}""",
        zeros=0.95,
    )
