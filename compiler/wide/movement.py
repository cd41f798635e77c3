"""Wide rules of what moves, holds or makes data: errors take the way that their elements take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.module import Instruction
from compiler.ir.permuting import moves_slice
from compiler.ops import OPS, Trait, having
from compiler.ops.random import check_state
from compiler.wide.bits import own_bits
from compiler.wide.numbers import Wide, exact, held, limits, settle, unknown
from compiler.wide.rule import Context, Rule


def _moved(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    value = np.asarray(context.evaluate(instruction, [o.value for o in operands]))
    if all(operand.is_exact for operand in operands):
        return exact(value)
    return Wide(value, np.asarray(context.evaluate(instruction, [o.error for o in operands]), np.float64))


def _indexed(first_index: int, instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """Ops whose operands from `first_index` on say where."""
    data, indices = operands[:first_index], operands[first_index:]
    where = [index.value for index in indices]
    value = np.asarray(context.evaluate(instruction, [*(d.value for d in data), *where]))
    if not all(index.is_exact for index in indices):
        return unknown(value)
    if all(operand.is_exact for operand in data):
        return exact(value)
    error = context.evaluate(instruction, [*(d.error for d in data), *where])
    return Wide(value, np.asarray(error, np.float64))


def _from_first(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    return _indexed(1, instruction, operands, context)


def _from_second(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    return _indexed(2, instruction, operands, context)


def _bitcast(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    if context.own(instruction) is not context.own(instruction.operands[0]):
        return own_bits(instruction, operands, context)
    (operand,) = operands
    value = np.asarray(context.evaluate(instruction, [operand.value]))
    if operand.is_exact:
        return exact(value)
    carried = operand.error.astype(instruction.array.element_type.dtype)
    if value.dtype.kind not in "fc":
        carried = (operand.error > 0).astype(instruction.array.element_type.dtype)
    error = np.asarray(context.evaluate(instruction, [carried])).real.astype(np.float64)
    return Wide(value, error if value.dtype.kind in "fc" else np.where(error > 0, np.inf, 0.0))


def _iota(instruction: Instruction, _: Sequence[Wide], context: Context) -> Wide:
    value = np.asarray(context.evaluate(instruction, []))
    own = context.own(instruction)
    if value.dtype.kind not in "fc":
        return exact(value)
    error = np.where(held(value, own), 0.0, limits(own).unit * np.abs(value) + limits(own).least)
    return settle(value, error, own)


def _size(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    return exact(context.evaluate(instruction, [operand.value for operand in operands]))


def _random(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Any:
    values = context.evaluate(instruction, [operand.value for operand in operands])
    return tuple(map(unknown, values)) if isinstance(values, tuple) else unknown(values)


def _random_bits(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Any:
    check_state(instruction)
    if not all(operand.is_exact for operand in operands):
        return _random(instruction, operands, context)
    # As many bits as the program's own type has, not as those that floats are lifted to.
    own = context.evaluate(context.originals[instruction], [operand.value for operand in operands])
    return _lifted(own, instruction.shape)


def _lifted(value: Any, shape: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_lifted, value, shape.elements))
    return exact(np.asarray(value).astype(shape.element_type.dtype))


def _held_together(instruction: Instruction, operands: Sequence[Any], context: Context) -> Any:
    """Ops that look at no element: their meaning serves values with errors as well."""
    meaning = OPS[instruction.opcode].evaluate
    assert meaning is not None, f"{instruction.opcode} has a meaning"
    return meaning(instruction, operands, context.loop)


def _permuted(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Any:
    """What arrives, or zeros, which are exact in types that have one; arrays of errors take the same way."""
    values = context.evaluate(instruction, [_apart(operand, "value") for operand in operands])
    # Where slices are taken from and put is as it is for what is wrong about them, too.
    moved = 2 if moves_slice(instruction) else len(operands)
    apart = (_apart(operand, "error" if n < moved else "value") for n, operand in enumerate(operands))
    errors = context.evaluate(instruction, list(apart))
    return _joined(values, errors, context.originals[instruction].shape)


def _apart(operand: Any, field: str) -> Any:
    """The value or the error of a Wide, or of each in a tuple."""
    return tuple(_apart(o, field) for o in operand) if isinstance(operand, tuple) else getattr(operand, field)


def _joined(value: Any, error: Any, shape: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_joined, value, error, shape.elements))
    error = np.asarray(np.real(error), np.float64)  # zeros that nobody sends have the value's type
    return settle(value, error, shape.element_type) if value.dtype.kind in "fc" else Wide(value, error)


def _ragged(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """Rows go where integers say."""
    data, where = operands[:2], operands[2:]
    value = np.asarray(context.evaluate(instruction, [operand.value for operand in operands]))
    if not all(operand.is_exact for operand in where):
        return unknown(value)
    error = context.evaluate(instruction, [*(o.error for o in data), *(o.value for o in where)])
    return Wide(value, np.asarray(error, np.float64))


_TOGETHER = having(Trait.STRUCTURAL | Trait.CALLS | Trait.ASYNC | Trait.COLLECTIVE) - {"parameter"}

RULES: dict[str, Rule] = {
    **dict.fromkeys(having(Trait.MOVES | Trait.SELECTS) - {"bitcast-convert"}, _moved),
    **dict.fromkeys(_TOGETHER, _held_together),
    **dict.fromkeys(having(Trait.IDENTITY) | {"after-all"}, _held_together),
    **dict.fromkeys(("partition-id", "replica-id"), _held_together),
    **dict.fromkeys(("dynamic-slice", "gather", "set-dimension-size", "dynamic-reshape"), _from_first),
    "dynamic-update-slice": _from_second,
    "bitcast": _bitcast,
    "iota": _iota,
    "get-dimension-size": _size,
    "rng": _random,
    "rng-bit-generator": _random_bits,
    **dict.fromkeys(("collective-permute", "collective-permute-start"), _permuted),
    "ragged-all-to-all": _ragged,
}
