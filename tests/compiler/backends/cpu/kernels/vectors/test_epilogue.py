"""What follows a product finds what the reference finds, at every length around a vector's, and leaves LLVM no loop."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler import CompileOptions
from compiler.backends.executable import Executable

DOT = """ENTRY e {{
  x = {t}[37,24] parameter(0)
  y = {t}[24,{n}] parameter(1)
  bias = {t}[{n}] parameter(2)
  p = {t}[37,{n}] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  b = {t}[37,{n}] broadcast(bias), dimensions={{1}}
  s = {t}[37,{n}] add(p, b)
  ROOT r = {t}[37,{n}] {opcode}(s)
}}"""
CONVOLUTION = """ENTRY e {{
  x = {t}[2,9,9,8] parameter(0)
  y = {t}[3,3,{inputs},{n}] parameter(1)
  bias = {t}[{n}] parameter(2)
  p = {t}[2,9,9,{n}] convolution(x, y), window={{size=3x3 pad=1_1x1_1}}, dim_labels=b01f_01io->b01f,
    feature_group_count={groups}
  b = {t}[2,9,9,{n}] broadcast(bias), dimensions={{3}}
  s = {t}[2,9,9,{n}] add(p, b)
  ROOT r = {t}[2,9,9,{n}] {opcode}(s)
}}"""


def _runs(text: str) -> Executable:
    module = compiler.parse(text)
    rng = np.random.default_rng(1)
    inputs = [
        rng.integers(-4, 5, parameter.array.dims).astype(parameter.array.element_type.dtype)
        for parameter in module.entry.parameters
    ]
    (expected,) = compiler.interpret(module, *inputs)
    executable = compiler.compile(module, options=CompileOptions(threads=1))
    (found,) = executable(*inputs)
    np.testing.assert_array_equal(np.asarray(found, np.float64), np.asarray(expected, np.float64))
    return executable


@pytest.mark.slow
@pytest.mark.parametrize("n", [4, 17, 32, 70])
@pytest.mark.parametrize(("t", "opcode"), [("f32", "negate"), ("bf16", "abs"), ("s32", "negate"), ("f64", "abs")])
def test_what_follows_a_dot_is_computed_in_rows(n: int, t: str, opcode: str) -> None:
    _runs(DOT.format(n=n, t=t, opcode=opcode))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "groups"), [(16, 1), (24, 1), (48, 2), (34, 2)])
@pytest.mark.parametrize("t", ["f32", "bf16"])
def test_what_follows_a_convolution_is_computed_in_rows(n: int, groups: int, t: str) -> None:
    _runs(CONVOLUTION.format(n=n, t=t, opcode="negate", groups=groups, inputs=8 // groups))


@pytest.mark.parametrize(
    "text",
    [DOT.format(n=32, t="f32", opcode="negate"), CONVOLUTION.format(n=16, t="f32", opcode="abs", groups=1, inputs=8)],
    ids=["dot", "convolution"],
)
def test_llvm_has_no_loop_to_vectorise(text: str) -> None:
    assert "vector.body" not in _runs(text).artifacts["ir-with-opt.ll"]
