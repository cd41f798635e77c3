"""Wide rules of ops on the bits of the program's own types, which no f64 has.

The bits of a NaN are open, and of a zero it may be the sign.  Where elements are cut anew, what has a bit of an open
one is open: which that is shows where the operation is done on elements whose bits are all others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.module import Instruction
from compiler.ir.numbers import Array, narrow
from compiler.wide.lifting import lift_type
from compiler.wide.numbers import Wide, exact, tainted, unknown
from compiler.wide.rule import Context, Rule

_BYTE, _ONES = 8, 0xFF
"""Bits of a byte, and one with all of them."""


def own_bits(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """Ops on the bits of the own type: known where the operands are exact.

    Args:
        instruction: an op on bits.
        operands: with their errors.
        context: what is known of the program.
    """
    original = context.originals[instruction]
    types = [source.array.element_type for source in original.operands]
    arrays = [
        narrow(o.value, kind) if kind.is_float or kind.is_complex else o.value
        for o, kind in zip(operands, types, strict=True)
    ]
    value = np.asarray(context.evaluate(original, arrays))
    lifted = value.astype(lift_type(original.array.element_type).dtype)
    if original.opcode in ("bitcast", "bitcast-convert"):
        is_open = np.broadcast_to(operands[0].error > 0, arrays[0].shape)
        if types[0].is_float or types[0].is_complex:
            is_open = is_open | _has_open_sign(original.operands[0], arrays[0], context)
        return Wide(lifted, np.where(_reached(original, arrays[0], is_open, context), np.inf, 0.0))
    if all(operand.is_exact for operand in operands):
        return exact(lifted)
    is_by_elements = all(operand.value.shape == lifted.shape for operand in operands)
    return tainted(lifted, operands) if is_by_elements else unknown(lifted)


def _has_open_sign(source: Instruction, array: Array, context: Context) -> Array:
    """Of which elements bits are up to an implementation: of a NaN sign and payload, of a zero it may be the sign."""
    is_open = np.isnan(array)
    return is_open if source in context.signed else is_open | (array == 0)


def _reached(recut: Instruction, array: Array, is_open: Array, context: Context) -> Array:
    """Which elements have bits of some of those that are open: they are others where these are all 0 or all 1."""
    if not is_open.any():
        return np.zeros(recut.array.dims, np.bool_)
    bits = recut.operands[0].array.element_type.bits
    ones = (1 << bits) - 1 if bits < _BYTE else _ONES
    low, high = (np.asarray(context.evaluate(recut, [_filled(array, is_open, byte)])) for byte in (0, ones))
    return np.asarray((_bytes(low) != _bytes(high)).any(axis=-1))


def _filled(array: Array, where: Array, byte: int) -> Array:
    """The array with that byte for each one of some elements."""
    raw = _bytes(array).copy()
    raw[where] = byte
    return raw.view(array.dtype).reshape(array.shape)


def _bytes(array: Array) -> Array:
    """Those of each element along another axis."""
    return np.ascontiguousarray(array).view(np.uint8).reshape(*array.shape, array.itemsize)


RULES: dict[str, Rule] = dict.fromkeys(("bitcast-convert", "stochastic-convert"), own_bits)
