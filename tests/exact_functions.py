"""The opcodes that are functions of real numbers, with more digits than any type has: what all are measured by."""

from __future__ import annotations

import mpmath
import numpy as np

mpmath.mp.prec = 160  # of which reduction by pi needs some sixty

MPMATH = {
    "exponential": mpmath.exp,
    "exponential-minus-one": mpmath.expm1,
    "log": mpmath.log,
    "log-plus-one": mpmath.log1p,
    "logistic": lambda x: 1 / (1 + mpmath.exp(-x)),
    "sine": mpmath.sin,
    "cosine": mpmath.cos,
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
} | {
    name: getattr(mpmath, name)
    for name in (
        *("tanh", "sinh", "cosh", "asinh", "acosh", "atanh", "tan", "asin", "acos"),
        *("atan2", "erf", "sqrt", "power"),
    )
}


def exact(opcode: str, operands: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The function of doubles as an unevaluated sum of two."""
    function = MPMATH[opcode]
    truths = [function(*map(mpmath.mpf, row)) for row in zip(*(x.tolist() for x in operands), strict=True)]
    heads = np.array([float(truth) for truth in truths])
    tails = [float(truth - head) if np.isfinite(head) else 0.0 for truth, head in zip(truths, heads, strict=True)]
    return heads, np.array(tails)
