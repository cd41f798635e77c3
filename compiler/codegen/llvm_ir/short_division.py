"""Quotients of 64-bit numbers that are known to fit in 32 bits.

LLVM divides 64 bits by a branch that looks whether 32 will do: four blocks for each division, over which all passes of
code generation go, half a millisecond for a kernel of ten lines.  Where it is told beforehand, one division is left.
Passes that transform loops are not told: they would know that the quotient is small, and might write other loops.
"""

from __future__ import annotations

import re

from compiler.codegen.llvm_ir.builder import Builder
from compiler.codegen.llvm_ir.values import I64, Value

_SAID = " ; 32 bits do"
_QUOTIENT = re.compile(rf"  (%\S+) = udiv i64 (\S+), (\S+){_SAID}")
_SHORT = r"""  \1.left = trunc i64 \2 to i32
  \1.right = trunc i64 \3 to i32
  \1.short = udiv i32 \1.left, \1.right
  \1 = zext i32 \1.short to i64"""


def short_quotient(builder: Builder, left: Value, right: Value) -> Value:
    """`builder` divides `left` by `right`, unsigned, of 64 bits each and below 2^32; a comment says so."""
    return builder.emit(I64, f"udiv i64 {left.name}, {right.name}{_SAID}")


def shortened(text: str) -> str:
    """The text of a function that divides 32 bits where they do."""
    return _QUOTIENT.sub(_SHORT, text) if _SAID in text else text
