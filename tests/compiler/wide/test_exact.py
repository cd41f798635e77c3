"""Bounds held against a second computation, with more digits than any type has, on programs that are drawn.

What is exact must be legal, and so must be whatever comes of rounding every step up or down.  A bound that allows far
more than such rounding brings about would hide bugs, so it is held to a factor of that.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from exact_functions import MPMATH

import compiler

LENGTH, STEPS, TRIALS = 6, 7, 24
ROUNDING = {"f32": 2.0**-24, "f64": 2.0**-53}
FACTOR = 64
"""How many times as much as was seen to come of rounding a bound may allow, in the median of a program's elements."""

UNARY: dict[str, Callable[[Any], Any]] = {
    **{name: MPMATH[name] for name in ("exponential", "tanh", "sine", "cosine", "logistic", "erf", "asinh", "cbrt")},
    "negate": operator.neg,
    "abs": abs,
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "maximum": max,
    "minimum": min,
}
EXACT = frozenset({"negate", "abs", "maximum", "minimum"})
Program = list[tuple[str, tuple[int, ...]]]


def drawn(choices: random.Random) -> Program:
    """Steps, each with the numbers of the values that it takes; 0 and 1 are the inputs, the last one is summed up."""
    steps: Program = []
    for number in range(2, 2 + STEPS):
        opcode = choices.choice([*UNARY, *BINARY])
        newest = [max(0, number - choices.randint(1, 3)) for _ in range(1 if opcode in UNARY else 2)]
        steps.append((opcode, tuple(newest)))
    return steps


def text(program: Program, kind: str) -> str:
    lines = [f"v{n} = {kind}[{LENGTH}] parameter({n})" for n in (0, 1)]
    for number, (opcode, taken) in enumerate(program, start=2):
        lines.append(f"v{number} = {kind}[{LENGTH}] {opcode}({', '.join(f'v{n}' for n in taken)})")
    last = f"v{len(program) + 1}"
    return f"""add {{ a = {kind}[] parameter(0) b = {kind}[] parameter(1) ROOT s = {kind}[] add(a, b) }}
    ENTRY e {{ {" ".join(lines)} z = {kind}[] constant(0)
    s = {kind}[] reduce({last}, z), dimensions={{0}}, to_apply=add
    ROOT t = ({kind}[{LENGTH}], {kind}[]) tuple({last}, s)
    }}"""


def computed(program: Program, inputs: list[Any], rounded: Callable[[Any], Any]) -> list[Any]:
    """All elements of the last step, then their sum; `rounded` sees everything that an implementation may round."""
    values = [[mpmath.mpf(float(x)) for x in array] for array in inputs]
    for opcode, taken in program:
        function = UNARY.get(opcode) or BINARY[opcode]
        made = [function(*row) for row in zip(*(values[n] for n in taken), strict=True)]
        values.append(made if opcode in EXACT else [rounded(x) for x in made])
    total = values[-1][0]
    for x in values[-1][1:]:
        total = rounded(total + x)
    return [*values[-1], total]


@pytest.mark.parametrize("kind", ROUNDING)
@pytest.mark.parametrize("seed", range(8))
def test_bounds_hold_what_rounding_brings_about_and_not_much_more(seed: int, kind: str) -> None:
    choices, generator = random.Random(seed), np.random.default_rng(seed)
    program = drawn(choices)
    inputs = [generator.uniform(0.25, 1.5, LENGTH).astype({"f32": np.float32, "f64": np.float64}[kind]) for _ in "ab"]
    first, second = compiler.interpret(text(program, kind), *inputs, wide=True)
    value, bound = (np.append(getattr(first, name), getattr(second, name)) for name in ("value", "bound"))
    undecided = np.append(first.undecided, second.undecided)
    truth = computed(program, inputs, lambda x: x)
    # The value itself is in doubles, whose own rounding is part of what f64 may do.
    off = [
        computed(program, inputs, lambda x: x * (1 + choices.choice((-1, 1)) * ROUNDING[kind])) for _ in range(TRIALS)
    ]
    seen = np.array([float(max(abs(trial[n] - truth[n]) for trial in off)) for n in range(len(truth))])
    away = np.array([float(abs(x - mpmath.mpf(float(v)))) for x, v in zip(truth, value, strict=True)])
    decided = ~undecided
    assert decided.any()
    assert (away <= bound)[decided].all()
    assert (seen <= bound + away)[decided].all()
    smallest = ROUNDING[kind] * np.abs(value)
    assert np.median((bound / np.maximum(seen, smallest))[decided]) <= FACTOR
