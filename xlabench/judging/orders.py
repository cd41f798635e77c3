"""Reductions in another order than the reference's, as the language leaves it to every engine.

A reduction is some binary tree over its elements in their order, with the initial value at any places (StableHLO,
`reduce`).  Where a reducer with its initial value is no monoid, results depend on the tree: such are an argmax that
loses a NaN, products that leave the range of their type on the way, a reducer that ignores an operand.  Wide mode knows
what rounding does to a sum in any order, but of other computations no more than the reference's own tree gives.

A tree is drawn as engines have them: every other one is a chain, as of a loop that nobody shares; else neighbours are
combined first, then what one thread, lane or chunk has, and then what these came to, one after the other or in pairs;
the initial value comes first or last, or before each share as well.  Operands are never exchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from compiler.ops import Trait, having
from xlabench.judging.tolerance import Array

Instruction = Any  # the compiler's; the harness sees its data by attribute only
Evaluate = Callable[[Sequence[Any]], Any]
Row = list[Array]
"""For each array that is reduced the elements at one position of the reduction, of all results."""

_CHAINS, _LAST = 0.5, 0.25
"""How often a tree is a chain, and how often the initial value comes last."""
_NEIGHBOURS = (1, 1, 1, 1, 2, 4, 8)
_SHARES = (2, 4, 8, 16, 32, 64, 128, 256)
_MOST = 1 << 12
"""Elements of one result, at most: each is a step of the reference."""
_FREE = having(Trait.COMMUTATIVE) & having(Trait.ASSOCIATIVE)
"""Reducers of which wide mode knows what they give in any order, if they are nothing else."""


def is_open(instruction: Instruction) -> bool:
    """Whether a right result of an instruction may depend on the tree, so that only the reference's is known."""
    if instruction.opcode != "reduce":
        return False
    roots = roots_of(instruction.attributes["to_apply"])
    if len(roots) != 1:
        return True
    (root,) = roots
    is_plain = root.opcode in _FREE and all(one.opcode == "parameter" for one in root.operands)
    return not (is_plain and len(instruction.operands) == 2 and root.operands[0] is not root.operands[1])


def roots_of(reducer: Any) -> Sequence[Instruction]:
    """What a reducer computes of each array, however it hands it on."""
    root = reducer.root
    while root.opcode == "get-tuple-element" and root.operands[0].opcode == "tuple":
        root = root.operands[0].operands[root.attributes["index"]]
    return root.operands if root.opcode == "tuple" else [root]


def in_another_order(instruction: Instruction, evaluate: Evaluate, rng: np.random.Generator) -> Evaluate:
    """The meaning of a reduction by a tree that is drawn; of other instructions, their own.

    Args:
        instruction: any.
        evaluate: its meaning.
        rng: what the tree is drawn by.
    """
    if not is_open(instruction):
        return evaluate
    return _Tree(instruction, evaluate, rng)


@dataclass(frozen=True, slots=True)
class _Tree:
    """A reduction by the reference's own, a few elements at a time."""

    instruction: Instruction
    evaluate: Evaluate
    rng: np.random.Generator

    def __call__(self, operands: Sequence[Any]) -> Any:
        half = len(operands) // 2
        arrays, inits = [np.asarray(o) for o in operands[:half]], [np.asarray(o) for o in operands[half:]]
        axes = sorted(self.instruction.attributes["dimensions"])
        kept = [axis for axis in range(arrays[0].ndim) if axis not in axes]
        outer = tuple(arrays[0].shape[axis] for axis in kept)
        count = arrays[0].size // max(1, int(np.prod(outer, dtype=np.int64)))
        if not arrays[0].size or count > _MOST:
            return self.evaluate(operands)
        rows = [array.transpose(*axes, *kept).reshape(count, *outer) for array in arrays]
        found = self._tree(
            [[row[at] for row in rows] for at in range(count)], [np.broadcast_to(i, outer) for i in inits]
        )
        return tuple(found) if hasattr(self.instruction.shape, "elements") else found[0]

    def _tree(self, row: list[Row], start: Row) -> Row:
        if self.rng.random() < _CHAINS:
            return self._fold(self._with(start, row))
        near, shares = int(self.rng.choice(_NEIGHBOURS)), int(self.rng.choice(_SHARES))
        row = [self._fold(row[at : at + near]) for at in range(0, len(row), near)]
        cuts = [at * len(row) // shares for at in range(shares + 1)]
        before = [start] if self.rng.random() < 0.5 else []
        found = [self._fold([*before, *row[a:b]] or [start]) for a, b in pairwise(cuts)]
        whole = self._in_pairs(found) if self.rng.random() < 0.5 else self._fold(found)
        return self._fold(self._with(start, [whole]))

    def _with(self, start: Row, row: list[Row]) -> list[Row]:
        """The initial value at either end."""
        return [*row, start] if self.rng.random() < _LAST else [start, *row]

    def _fold(self, row: Sequence[Row]) -> Row:
        total = row[0]
        for more in row[1:]:
            total = self._combined(total, more)
        return total

    def _in_pairs(self, row: list[Row]) -> Row:
        while len(row) > 1:
            pairs = [row[at : at + 2] for at in range(0, len(row), 2)]
            row = [self._fold(pair) for pair in pairs]
        return row[0]

    def _combined(self, left: Row, right: Row) -> Row:
        """The reducer on two values, as a reduction of one element that starts from the other."""
        axes = self.instruction.attributes["dimensions"]
        ones = [np.expand_dims(one, tuple(sorted(axes))) for one in right]
        found = self.evaluate([*ones, *left])
        return list(found) if isinstance(found, tuple) else [found]
