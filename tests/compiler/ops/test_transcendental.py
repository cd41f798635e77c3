"""The reference's functions of f32 and narrower types are within one unit of what more digits give."""

from __future__ import annotations

import numpy as np
import pytest
from exact_functions import MPMATH, exact

from compiler import interpret
from compiler.ir.numbers import Array
from compiler.ir.types import TYPES

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # ml_dtypes', on signalling NaNs
NARROW = ("f32", "f16", "bf16", "f8e4m3fn", "f8e5m2")


def operands(opcode: str, name: str) -> list[Array]:
    """Of every size; of a type of eight bits all there are."""
    generator = np.random.default_rng(len(opcode))
    dtype = TYPES[name].dtype
    every = np.arange(256, dtype=np.uint8).view(dtype) if TYPES[name].bits == 8 else None
    bits = generator.integers(0, 1 << TYPES[name].bits, 150, dtype=np.uint64)
    drawn = every if every is not None else bits.astype(f"u{dtype.itemsize}").view(dtype)
    tame = np.concatenate([generator.normal(0, size, 80) for size in (0.01, 1, 8, 60)]).astype(dtype)
    x = np.concatenate([drawn[~np.isnan(drawn)], tame]) + dtype.type(0)  # of zeros one: mpmath knows no other
    return [x, generator.permutation(x)] if opcode in ("atan2", "power") else [x]


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("opcode", MPMATH)
def test_the_reference_is_within_one_unit(opcode: str, name: str) -> None:
    inputs = operands(opcode, name)
    dims = f"{name}[{inputs[0].size}]"
    given = [f"p{number} = {dims} parameter({number})" for number in range(len(inputs))]
    names = ", ".join(f"p{number}" for number in range(len(inputs)))
    (result,) = interpret(f"ENTRY e {{ {' '.join(given)} ROOT r = {dims} {opcode}({names}) }}", *inputs)
    known = np.isfinite(np.stack([a.astype(np.float64) for a in (result, *inputs)])).all(axis=0)
    assert known.sum() > 100
    head, _ = exact(opcode, [x[known].astype(np.float64) for x in inputs])
    result = result[known]
    below, above = (np.nextafter(result, result.dtype.type(end)).astype(np.float64) for end in (-np.inf, np.inf))
    wrong = (head < below) | (head > above)
    assert not wrong.any(), [x[known][wrong][:3] for x in inputs] + [result[wrong][:3], head[wrong][:3]]
