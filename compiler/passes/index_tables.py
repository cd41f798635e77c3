"""Indices of gathers that hang on nothing but elements' numbers become tables.

JAX looks elements up at indices that it computes from an iota: where an image is scaled, by a division and a rounding,
and then negative ones are moved.  A kernel would compute them for each element of the gather's result.  What they are
is known when the program is compiled, and a small table of them stays in a cache.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from compiler.analysis.opcodes import MOVES
from compiler.analysis.work import work
from compiler.interpreter import evaluate_instruction
from compiler.ir.literal import Literal
from compiler.ir.module import Instruction, Module
from compiler.ir.opdef import Value
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import ArrayShape, without_layout
from compiler.ops import OPS, Trait, having

_LARGEST = 1 << 14
"""Indices of a table: with 64 KiB of s32 it leaves most of an L2 cache to what is looked up."""
_FEWEST_USES = 2
"""How often each index has to be used for a table of them: what is used once is read no faster than computed."""
_LARGEST_CONE = 64
"""Instructions that compute indices: JAX's scaling of an image has 12."""
_MOST_WORK = float(1 << 21)
"""Elements that are evaluated for a table, which is about a hundredth of a second."""
_COMPUTED = having(Trait.ELEMENTWISE | Trait.MOVES | Trait.SELECTS | Trait.GENERATES)


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    changed = False
    for computation in module.computations:
        found = dict(_computed_indices(computation.instructions))
        literals = [_evaluated(*each) for each in found.items()]  # all first, as tables come to stand in cones
        for indices, literal in zip(found, literals, strict=True):
            if fuel.spend("tabulate", indices):
                table = Instruction("constant", indices.shape, (), {"literal": literal}, name=indices.name)
                indices.replace_uses_with(computation.add(table))
                changed = True
        if found:
            computation.sort()
    return changed


def _computed_indices(instructions: list[Instruction]) -> Iterator[tuple[Instruction, tuple[Instruction, ...]]]:
    """Indices of gathers of which a table pays, and what they are computed from, operands first."""
    for gather in instructions:
        if gather.opcode != "gather" or gather.array.size < _FEWEST_USES * gather.operands[1].array.size:
            continue
        indices = gather.operands[1]
        if indices.array.size > _LARGEST:
            continue
        cone = _cone(indices)
        if cone and sum(work(one, {}) for one in cone) <= _MOST_WORK:
            yield indices, cone


def _cone(indices: Instruction) -> tuple[Instruction, ...]:
    """What indices are computed from, operands first; nothing where that is not known, or is no computation."""
    found: dict[Instruction, None] = {}

    def goes(value: Instruction) -> bool:
        if value in found:
            return True
        if len(found) > _LARGEST_CONE or not _is_known(value) or not all(map(goes, value.operands)):
            return False
        found[value] = None
        return True

    known = goes(indices) and any(value.opcode not in MOVES for value in found)
    return tuple(found) if known else ()


def _is_known(value: Instruction) -> bool:
    if value.opcode not in _COMPUTED or OPS[value.opcode].evaluate is None or not isinstance(value.shape, ArrayShape):
        return False
    return not value.array.is_dynamic and (value.opcode != "constant" or value.literal.array is not None)


def _evaluated(indices: Instruction, cone: tuple[Instruction, ...]) -> Literal:
    values: dict[Instruction, Value] = {}
    for one in cone:
        values[one] = evaluate_instruction(one, [values[operand] for operand in one.operands])
    array = np.ascontiguousarray(values[indices]).reshape(indices.array.dims)
    return Literal(indices.array if indices.array.layout else without_layout(indices.shape), array)
