"""The rules of elementwise opcodes on complex numbers: arithmetic; functions of them are in `complex_functions`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.codegen import complex_numbers
from compiler.codegen.llvm_ir import I1, Value
from compiler.codegen.scalar import complex_functions
from compiler.codegen.scalar.rules import CONTRACT, Rule, Scalar
from compiler.diagnostics import UnsupportedError
from compiler.ir.module import Instruction


def _function(scalar: Scalar, operands: Sequence[Value]) -> Value:
    """An opcode that takes and yields complex numbers."""
    opcode = scalar.instruction.opcode
    value = complex_functions.emit(scalar.builder, opcode, operands, fast=scalar.fast)
    if value is None:
        raise UnsupportedError(f"{opcode} on {scalar.element_type}", "code generation", "no complex form of it yet")
    return value


def _compare(scalar: Scalar, operands: Sequence[Value]) -> Value:
    equal = complex_numbers.equal(scalar.builder, *operands)
    is_equal = scalar.instruction.attributes["direction"] == "EQ"
    return equal if is_equal else scalar.builder.binary("xor", equal, Value(I1, "true"))


def _add(scalar: Scalar, operands: Sequence[Value]) -> Value:
    """The sum of parts, which a reduction may add up in any order."""
    left, right = operands
    return complex_numbers.add(scalar.builder, left, right, "" if scalar.flags == CONTRACT else scalar.flags)


def _divide(scalar: Scalar, operands: Sequence[Value]) -> Value:
    if _is_real(scalar.instruction.operands[1]):
        return complex_functions.divide_by_real(scalar.builder, operands, fast=scalar.fast)
    return _function(scalar, operands)


def _is_real(value: Instruction) -> bool:
    """Whether complex numbers are seen to have no imaginary part, which is +0."""
    while value.opcode in ("broadcast", "reshape", "bitcast", "copy"):
        value = value.operands[0]
    if value.opcode == "convert":
        return not value.operands[0].array.element_type.is_complex
    imaginary = value.operands[1] if value.opcode == "complex" else value
    if imaginary.opcode != "constant" or imaginary.literal.array is None:
        return False
    numbers = imaginary.literal.array.imag if imaginary is value else imaginary.literal.array
    return not numbers.any() and not np.signbit(numbers).any()


_RULES: dict[str, Rule] = {
    "abs": lambda scalar, operands: complex_numbers.absolute(scalar.builder, operands[0]),
    "add": _add,
    "compare": _compare,
    "divide": _divide,
    "imag": lambda scalar, operands: complex_numbers.component(scalar.builder, operands[0], 1),
    "real": lambda scalar, operands: complex_numbers.component(scalar.builder, operands[0], 0),
}
"""Emission by opcode where the result is no complex number, or where there is more to it than the function."""


def emit(scalar: Scalar, operands: Sequence[Value]) -> Value:
    """The value of an opcode on complex operands."""
    return _RULES.get(scalar.instruction.opcode, _function)(scalar, operands)
