"""Opcodes by what one element of their results takes, which decides where and how often it may be computed."""

from __future__ import annotations

MOVES = frozenset(
    {
        "bitcast",
        "bitcast-convert",
        "broadcast",
        "constant",
        "dynamic-slice",
        "iota",
        "reshape",
        "reverse",
        "slice",
        "transpose",
    }
)
"""Opcodes that take each element from one place, or from none."""
SELECTS = frozenset({"pad", "concatenate", "gather", "dynamic-update-slice"})
"""Opcodes that find out where they take an element from."""
PRODUCTS = frozenset({"dot", "convolution"})
"""Opcodes that multiply and add so much that their kernels are built around it."""
EXACT = MOVES | {
    "abs",
    "and",
    "compare",
    "convert",
    "is-finite",
    "maximum",
    "minimum",
    "negate",
    "not",
    "or",
    "select",
    "sign",
    "xor",
}
"""Opcodes whose every copy gives the same bits."""
EXPENSIVE = frozenset(
    {
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan2",
        "atanh",
        "cbrt",
        "cosh",
        "cosine",
        "divide",
        "erf",
        "exponential",
        "exponential-minus-one",
        "log",
        "log-plus-one",
        "logistic",
        "power",
        "remainder",
        "rsqrt",
        "sine",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        *SELECTS,
    }
)
"""Opcodes that are not computed more often than they have elements."""
