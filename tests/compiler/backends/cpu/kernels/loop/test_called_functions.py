"""Short loops of many functions: bit for bit what long loops give, and each function stands in the code once."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.backends.cpu.kernels.loop.called_functions import FEWEST
from compiler.backends.cpu.kernels.vectors.interleaving import SHORT
from compiler.ir.types import TYPES
from tests.compiler.backends.cpu.kernels.forms import strategies

NAMES = ("sine", "tanh", "erf")


def chain(functions: int, length: int, type_: str = "f32") -> str:
    """So many functions, each of what the one before it gives."""
    lines = [f"x0 = {type_}[{length}] parameter(0)"]
    lines += [f"x{n + 1} = {type_}[{length}] {NAMES[n % len(NAMES)]}(x{n})" for n in range(functions)]
    return "ENTRY e {\n" + "\n".join([*lines[:-1], f"ROOT {lines[-1]}"]) + "\n}"


@pytest.mark.parametrize(
    ("functions", "length", "expected"),
    [
        (FEWEST, 4, "called functions"),
        (FEWEST, SHORT - 1, "called functions"),
        (FEWEST - 1, 8, "loops"),
        (FEWEST, SHORT, "loops"),
        (FEWEST, 3, "loops"),
    ],
)
def test_functions_are_called_where_there_are_many_of_few_elements(functions, length, expected):
    assert strategies(chain(functions, length)) == [expected]


@pytest.mark.slow
@pytest.mark.parametrize("type_", ["f32", "bf16"])
def test_an_element_is_the_same_in_loops_of_any_length(type_):
    """Those of a long loop are computed as they are written down."""
    dtype = TYPES[type_].dtype
    values = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -3e-6, 7e5, 2.9e38, 1e-41] * 26, np.float32).astype(
        dtype
    )
    wanted = compiler.compile(chain(FEWEST, values.size, type_))(values)[0]
    for length in (5, 16, 21):
        found = compiler.compile(chain(FEWEST, length, type_))(values[:length])[0]
        assert found.tobytes() == wanted[:length].tobytes()


def test_a_function_stands_in_the_code_once():
    text = compiler.compile(chain(3 * FEWEST, 8)).artifacts["ir-with-opt.ll"]
    defined = [line for line in text.splitlines() if line.startswith("define") and "@math." in line]
    assert len(defined) == len(NAMES)
