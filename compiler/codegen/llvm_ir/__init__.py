"""LLVM IR as text, written straight down.

Emission is most of the compiler's own share of compile time, so an instruction here is one formatted string and an
SSA value is a (type, name) pair.  Types are LLVM's own spelling (`float`, `i64`, `ptr`, `<16 x float>`), and so are
opcodes and flags: whoever knows the LLVM language reference knows this package.  LLVM's parser and verifier check what
was written.

`values` are at the bottom, a `module` holds functions, and a `builder` appends instructions to one of them.
"""

from compiler.codegen.llvm_ir.builder import Builder, Loop
from compiler.codegen.llvm_ir.module import PURE, SM_80, Function, Module, keep_rolled, unroll, unroll_vectors
from compiler.codegen.llvm_ir.short_division import short_quotient, shortened
from compiler.codegen.llvm_ir.values import (
    FLOAT_TYPES,
    I1,
    I8,
    I16,
    I32,
    I64,
    PTR,
    Value,
    alike,
    element_of,
    floating,
    fold,
    integer,
    lanes_of,
    mangled,
    splat,
    vector_type,
    zero,
)
from compiler.codegen.llvm_ir.written_once import write_once

__all__ = [
    "FLOAT_TYPES",
    "I1",
    "I8",
    "I16",
    "I32",
    "I64",
    "PTR",
    "PURE",
    "SM_80",
    "Builder",
    "Function",
    "Loop",
    "Module",
    "Value",
    "alike",
    "element_of",
    "floating",
    "fold",
    "integer",
    "keep_rolled",
    "lanes_of",
    "mangled",
    "short_quotient",
    "shortened",
    "splat",
    "unroll",
    "unroll_vectors",
    "vector_type",
    "write_once",
    "zero",
]
