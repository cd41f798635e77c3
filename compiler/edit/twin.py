"""The integer twin of a program: the same graph on integers of the widths that its floats have.

Integers wrap around, so that every order of a sum gives the same bits: what a tolerance would let pass, such as an
element that is taken from beside the right one, is a difference here.  What says how numbers are rounded has no place
in a twin, and functions that integers do not have are replaced by `not` and `xor`, which lose nothing of an operand.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from compiler.diagnostics import CompilerError, UnsupportedError
from compiler.edit.draft import Draft
from compiler.edit.shapes import infer_all, map_leaves, map_literal
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.opdef import Array
from compiler.ir.shape import ArrayShape, leaves
from compiler.ir.types import F8E8M0, PRED, TYPES, ElementType
from compiler.ops import OPS, Trait, having, narrowing

_BY = "the integer twin"
_OF_FLOATS = ("algorithm", "exponent_bits", "mantissa_bits", "operand_precision", "result_accuracy", "type")
"""Attributes that say how floats are rounded or ordered."""
_ONLY_FLOATS = {"custom-call", "rng", "stochastic-convert"} | narrowing(
    Trait.ACCUMULATES,
    "batch-norm-grad batch-norm-inference batch-norm-training cholesky fft triangular-solve",
)
"""What has no meaning on integers; other sums have."""
_PASSED_ON = having(Trait.STRUCTURAL) - {"constant"}
_STAND_INS = {1: "not", 2: "xor"}
_MOST_BITS = 8
"""Bits of a number that a twin begins with, so that sums of thousands of products of two are exact in 32 bits."""
_iinfo: Any = ml_dtypes.iinfo  # knows NumPy's own integers as well; untyped


def integer_twin(module: Module) -> Module:
    """The twin of a module, a copy; where integers cannot take the place of its floats, UnsupportedError says why."""
    draft = Draft.of(module)
    found = [i for i in draft.module.instructions() if any(map(_is_float, _types(i)))]
    if not found:
        raise UnsupportedError(module.name, _BY, "it computes with no floats")
    for instruction in found:
        _check(instruction)
    for instruction in found:
        _turn(instruction)
    if not infer_all(draft.module):
        raise UnsupportedError(module.name, _BY, "its shapes do not fit integers")
    return draft.finish().module


def _types(instruction: Instruction) -> list[ElementType]:
    """The types that an instruction takes and gives."""
    shapes = [instruction.shape, *(operand.shape for operand in instruction.operands)]
    return [leaf.element_type for shape in shapes for leaf in leaves(shape)]


def _is_float(type_: ElementType) -> bool:
    return type_.is_float or type_.is_complex


def _check(instruction: Instruction) -> None:
    """Refuse what integers have nothing for, and loops that need not end once their floats are integers."""
    if instruction.opcode in _ONLY_FLOATS:
        raise instruction.unsupported("integers have nothing for it", by=_BY)
    if any(type_.is_complex for type_ in _types(instruction)):
        raise instruction.unsupported("it is of complex numbers", by=_BY)
    if instruction.opcode == "while" and _decides(instruction.attributes["condition"]):
        raise instruction.unsupported("how often it iterates depends on floats", by=_BY)


def _decides(condition: Computation) -> bool:
    return any(
        instruction.opcode not in _PASSED_ON and any(map(_is_float, _types(instruction)))
        for instruction in condition.instructions
    )


def _turn(instruction: Instruction) -> None:
    """Make an instruction on floats one on integers."""
    instruction.shape = map_leaves(instruction.shape, _on_integers)
    if instruction.opcode == "constant":
        instruction.attributes["literal"] = map_literal(instruction.literal, _on_integers, _whole)
    for name in _OF_FLOATS:
        instruction.attributes.pop(name, None)
    op = OPS[instruction.opcode]
    if op.elementwise and not _is_inferred(instruction):
        count = len(instruction.operands)
        if count not in _STAND_INS:
            raise instruction.unsupported("integers of several widths do not mix", by=_BY)
        is_to_pred = instruction.array.element_type is PRED and count == 1
        instruction.opcode = "convert" if is_to_pred else _STAND_INS[count]


def _is_inferred(instruction: Instruction) -> bool:
    try:
        OPS[instruction.opcode].infer(instruction)
    except CompilerError:
        return False
    return True


def _on_integers(array: ArrayShape) -> ArrayShape:
    return array.with_type(_integer_of(array.element_type)) if array.element_type.is_float else array


def _integer_of(type_: ElementType) -> ElementType:
    """As wide as a float, or a byte where none is; with a sign if that has one."""
    bits = type_.bits if f"s{type_.bits}" in TYPES else 8
    return TYPES[f"u{bits}" if type_ is F8E8M0 else f"s{bits}"]


def _whole(array: Array, target: ElementType) -> Array:
    """Whole numbers as they are, the first bits of others, and the extremes for infinities."""
    if array.dtype == target.dtype:
        return array
    low, high = int(_iinfo(target.dtype).min), int(_iinfo(target.dtype).max)
    numbers = array.astype(np.float64)
    first = np.rint(np.frexp(numbers)[0] * 2.0 ** min(_MOST_BITS, target.bits - 1))
    finite = np.isfinite(numbers)
    is_whole = finite & (np.rint(numbers) == numbers) & (np.abs(numbers) < 2.0**62)
    wanted = np.where(is_whole, numbers, np.where(finite, first, 0.0)).astype(np.int64)
    wanted = np.clip(wanted, low, high)
    wanted = np.where(np.isposinf(numbers), high, np.where(np.isneginf(numbers), low, wanted))
    return wanted.astype(target.dtype)
