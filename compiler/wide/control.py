"""Wide rules of control flow, which goes the way that the values say; past a close decision nothing is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.calls import reached
from compiler.ir.module import Computation, Instruction
from compiler.ir.shape import TupleShape
from compiler.ir.types import PRED
from compiler.ops.control import branches
from compiler.wide.numbers import Wide, WideValue, exact, hull, unknown
from compiler.wide.rule import Context, Rule


def _poisoned(value: Any) -> WideValue:
    return tuple(map(_poisoned, value)) if isinstance(value, tuple) else unknown(value.value)


def _while(instruction: Instruction, operands: Sequence[Any], context: Context) -> WideValue:
    """Past a condition that is not known, so is the state; in wider types the loop might not end at all."""
    condition, body = instruction.attributes["condition"], instruction.attributes["body"]
    state: WideValue = operands[0]
    while True:
        goes_on = context.call(condition, [state])
        assert isinstance(goes_on, Wide)
        if not goes_on.is_exact:
            return _poisoned(state)
        if not goes_on.value:
            return state
        state = context.call(body, [state])


def _conditional(instruction: Instruction, operands: Sequence[Any], context: Context) -> WideValue:
    selector, *arguments = operands
    choices = _choices(instruction, arguments)
    if instruction.operands[0].array.element_type is PRED:
        chosen = 0 if selector.value else 1
    else:
        index = int(selector.value)
        chosen = index if 0 <= index < len(choices) else len(choices) - 1
    result = context.call(choices[chosen][0], [choices[chosen][1]])
    if selector.is_exact:
        return result
    if any(_may_not_end(computation) for computation, _ in choices):
        return _poisoned(result)
    for computation, argument in choices:
        result = _joined(result, context.call(computation, [argument]))
    return result


def _may_not_end(computation: Computation) -> bool:
    """Whether a computation has a loop, which may go on for ever on what it is not called with."""
    return any(i.opcode == "while" for callee in reached([computation]) for i in callee.instructions)


def _choices(instruction: Instruction, arguments: Sequence[Any]) -> list[tuple[Computation, Any]]:
    """The branches with their arguments; of a predicate's the one for true first."""
    computations = list(branches(instruction))
    if instruction.operands[0].array.element_type is PRED and "true_computation" in instruction.attributes:
        computations.reverse()
    return list(zip(computations, arguments, strict=True))


def _joined(left: Any, right: Any) -> Any:
    if isinstance(left, tuple):
        return tuple(_joined(a, b) for a, b in zip(left, right, strict=True))
    return hull(left, right)


def _map(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """A computation of scalars runs once on whole arrays where all of it is elementwise."""
    computation: Computation = instruction.attributes["to_apply"]
    dims = operands[0].value.shape
    if context.loop.is_mappable(computation):
        result = context.call(computation, operands)
        assert isinstance(result, Wide)
        return Wide(np.broadcast_to(result.value, dims), np.broadcast_to(result.error, dims))
    results = []
    for at in np.ndindex(dims):
        element = context.call(computation, [Wide(np.asarray(o.value[at]), np.asarray(o.error[at])) for o in operands])
        assert isinstance(element, Wide)
        results.append(element)
    dtype = instruction.array.element_type.dtype
    value = np.array([r.value for r in results], dtype).reshape(dims)
    return Wide(value, np.array([r.error for r in results], np.float64).reshape(dims))


def _scan(instruction: Instruction, operands: Sequence[Wide], context: Context) -> WideValue:
    """Step by step along one dimension, as the op's meaning does."""
    carries, along = instruction.attributes["num_carries"], instruction.attributes["dimensions"][0]
    count = len(operands) - carries
    carried: list[Any] = list(operands[count:])
    steps: list[Sequence[Any]] = []
    order = range(operands[0].value.shape[along])
    is_reverse = instruction.attributes.get("is_reverse", False)
    for index in reversed(order) if is_reverse else order:
        elements = [
            Wide(np.take(o.value, index, axis=along), np.take(o.error, index, axis=along)) for o in operands[:count]
        ]
        result = context.call(instruction.attributes["to_apply"], [*elements, *carried])
        results = result if isinstance(result, tuple) else (result,)
        outputs = len(results) - carries
        steps.append(results[:outputs])
        carried = list(results[outputs:])
    if is_reverse:
        steps.reverse()
    shape = instruction.shape
    shapes = shape.elements if isinstance(shape, TupleShape) else (shape,)
    stacked = [_stacked([step[k] for step in steps], shapes[k], along) for k in range(len(shapes) - carries)]
    final = (*stacked, *carried)
    return final if isinstance(shape, TupleShape) else final[0]


def _stacked(slices: Sequence[Wide], shape: Any, along: int) -> Wide:
    if not slices:
        return exact(np.zeros(shape.dims, shape.element_type.dtype))
    return Wide(np.stack([p.value for p in slices], axis=along), np.stack([p.error for p in slices], axis=along))


RULES: dict[str, Rule] = {"while": _while, "conditional": _conditional, "map": _map, "scan": _scan}
