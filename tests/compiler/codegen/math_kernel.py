"""A loop over arrays that calls one math function: what the tests of the math functions compile and run."""

from __future__ import annotations

import ctypes
import functools

import numpy as np

from compiler.codegen import llvm, math
from compiler.codegen.llvm_ir import I64, PTR, Builder, Module, Value, element_of, integer

DTYPES = {"float": np.dtype(np.float32), "double": np.dtype(np.float64)}


def loop_module(opcode: str, type_: str) -> Module:
    """`kernel(x, [y,] out, n)`: the function applied to every element."""
    module = Module()
    arity, align = math.FUNCTIONS[opcode].arity, DTYPES[element_of(type_)].itemsize
    pointers = [(f"{PTR} noalias", f"p{index}") for index in range(arity + 1)]
    kernel = module.function("kernel", "void", [*pointers, (I64, "n")])
    builder = Builder(kernel)
    *arrays, result = (Value(PTR, f"%p{index}") for index in range(arity + 1))
    with builder.loop(integer(0), Value(I64, "%n")) as loop:
        addresses = [builder.gep(type_, array, loop.index) for array in arrays]
        operands = [builder.load(type_, address, align=align) for address in addresses]
        builder.store(math.emit(builder, opcode, operands), builder.gep(type_, result, loop.index), align=align)
    builder.ret()
    return module


@functools.cache
def _compiled(opcode: str, type_: str) -> tuple[llvm.Library, ctypes._CFuncPtr]:
    target = llvm.Target.host()
    module = llvm.parse(str(loop_module(opcode, type_)), target, 3)
    llvm.optimise(module, target, 3)
    library = llvm.Library(module, ["kernel"], target, 3)
    arguments = [ctypes.c_void_p] * (math.FUNCTIONS[opcode].arity + 1)
    return library, library.function("kernel", None, *arguments, ctypes.c_int64)


def apply(opcode: str, type_: str, *operands: np.ndarray) -> np.ndarray:
    """The function of every element, computed by our code on this machine; vectors must fill the arrays."""
    operands = tuple(np.ascontiguousarray(operand, DTYPES[element_of(type_)]) for operand in operands)
    result = np.empty_like(operands[0])
    lanes = 1 if type_ in DTYPES else int(type_[1 : type_.index(" ")])
    _, function = _compiled(opcode, type_)
    function(*(array.ctypes.data for array in (*operands, result)), result.size // lanes)
    return result


def ulp_errors(result: np.ndarray, truth: np.ndarray, tail: np.ndarray | float = 0.0) -> np.ndarray:
    """Distances of the results from `truth + tail` in units of the last place of the truth, denormals' own included."""
    info = np.finfo(result.dtype)
    with np.errstate(all="ignore"):
        wide = truth.astype(np.float64)
        _, exponent = np.frexp(np.where(np.isfinite(wide), wide, 0))
        unit = np.ldexp(1.0, np.maximum(exponent - 1, info.minexp) - info.nmant)
        errors = np.abs((result.astype(np.float64) - wide) - tail) / unit
        # Beyond half a unit above the largest number, and only there, infinity is the right result.
        rounded = wide.astype(result.dtype)
        same = (np.isnan(result) & np.isnan(wide)) | (np.isinf(result) & (result == rounded))
        barely = np.isinf(result) & (np.abs(rounded) == info.max) & (np.sign(result) == np.sign(wide))
        errors = np.where(same, 0.0, np.where(barely, 1.0, errors))
    return np.where(np.isnan(errors), np.inf, errors)
