"""Custom calls whose meaning is a Python function: native code calls back, by one thread, with the interpreter's lock.

What goes wrong in Python cannot pass through native code.  It is kept, the results are zeros, and the call of the whole
program raises it at its end.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.backends.cpu.kernels.emitted import begin
from compiler.backends.cpu.kernels.strategy import Functions, Given, Kind, Plan, Strategy
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import PTR, Builder, Module, Value, integer
from compiler.codegen.signature import arguments
from compiler.ir.meanings import called
from compiler.ir.numbers import Array
from compiler.ir.shape import ArrayShape

_WORK_NS = 10_000.0
"""About what it takes to call Python: worth giving up the lock for, and no reason for more threads."""

_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Callback:
    """A Python function that native code can call; `errors` holds what it raised since somebody looked."""

    def __init__(self, kernel: Kernel) -> None:
        self.instruction = kernel.instruction
        numbers = dict(kernel.leaves)
        self._operands = [(numbers[operand], operand.array) for operand in kernel.instruction.operands]
        self._outputs = kernel.outputs
        self._inputs = len(kernel.inputs)
        self.errors: list[BaseException] = []
        self._native = _CALLBACK(self._run)

    @property
    def address(self) -> int:
        """Its address for native code, as long as this object lives."""
        return ctypes.cast(self._native, ctypes.c_void_p).value or 0

    def _run(self, table: int) -> None:
        """Take the kernel's pointers, inputs before outputs."""
        pointers = (ctypes.c_void_p * (self._inputs + len(self._outputs))).from_address(table)
        outputs = [_array(pointers[self._inputs + n] or 0, shape) for n, shape in enumerate(self._outputs)]
        try:
            given = [_array(pointers[number] or 0, shape) for number, shape in self._operands]
            results: Any = called(self.instruction, given)
            for output, result in zip(outputs, results if isinstance(results, tuple) else (results,), strict=True):
                output[...] = result
        except BaseException as error:  # noqa: BLE001 - native code knows no exceptions; it is raised after it
            self.errors.append(error)
            for output in outputs:
                output[...] = np.zeros((), output.dtype)


def _array(address: int, shape: ArrayShape) -> Array:
    """The array that lies at an address."""
    dtype = np.dtype(shape.element_type.dtype)
    if not shape.size:
        return np.empty(shape.dims, dtype)
    memory: Any = (ctypes.c_char * (shape.size * dtype.itemsize)).from_address(address)
    values: Array = np.frombuffer(memory, np.uint8).view(dtype).reshape(shape.dims)
    return values


def _decide(given: Given) -> Plan:
    """The plan, which writes down where everything lies and calls back."""
    kernel = given.kernel
    if not all(isinstance(operand.shape, ArrayShape) for operand in kernel.instruction.operands):
        raise kernel.instruction.unsupported("only arrays can be given to a function", by="the CPU back end")
    callback = Callback(kernel)

    def emit(module: Module) -> Functions:
        builder, pointers = Builder(begin(module, kernel)), [*arguments(kernel).inputs, *arguments(kernel).outputs]
        table = builder.emit(PTR, f"alloca [{max(1, len(pointers))} x ptr], align 8")
        for number, pointer in enumerate(pointers):
            builder.store(pointer, builder.gep(PTR, table, integer(number)))
        target = builder.cast("inttoptr", Value("i64", str(callback.address)), PTR)
        builder.call(target.name, "void", [table])
        builder.ret()
        return (builder.function.name,)

    return replace(given.plan(emit, _WORK_NS, divisible=False), keeps=callback)


FOREIGN = Kind((Strategy("call of Python", _decide),), Given)
"""Custom calls whose meaning is a Python function."""


def errors_of(callbacks: Sequence[Callback]) -> BaseException | None:
    """The first that was raised in a call of a program; the others are forgotten."""
    found = [error for callback in callbacks for error in callback.errors]
    for callback in callbacks:
        callback.errors.clear()
    return found[0] if found else None
