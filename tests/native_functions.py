"""Functions of one integer that a test emits, compiled for this machine and called."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from compiler.codegen import llvm
from compiler.codegen.llvm_ir import Builder, Module, Value


def native(width: int, emit: Callable[[Builder, Value], Value]) -> Callable[[int], int]:
    """What code makes of an integer of that many bits, another of as many."""
    module, type_ = Module(), f"i{width}"
    builder = Builder(module.function("f", "i64", [("i64", "x")]))
    given = Value("i64", "%x")
    given = builder.cast("trunc", given, type_) if width < 64 else given
    found = emit(builder, given)
    builder.ret(builder.cast("zext", found, "i64") if width < 64 else found)
    target = llvm.Target.host()
    library = llvm.Library(llvm.parse(str(module), target, 0), ("f",), target, 0)
    function = library.function("f", ctypes.c_uint64, ctypes.c_uint64)
    return lambda bits: function(bits) if library else 0
