"""Functions that grow like e^x, where e^x is no number and their components are."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import compiler
from compiler.codegen.scalar.complex_functions import NARROW

TYPES = {"c64": (np.complex64, np.float32), "c128": (np.complex128, np.float64)}
UNITS = 4
"""Units in the last place that a component may be off by: a rounding of each factor, and theirs."""


FUNCTIONS = {
    "exponential": mpmath.exp,
    "exponential-minus-one": lambda z: mpmath.exp(z) - 1,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "sine": mpmath.sin,
    "cosine": mpmath.cos,
}
"""What opcodes mean; the last two grow with the imaginary component."""


def arguments(opcode, type_):
    """Where e^x exceeds the type, beside angles of all sizes."""
    dtype, real = TYPES[type_]
    info, generator = np.finfo(real), np.random.default_rng(0)
    highest, lowest = float(np.log(info.max)), float(np.log(info.smallest_subnormal))
    growing = np.concatenate(
        [generator.uniform(highest - 2, highest + 3, 150), generator.uniform(0, highest - lowest + 9, 150)]
    )
    sizes = np.exp(generator.uniform(lowest, 2, growing.size))
    sizes[::3] = generator.uniform(-7, 7, sizes[::3].size)
    growing[::2] = -growing[::2] if opcode not in ("exponential", "exponential-minus-one") else growing[::2]
    first, second = (sizes, growing) if opcode in ("sine", "cosine") else (growing, sizes)
    return (first.astype(real) + 1j * second.astype(real)).astype(dtype)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("opcode", FUNCTIONS)
def test_components_are_numbers_where_they_should_be(opcode, type_, backend):
    given, (_, real) = arguments(opcode, type_), TYPES[type_]
    module = compiler.parse(
        f"ENTRY e {{ x = {type_}[{given.size}] parameter(0)  ROOT r = {type_}[{given.size}] {opcode}(x) }}"
    )
    with np.errstate(all="ignore"):
        (made,) = compiler.interpret(module, given) if backend == "interpreter" else compiler.compile(module)(given)
    info = np.finfo(real)
    with mpmath.workprec(2300), np.errstate(over="ignore"):
        for z, found in zip(given, made, strict=True):
            right = FUNCTIONS[opcode](mpmath.mpc(float(z.real), float(z.imag)))
            for number, exact in ((found.real, right.real), (found.imag, right.imag)):
                if abs(exact) > 0.999 * float(info.max):
                    continue
                assert np.isfinite(number), (z, found)
                assert abs(float(number) - exact) <= abs(exact) * UNITS * float(info.eps) + 2 * float(
                    info.smallest_subnormal
                )


def test_numbers_that_were_narrow_take_no_steps():
    assert {*FUNCTIONS, "power"} <= set(NARROW)
