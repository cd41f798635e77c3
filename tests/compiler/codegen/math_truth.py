"""What the math functions should give, in more digits than they have, and arguments that show where they do not."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import scipy.special

mpmath.mp.prec = 160  # of which reduction by pi needs some sixty


def _rsqrt(x: np.ndarray) -> np.ndarray:
    return 1 / np.sqrt(x)


NUMPY: dict[str, Callable[..., np.ndarray]] = {
    "exponential": np.exp,
    "exponential-minus-one": np.expm1,
    "log": np.log,
    "log-plus-one": np.log1p,
    "tanh": np.tanh,
    "logistic": scipy.special.expit,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sine": np.sin,
    "cosine": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan2": np.arctan2,
    "erf": scipy.special.erf,
    "sqrt": np.sqrt,
    "rsqrt": _rsqrt,
    "cbrt": np.cbrt,
    "power": np.power,
}
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
# Where a function of doubles is real and finite.
_DOMAINS = {
    "log": (0, np.inf),
    "log-plus-one": (-1, np.inf),
    "acosh": (1, np.inf),
    "atanh": (-1, 1),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "sqrt": (0, np.inf),
    "rsqrt": (0, np.inf),
    "exponential": (-760, 709.7),
    "exponential-minus-one": (-800, 709.7),
    "logistic": (-745, 800),
    "sinh": (-710.4, 710.4),
    "cosh": (-710.4, 710.4),
    "tanh": (-30, 30),
    "erf": (-7, 7),
}
_INTERVALS = [(0, 2), (0, 20), (0, 110), (0, 1e-4), (1, 1e-3), (-1, 1e-3), (1, 0.6), (-1, 0.6), (88.7, 0.1), (-87.4, 1)]
# Of all doubles the one nearest to a multiple of pi/2.
_HARDEST_ANGLE = 6381956970095103.0 * 2.0**797


def f32_operands(opcode: str, generator: np.random.Generator) -> list[np.ndarray]:
    """All exponents of both signs, dense samples where something happens, and multiples of pi/2 and ln2."""
    bits = generator.integers(0, 2**32, 150_000, dtype=np.uint64).astype(np.uint32)
    dense = [centre + width * generator.uniform(-1, 1, 8_000) for centre, width in [*_INTERVALS, (-103.5, 1)]]
    multiples = [np.arange(1, 5_000) * (np.pi / 2), np.arange(-150, 150) * np.log(2)]
    x = np.concatenate([bits.view(np.float32), *(part.astype(np.float32) for part in dense + multiples)])
    if opcode == "atan2":
        near = x * np.exp(3 * generator.normal(size=x.size)) * generator.choice([-1, 1], x.size)
        return [np.concatenate([x, x]), np.concatenate([generator.permutation(x), near.astype(np.float32)])]
    if opcode == "power":
        base = np.abs(x)
        spread = generator.uniform(-155, 133, x.size) / np.log2(base.astype(np.float64))
        return [np.concatenate([x, base]), np.concatenate([generator.permutation(x), spread.astype(np.float32)])]
    return [x]


def f64_operands(opcode: str, generator: np.random.Generator) -> list[np.ndarray]:
    """About two thousand doubles in the function's domain."""
    count = 600
    signs = generator.choice([-1, 1], 2 * count)
    exponents = [generator.integers(-1074, 1024, count), generator.integers(-40, 12, count)]
    spread = np.ldexp(generator.uniform(1, 2, 2 * count), np.concatenate(exponents)) * signs
    low, high = _DOMAINS.get(opcode, (-np.inf, np.inf))
    widest = max(abs(low), abs(high)) if np.isfinite(high - low) else 700
    dense = [centre + width * generator.uniform(-1, 1, 100) for centre, width in [*_INTERVALS[:8], (0, widest)]]
    x = np.concatenate([spread, *dense, np.arange(1, 100) * (np.pi / 2), [_HARDEST_ANGLE]])
    x = x[(x > low) & (x < high)]
    if opcode == "atan2":
        near = x * np.exp(3 * generator.normal(size=x.size)) * generator.choice([-1, 1], x.size)
        return [x, np.where(generator.random(x.size) < 0.5, near, generator.permutation(x))]
    if opcode == "power":
        base = np.abs(x)
        return [base, generator.uniform(-1077, 1024, x.size) / np.log2(base)]
    return [x]


def exact(opcode: str, operands: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The function of doubles as an unevaluated sum of two."""
    function = MPMATH[opcode]
    truths = [function(*map(mpmath.mpf, row)) for row in zip(*(x.tolist() for x in operands), strict=True)]
    heads = np.array([float(truth) for truth in truths])
    tails = [float(truth - head) if np.isfinite(head) else 0.0 for truth, head in zip(truths, heads, strict=True)]
    return heads, np.array(tails)
