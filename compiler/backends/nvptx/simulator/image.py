"""A module in memory: its global and constant variables with their initial values, and a kernel's arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compiler.backends.nvptx.simulator.memory import GLOBAL_BASE, Allocation, Arena
from compiler.backends.nvptx.simulator.operands import immediate_bits
from compiler.backends.nvptx.simulator.rounding import FORMATS
from compiler.backends.nvptx.simulator.syntax import (
    TYPE_BITS,
    Function,
    Immediate,
    Parameter,
    PtxModule,
    Relocation,
    Variable,
)
from compiler.diagnostics import InputError, UnsupportedError


@dataclass(frozen=True, slots=True)
class Image:
    """Where the variables of a loaded module lie; holds the module so that its identity stays its own."""

    module: PtxModule
    addresses: dict[str, int]

    @staticmethod
    def load(module: PtxModule, arena: Arena) -> Image:
        """Allocate and fill the variables; without an initialiser they are zero, as the language says.

        Raises:
            UnsupportedError: a variable is external.
        """
        stored = [v for v in module.variables.values() if v.space in ("global", "const")]
        allocations: dict[str, Allocation] = {}
        for variable in stored:
            if variable.is_extern:
                raise UnsupportedError(f"external variable {variable.name!r}", "the PTX simulator", "define it")
            allocations[variable.name] = arena.allocate(variable.size_bytes, variable.name, is_complete=True)
        addresses = {name: allocation.start for name, allocation in allocations.items()}
        for variable in stored:
            raw = np.frombuffer(_initial_bytes(variable, addresses), np.uint8)
            start = allocations[variable.name].start - GLOBAL_BASE
            arena.data[start : start + raw.size] = raw
            allocations[variable.name].is_writable = variable.space == "global"
        return Image(module, addresses)


def _initial_bytes(variable: Variable, addresses: dict[str, int]) -> bytes:
    size = TYPE_BITS[variable.type] // 8
    integers = [element for element in variable.initial if type(element) is int]
    if variable.type not in FORMATS and len(integers) == len(variable.initial):
        raw = b"".join([(element & ((1 << 8 * size) - 1)).to_bytes(size, "little") for element in integers])
    else:
        raw = b"".join([_element_bytes(element, variable, size, addresses) for element in variable.initial])
    if len(raw) > variable.size_bytes:
        raise InputError(f"variable {variable.name!r} has {variable.size_bytes} bytes but {len(raw)} of initial values")
    return raw


def _element_bytes(
    element: int | float | Immediate | Relocation, variable: Variable, size: int, addresses: dict[str, int]
) -> bytes:
    if isinstance(element, Relocation):
        if element.symbol not in addresses:
            by = "the PTX simulator"
            raise UnsupportedError(
                f"the address of {element.symbol!r} in {variable.name!r}", by, "not a global variable"
            )
        value = addresses[element.symbol] + element.addend
        if element.shift is not None:
            value >>= element.shift
        return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    immediate = element if isinstance(element, Immediate) else Immediate(element)
    return immediate_bits(immediate, variable.type).to_bytes(size, "little")


def encode_arguments(kernel: Function, arguments: Sequence[int | float | bytes | np.generic]) -> bytes:
    """The parameter block of a launch.

    Raises:
        InputError: there are more arguments, or fewer, than the kernel has parameters.
    """
    if len(arguments) != len(kernel.parameters):
        raise InputError(f"{kernel.name} has {len(kernel.parameters)} parameters, {len(arguments)} arguments given")
    block = bytearray(kernel.parameter_bytes)
    for parameter, argument in zip(kernel.parameters, arguments, strict=True):
        raw = _argument_bytes(parameter, argument)
        block[parameter.offset : parameter.offset + parameter.size_bytes] = raw
    return bytes(block)


def _argument_bytes(parameter: Parameter, argument: int | float | bytes | np.generic) -> bytes:
    if isinstance(argument, np.generic):
        argument = argument.tobytes()
    if isinstance(argument, bytes):
        if len(argument) != parameter.size_bytes:
            raise InputError(f"parameter {parameter.name} has {parameter.size_bytes} bytes, {len(argument)} given")
        return argument
    if parameter.size_bytes * 8 != TYPE_BITS[parameter.type]:
        raise InputError(f"parameter {parameter.name} is an array of {parameter.size_bytes} bytes; give bytes")
    if isinstance(argument, float) and parameter.type[0] in "us":
        raise InputError(f"parameter {parameter.name} is .{parameter.type}, {argument!r} is no integer")
    type_ = parameter.type
    if isinstance(argument, float) and type_[0] == "b":
        type_ = f"f{parameter.size_bytes * 8}"
    return immediate_bits(Immediate(argument), type_).to_bytes(parameter.size_bytes, "little")
