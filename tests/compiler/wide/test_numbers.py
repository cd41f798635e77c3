"""Bounds held against a second computation, with more digits than any type has, on programs that are drawn.

What is exact must be legal, and so must be whatever comes of functions that give either neighbour of their value.  A
bound that allows far more than such rounding brings about would hide bugs, so it is held to a factor of that.
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
TYPES = {"f32": np.float32, "f64": np.float64}
FACTOR = 64
"""How many times as much as was seen to come of rounding a bound may allow, in the median of a program's elements."""
Round = Callable[[Any, str], Any]
"""A number as an implementation has it, by the opcode that it comes of."""

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


def computed(program: Program, inputs: list[Any], rounded: Round) -> list[Any]:
    """All elements of the last step, then their sum."""
    values = [[mpmath.mpf(float(x)) for x in array] for array in inputs]
    for opcode, taken in program:
        function = UNARY.get(opcode) or BINARY[opcode]
        made = [function(*row) for row in zip(*(values[n] for n in taken), strict=True)]
        values.append(made if opcode in EXACT else [rounded(x, opcode) for x in made])
    total = values[-1][0]
    for x in values[-1][1:]:
        total = rounded(total + x, "add")
    return [*values[-1], total]


def either(kind: str, choices: random.Random) -> Round:
    """To nearest; a function gives the neighbour on the other side of its value now and then."""

    def rounded(x: Any, opcode: str) -> Any:
        nearest = TYPES[kind](float(x))
        off = x - mpmath.mpf(float(nearest))
        if opcode in UNARY and off and choices.random() < 0.5:
            nearest = np.nextafter(nearest, TYPES[kind](np.inf if off > 0 else -np.inf))
        return mpmath.mpf(float(nearest))

    return rounded


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("seed", range(8))
def test_bounds_hold_what_rounding_brings_about_and_not_much_more(seed: int, kind: str) -> None:
    choices, generator = random.Random(seed), np.random.default_rng(seed)
    program = drawn(choices)
    inputs = [generator.uniform(0.25, 1.5, LENGTH).astype(TYPES[kind]) for _ in "ab"]
    first, second = compiler.interpret(text(program, kind), *inputs, wide=True)
    value, bound = (np.append(getattr(first, name), getattr(second, name)) for name in ("value", "bound"))
    truth = computed(program, inputs, lambda x, _: x)
    trials = [computed(program, inputs, either(kind, choices)) for _ in range(TRIALS)]
    seen, away = np.zeros(len(truth)), np.zeros(len(truth))
    for place, exact in enumerate(truth):
        seen[place] = max(abs(trial[place] - mpmath.mpf(float(value[place]))) for trial in trials)
        away[place] = abs(exact - mpmath.mpf(float(value[place])))
    assert np.isfinite(bound).all()
    assert (seen <= bound).all()
    assert (away <= bound).all()
    legal = np.maximum(seen, np.finfo(TYPES[kind]).eps / 2 * np.abs(value))
    assert np.median(bound / np.where(legal > 0, legal, 1)) <= FACTOR
