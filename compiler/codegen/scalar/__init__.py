"""Scalar code of elementwise instructions: one element of the result from one of each operand.

`rules` is the table for real numbers, `complex_rules` that for complex ones.  Here is what they have in common: which
of them is asked, and that its value is rounded once, to the type of the result.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.codegen import complex_numbers, element, math
from compiler.codegen.llvm_ir import Builder, Value
from compiler.codegen.scalar import complex_functions, complex_rules
from compiler.codegen.scalar.rules import APPROXIMATE, CONTRACT, RULES, Scalar
from compiler.diagnostics import UnsupportedError
from compiler.ir.module import Instruction
from compiler.ir.types import F8E8M0, F16, ONE_NAN, ElementType
from compiler.ops import Trait, having, narrowing

__all__ = ["APPROXIMATE", "CONTRACT", "RULES", "emit", "has_fast_path", "multiply_add"]

_ARITHMETIC = having(Trait.IEEE) | APPROXIMATE
"""What has a result in the type that it is computed in, which rounding to a narrower one may rely on."""
_ANY_TYPE = narrowing(Trait.ELEMENTWISE, "select convert copy")
"""What has one rule for numbers of every kind."""
_EXACT = narrowing(Trait.EXACT, "abs maximum minimum clamp sign")
"""What yields a number that the type has whenever the operands are such numbers."""

_WITHOUT_NEGATIVES = (*ONE_NAN, F8E8M0)
"""Floats that lack the negative of some number: of zero, or of all."""


def emit(
    builder: Builder,
    instruction: Instruction,
    operands: Sequence[Value],
    *,
    flags: str = CONTRACT,
    fast: bool = False,
) -> Value:
    """The value of an elementwise instruction from the values of its operands, rounded to the result's type.

    Args:
        builder: where code is emitted.
        instruction: an elementwise one, which gives opcode, attributes and types.
        operands: a value for each operand.
        flags: LLVM's fast-math flags.
        fast: whether operands are those of the opcode's cheaper form (`math.needs_slow_path`).

    Raises:
        UnsupportedError: the opcode has no scalar form on that type.
    """
    opcode = instruction.opcode
    source = instruction.operands[-1 if opcode == "select" else 0].array.element_type
    result = instruction.array.element_type
    if source.is_complex and opcode not in _ANY_TYPE:
        return complex_rules.emit(Scalar(builder, instruction, source, flags, fast), operands)
    if result is F16 and flags == CONTRACT:
        flags = ""  # what is rounded to half is computed in halves where a CPU can, and would be joined there
    rule = RULES.get(opcode)
    if rule is None:
        raise UnsupportedError(f"{opcode} on {source}", "code generation", "no scalar form of it yet")
    value = rule(Scalar(builder, instruction, source, flags, fast), builder.alike(operands))
    is_exact = opcode in _ANY_TYPE or (opcode in _EXACT and result.is_float)
    is_exact |= opcode == "negate" and result.is_float and result not in _WITHOUT_NEGATIVES
    arithmetic = opcode in _ARITHMETIC and source is result
    return value if is_exact else element.round_to(builder, result, value, arithmetic=arithmetic)


def has_fast_path(instruction: Instruction) -> bool:
    """Whether there is a cheaper form for some operands, of one type at least."""
    type_, opcode = instruction.operands[0].array.element_type, instruction.opcode
    return (type_.is_complex and opcode in complex_functions.FAST) or (type_.is_float and math.has_fast_path(opcode))


def multiply_add(builder: Builder, element_type: ElementType, left: Value, right: Value, total: Value) -> Value:
    """`left * right + total` on values of a type.

    Args:
        builder: where code is emitted.
        element_type: that of all three.
        left: a value.
        right: a value.
        total: a value.
    """
    if element_type.is_complex:
        product = complex_functions.emit(builder, "multiply", [left, right])
        assert product is not None
        return complex_numbers.add(builder, total, product, "reassoc")
    if element_type.is_float:
        product = builder.binary("fmul", left, right, CONTRACT)
        return builder.binary("fadd", product, total, CONTRACT)
    return builder.binary("add", builder.binary("mul", left, right), total)
