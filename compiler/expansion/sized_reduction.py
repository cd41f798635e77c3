"""Reductions of arrays whose sizes are known at run time only: what lies beyond the sizes takes no part.

Where the combiner is known, its identity stands there.  Of one that nobody knows nothing can be said but what it is
given, so every element carries whether it counts, and the combiner is asked about pairs of which both do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.expansion.expression import Expression, element, number
from compiler.expansion.sized import Sized, Sizes, result_of, same_opcode
from compiler.ir.combiner import identity, ufunc
from compiler.ir.control import PREDECESSORS
from compiler.ir.module import Computation, Instruction, inline
from compiler.ir.shape import ArrayShape, TupleShape
from compiler.ir.types import PRED
from compiler.ops.build import build, parameter


def reduced(
    instruction: Instruction, operands: Sequence[Sized], dimensions: Sequence[int], sizes: Sizes
) -> Sized | tuple[Sized, ...]:
    """A reduction of what lies within the sizes of some dimensions; the result has sizes of its own.

    Args:
        instruction: the reduction.
        operands: arrays, then start values.
        dimensions: that are reduced.
        sizes: of the result, by dimension.
    """
    count = len(operands) // 2
    arrays, inits = operands[:count], [init.whole for init in operands[count:]]
    merged = {d: size for array in reversed(arrays) for d, size in array.sizes.items()}
    inside = Sized(arrays[0].instruction, merged).inside(dimensions)
    neutral = _neutral(instruction)
    if inside is None:
        return result_of(same_opcode(instruction, [*arrays, *inits]), sizes)
    if neutral is not None:
        filled = inside.where(arrays[0].whole, arrays[0].whole.literal(neutral))
        return result_of(same_opcode(instruction, [filled, *inits]), sizes)
    counted = _counted(instruction, [array.whole for array in arrays], inits, inside)
    results = tuple(Sized(element(counted, lane), sizes) for lane in range(count))
    return results if isinstance(instruction.shape, TupleShape) else results[0]


def _neutral(instruction: Instruction) -> Any:
    """What leaves the reduction of a single array as it is, where that is known."""
    if len(instruction.operands) > 2:
        return None
    element_type = instruction.operands[0].array.element_type
    function = ufunc(instruction.attributes["to_apply"], element_type)
    return None if function is None else identity(function, element_type)


def _counted(
    instruction: Instruction, arrays: Sequence[Expression], inits: Sequence[Expression], inside: Expression
) -> Instruction:
    """The reduction with whether its elements count beside them, and whether anything did beside its results."""
    old: Computation = instruction.attributes["to_apply"]
    assert old.module is not None
    given = [*arrays, inside, *inits, number(inside.instruction.computation, 1, PRED)]
    attributes = {**instruction.attributes, "to_apply": old.module.add_computation(_counting(old))}
    attributes.pop(PREDECESSORS, None)
    operands = [value.instruction for value in given]
    return build(inside.instruction.computation, instruction.opcode, operands, name=instruction.name, **attributes)


def _counting(old: Computation) -> Computation:
    """A combiner of values that may not count: of two that do it is the old one, else the one that does."""
    combiner, flag = Computation(f"{old.name}.counting"), ArrayShape(PRED, ())
    count = len(old.parameters) // 2
    shapes = [p.shape for p in old.parameters]
    given = [parameter(combiner, k, s) for k, s in enumerate((*shapes[:count], flag, *shapes[count:], flag))]
    (*left, left_counts), (*right, right_counts) = (
        [Expression(value) for value in side] for side in (given[: count + 1], given[count + 1 :])
    )
    root = inline(old, [value.instruction for value in (*left, *right)], combiner.add)
    combined = [element(root, lane) for lane in range(count)] if isinstance(root.shape, TupleShape) else [root]
    both = left_counts & right_counts
    results = [
        both.where(Expression(new), left_counts.where(a, b)).instruction
        for new, a, b in zip(combined, left, right, strict=True)
    ]
    combiner.root = build(combiner, "tuple", [*results, (left_counts | right_counts).instruction])
    return combiner
