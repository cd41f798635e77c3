"""Functions that a test emits for a kernel, compiled for this machine and called on arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import compiler
from compiler.codegen import llvm
from compiler.codegen.index import Emission, Index
from compiler.codegen.kernel import Kernel, kernel_of
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm_ir import Builder, Module, integer
from compiler.codegen.signature import parameters

Array = np.ndarray[Any, np.dtype[Any]]


def kernel(text: str) -> Kernel:
    """The kernel that the root of a program becomes."""
    return kernel_of(compiler.parse(text).entry.root)


def run(
    kernel: Kernel, emit: Callable[[LaneBuilder], object], inputs: Sequence[Array], start: Array | None = None
) -> Array:
    """What such a function makes of its first result's memory, which begins as `start`, or as zeros.

    Args:
        kernel: whose pointers the function takes.
        emit: writes the function's body.
        inputs: the program's parameters.
        start: what lies in the result before.
    """
    builder = LaneBuilder(Module().function("f", "void", parameters(kernel)))
    emit(builder)
    builder.ret()
    shape = kernel.outputs[0]
    result = np.zeros(shape.dims, shape.element_type.dtype) if start is None else start.copy()
    target = llvm.Target.host()
    library = llvm.Library(llvm.parse(str(builder.module), target, 0), ("f",), target, 0)
    workspace = np.zeros(1 << 12, np.uint8)
    given = [np.asarray(inputs[value.parameter_number]) for value in kernel.inputs]
    arrays = [*given, result, workspace]
    library.function("f", None, *[ctypes.c_void_p] * len(arrays))(*(array.ctypes.data for array in arrays))
    return result


def for_each(count: int, body: Callable[[Emission, Index], object]) -> Callable[[Builder], None]:
    """A function's body that does something for each number below a count."""

    def emit(builder: Builder) -> None:
        with builder.loop(integer(0), integer(count)) as loop:
            emission = Emission(builder)
            body(emission, emission.opaque(loop.index, count))

    return emit
