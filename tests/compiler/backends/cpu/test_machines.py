"""Machines without some of their features: what is asked away is gone, with all that needs it."""

import numpy as np
import pytest

import compiler
from compiler.backends.cpu.machines import MACHINES, WITHOUT, target_for, without
from compiler.codegen.llvm import Target
from compiler.diagnostics import InputError

TEXT = """ENTRY main { x = f32[64,48] parameter(0) y = f32[48,32] parameter(1) t = f32[64,48] tanh(x)
  ROOT d = f32[64,32] dot(t, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"""


@pytest.mark.parametrize("name", WITHOUT)
@pytest.mark.parametrize("cpu", MACHINES["x86_64"])
def test_a_feature_goes_with_what_needs_it(cpu, name):
    whole = target_for("x86_64", cpu)
    left = without(whole, [name])
    gone = whole.present - left.present
    assert all(feature.startswith(WITHOUT[name]) for feature in gone)
    assert not any(feature.startswith(WITHOUT[name]) for feature in left.present)
    assert (left == whole) == (not gone)


def test_nothing_asked_away_is_the_same_target():
    assert without(Target.host(), ()) == Target.host()


def test_what_is_not_known_is_named():
    with pytest.raises(InputError, match=r"unknown CPU feature 'sse9' to do without; known are: fma, avx2, avx512"):
        compiler.compile(TEXT, options=compiler.CompileOptions(without=("sse9",)))


@pytest.mark.parametrize("name", WITHOUT)
def test_code_without_a_feature_uses_none_of_it_and_is_right(name):
    inputs = [np.random.default_rng(0).standard_normal(shape).astype(np.float32) for shape in ((64, 48), (48, 32))]
    (expected,) = compiler.interpret(TEXT, *inputs)
    made = compiler.compile(TEXT, options=compiler.CompileOptions(without=(name,), threads=1))
    np.testing.assert_allclose(made(*inputs)[0], expected, rtol=1e-4, atol=1e-4)
    assert {"fma": "vfmadd", "avx2": "vpbroadcast", "avx512": "zmm"}[name] not in str(made.artifacts["s"])
