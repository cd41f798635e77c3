"""Philox 4x32 with 10 rounds, on whole arrays of counters: random bits that follow from a counter and a key alone."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.expansion.expression import Expression
from compiler.ir.types import U32, U64
from compiler.ops.random import PHILOX_FACTORS, PHILOX_STEPS

Pair = tuple[Expression, Expression]


def low_high(value: Expression) -> Pair:
    """The two words of a number of 64 bits."""
    return value.to(U32), (value >> 32).to(U32)


def joined(low: Expression, high: Expression) -> Expression:
    """A number of 64 bits of its words."""
    return low.to(U64) | (high.to(U64) << 32)


def philox(counter: Sequence[Expression], key: Pair) -> list[Expression]:
    """The four words that a counter of four words gives with a key of two."""
    state, (left, right) = list(counter), key
    for _ in range(10):
        low0, high0 = low_high(state[0].to(U64) * int(PHILOX_FACTORS[0]))
        low1, high1 = low_high(state[2].to(U64) * int(PHILOX_FACTORS[1]))
        state = [high1 ^ state[1] ^ left, low1, high0 ^ state[3] ^ right, low0]
        left, right = left + int(PHILOX_STEPS[0]), right + int(PHILOX_STEPS[1])
    return state
