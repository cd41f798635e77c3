"""Opcodes by the cost of one element of their results, which decides whether fusion may compute it more than once."""

from __future__ import annotations

from compiler.ops import Trait, having, narrowing

MOVES = having(Trait.MOVES | Trait.GENERATES)
"""Opcodes that take each element from one place, or from none."""
SPREADS = narrowing(Trait.MOVES | Trait.GENERATES, "broadcast iota reshape slice")
"""Those that a loop body holds by the dozen where it works on single elements, and that cost nothing there."""
SELECTS = having(Trait.SELECTS)
"""Opcodes that find out where they take an element from."""
PRODUCTS = narrowing(Trait.PRODUCT, "dot convolution")
"""Opcodes that multiply and add so much that their kernels are built around it; other products have become these."""
EXACT = MOVES | narrowing(
    Trait.ELEMENTWISE, "abs and compare convert is-finite maximum minimum negate not or select sign xor"
)
"""Opcodes whose every copy gives the same bits, and next to nothing to compute."""
SUMS = narrowing(Trait.ELEMENTWISE, "add subtract")
"""Opcodes that are joined with a product to be rounded once."""
EXPENSIVE = having(Trait.EXPENSIVE)
"""Opcodes that are not computed more often than they have elements."""
FUNCTIONS = having(Trait.APPROXIMATE)
"""Opcodes whose code is long, in straight lines: a machine's registers are found for it in more than linear time."""
