"""Comparisons of floats that were widened keep -0: LLVM looked through the widening and chose 0 for it."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.backends import BACKENDS

OPTIONS = compiler.CompileOptions(device="sim", threads=1)
SPECIAL = (-0.0, 0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 6e-8, -6e-8)


def elu(given: str, wide: str, direction: str, zero: str, order: str) -> str:
    """The choice between 0 and a number, then one that depends on the same comparison, as in ELU."""
    count = len(SPECIAL)
    widened = f"w = {wide}[{count}] convert(x)" if given != wide else f"w = {wide}[{count}] copy(x)"
    return f"""ENTRY main {{ x = {given}[{count}] parameter(0) {widened}
      z = {wide}[{count}] broadcast({wide}[] constant({zero})), dimensions={{}}
      p = pred[{count}] compare({order}), direction={direction}
      least = {wide}[{count}] select(p, z, w)
      grown = {wide}[{count}] exponential-minus-one(least)
      chosen = {wide}[{count}] select(p, w, grown)
      ROOT both = ({wide}[{count}], pred[{count}]) tuple(chosen, p) }}"""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("zero", ["0", "-0"])
@pytest.mark.parametrize("order", ["w, z", "z, w"])
@pytest.mark.parametrize("direction", ["GT", "LT", "GE", "LE"])
@pytest.mark.parametrize(("given", "wide"), [("f16", "f16"), ("f32", "f64"), ("f16", "f32"), ("bf16", "f32")])
def test_a_zero_keeps_its_sign(given: str, wide: str, direction: str, order: str, zero: str, backend: str) -> None:
    text = elu(given, wide, direction, zero, order)
    module = compiler.parse(text)
    x = np.array(SPECIAL).astype(module.entry.parameters[0].array.element_type.dtype)
    executable = compiler.compile(text, backend=backend, options=OPTIONS)
    for expected, actual in zip(compiler.interpret(module, x), executable(x), strict=True):
        wanted, got = expected.astype(np.float64), actual.astype(np.float64)
        np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-8)
        numbers = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(wanted[numbers]))
