"""Sums and products that devices exchange: every order, and every type on the way, gives what the bounds allow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import permutations
from operator import add, mul
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.ir.types import TYPES

_COUNT = 4
_FUNCTIONS = {"add": add, "multiply": mul}
_WIDER = {"bf16": np.float32, "f16": np.float32, "f32": np.float64, "f64": np.float64, "c64": np.complex128}
_COLLECTIVES = {
    "all-reduce": "ROOT r = T[4] all-reduce(x), to_apply=combine",
    "all-reduce-start": "s = T[4] all-reduce-start(x), to_apply=combine  ROOT r = T[4] all-reduce-done(s)",
    "reduce-scatter": "ROOT r = T[1] reduce-scatter(x), dimensions={0}, to_apply=combine",
}


def _results(opcode: str, element_type: str, collective: str, rows: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """What the reference gives, as one array, and its bounds."""
    text = f"""HloModule m, replica_count={_COUNT}
    combine {{ a = T[] parameter(0)  b = T[] parameter(1)  ROOT c = T[] {opcode}(a, b) }}
    ENTRY e {{ x = T[4] parameter(0)  {_COLLECTIVES[collective]} }}"""
    module = compiler.parse(text.replace("T[", f"{element_type}["))
    return compiler.interpret(module, *rows), compiler.interpret(module, *rows, wide=True)


def _columns(element_type: str) -> np.ndarray:
    """What leaves the type in some orders, or in all, beside zeros and numbers of the other sign; and tame numbers."""
    large = {"f16": 4e4, "f64": 1e308}.get(element_type, 2e38)
    return np.array([[1, large, 6, 0], [large, large, -large, -large], [large, -large, 3, 0], [0.1, 0.3, -0.7, 11]])


@pytest.mark.parametrize("collective", _COLLECTIVES)
@pytest.mark.parametrize("element_type", _WIDER)
@pytest.mark.parametrize("opcode", _FUNCTIONS)
def test_every_order_and_width_is_allowed(opcode: str, element_type: str, collective: str) -> None:
    dtype = TYPES[element_type].dtype
    for order in permutations(range(_COUNT)):
        rows = list(_columns(element_type)[:, order].T.astype(dtype))
        expected, bounds = _results(opcode, element_type, collective, rows)
        for found, bound in zip(expected, bounds, strict=True):
            assert bound.allows(found).all()
        if collective == "reduce-scatter":
            continue
        for width in (dtype, _WIDER[element_type]):
            for other in permutations(rows):
                with np.errstate(all="ignore"):
                    found = reduce(_FUNCTIONS[opcode], [row.astype(width) for row in other]).astype(dtype)
                assert bounds[0].allows(found).all(), (order, found)


@pytest.mark.parametrize("collective", _COLLECTIVES)
@pytest.mark.parametrize("element_type", _WIDER)
@pytest.mark.parametrize("opcode", _FUNCTIONS)
def test_a_device_left_out_or_taken_twice_is_not(opcode: str, element_type: str, collective: str) -> None:
    rng = np.random.default_rng(len(opcode))
    rows = [rng.uniform(2, 5, 4).astype(TYPES[element_type].dtype) for _ in range(_COUNT)]
    _, bounds = _results(opcode, element_type, collective, rows)
    for others in (rows[1:], [*rows, rows[0]]):
        wrong = reduce(_FUNCTIONS[opcode], [row.astype(_WIDER[element_type]) for row in others])
        for device, bound in enumerate(bounds):
            own = wrong[device : device + 1] if collective == "reduce-scatter" else wrong
            assert not bound.allows(own.astype(rows[0].dtype)).any()
