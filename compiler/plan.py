"""How the reference will run a program, settled once: the order of its steps, when values die, the memory it takes.

A computation is planned once: which meaning each instruction has, where its operands are, which values die with it.
The memory that a run takes at its worst moment follows from the plans, so nothing is allocated in vain.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from compiler.diagnostics import InputError, UnsupportedError
from compiler.ir.manual import is_crossing
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.opdef import Evaluate, Evaluator, Op, Value
from compiler.ir.shape import ArrayShape, Shape, TupleShape, leaves
from compiler.ops import OPS, Trait, having, narrowing
from compiler.ops.collective import NUMBERS
from compiler.ops.collective import OPS as COLLECTIVES
from compiler.ops.host import OPS as _HOST
from compiler.precision import evaluation, is_mixed

LOOKING_BEYOND = frozenset(COLLECTIVES) | frozenset(_HOST)
"""Opcodes by which a device looks beyond itself: at others, its host or its own number."""

_HOSTED = "its queue is the host's: call `compiler.interpret_devices` with `hosts=[compiler.Host(...)]`"

EXCHANGING = LOOKING_BEYOND - NUMBERS
"""Those of them that send or receive."""


def looks_beyond(instruction: Instruction) -> bool:
    """Whether a device looks beyond itself here, be it only at its own number."""
    return instruction.opcode in LOOKING_BEYOND or is_crossing(instruction)


def exchanges(instruction: Instruction) -> bool:
    """Whether a device sends or receives here; its part of a whole array it takes of others, in a way."""
    return instruction.opcode in EXCHANGING or is_crossing(instruction)


_MOST_BYTES = 2**63 - 1
"""Bytes of an array: indices are i64."""
_MOST_DEVICES = 1 << 16
"""Devices that one process stands for: each has values of its own, and the largest pods have some 9,000."""

DEEPEST_CALLS = 150
"""How deep computations may call each other; each level takes some Python frames."""

HANDED_ON = having(Trait.STRUCTURAL)
"""Opcodes that make no values: they are there before, or part of others."""

VIEWS = HANDED_ON | narrowing(Trait.MOVES | Trait.GENERATES, "broadcast iota reshape transpose slice reverse")
"""Opcodes whose values take no memory of their own: NumPy has them as strides over what is there."""


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction to run; `evaluate` is None for a parameter, `dead` are the values nobody needs after it."""

    instruction: Instruction
    evaluate: Evaluate | None
    operands: tuple[int, ...]
    dead: tuple[int, ...]


def check_inputs(module: Module, inputs: Sequence[Any]) -> list[Value]:
    """The inputs as the entry parameters' values; an InputError names the parameter that one does not fit.

    One array per leaf: a parameter that is a tuple takes as many inputs as it has leaves.
    """
    parameters = module.entry.parameters
    expected = sum(1 for parameter in parameters for _ in leaves(parameter.shape))
    if len(inputs) != expected:
        raise InputError(
            f"{module.name} takes {expected} inputs, {len(inputs)} given: give one for each parameter leaf"
        )
    pending = iter(inputs)
    return [_argument(parameter, parameter.shape, pending) for parameter in parameters]


def _argument(parameter: Instruction, shape: Shape, pending: Iterator[Any]) -> Value:
    if isinstance(shape, TupleShape):
        return tuple(_argument(parameter, element, pending) for element in shape.elements)
    expected = shape if isinstance(shape, ArrayShape) else shape.array
    value = np.asarray(next(pending), order="C")  # NumPy sums in the order of memory
    if not value.dtype.isnative:  # as files have them that another machine wrote; executables take them too
        value = value.astype(value.dtype.newbyteorder("="))
    where = f"parameter {parameter.parameter_number} ({parameter.name})"
    if value.dtype != expected.element_type.dtype:
        raise InputError(
            f"{where} takes {expected.element_type.dtype} for {expected}, {value.dtype} given: convert the input"
        )
    flags = expected.dynamic or (False,) * expected.rank
    fits = value.ndim == expected.rank and all(
        n == d or d < 0 or (flag and n <= d) for n, d, flag in zip(value.shape, expected.dims, flags, strict=True)
    )
    if not fits:
        raise InputError(f"{where} has shape {list(expected.dims)}, {list(value.shape)} given")
    return value


def plan(computation: Computation, handled: Collection[str] = ()) -> tuple[list[Step], int]:
    """The steps of a computation and which of them is its result; `handled` opcodes need no meaning."""
    index = {instruction: i for i, instruction in enumerate(computation.instructions)}
    last = {operand: i for i, instruction in enumerate(computation.instructions) for operand in instruction.operands}
    steps = []
    for i, instruction in enumerate(computation.instructions):
        op = _known(instruction, handled)
        dead = {index[o] for o in (*instruction.operands, instruction) if last.get(o, i) == i}
        dead.discard(index[computation.root])
        operands = tuple(index[operand] for operand in instruction.operands)
        evaluate = _elsewhere if op.evaluate is None and instruction.opcode in handled else op.evaluate
        if is_mixed(instruction):
            evaluate = evaluation(instruction)
        steps.append(Step(instruction, evaluate, operands, tuple(dead)))
    return steps, index[computation.root]


def _known(instruction: Instruction, handled: Collection[str]) -> Op:
    """The record of an instruction that has a meaning here, or whose opcode is handled elsewhere."""
    op = OPS.get(instruction.opcode)
    if op is None or (op.evaluate is None and instruction.opcode != "parameter" and instruction.opcode not in handled):
        raise instruction.unsupported(_HOSTED if instruction.opcode in _HOST else "", by="the interpreter")
    return op


def check_module(module: Module, *, copies: int = 1, views: frozenset[str] = VIEWS) -> None:
    """Refuse what cannot be run, so many times at once, before anything is allocated: deep calls, large values.

    Nearly always all values together would fit, and nobody has to know which of them are there at the same time.

    Args:
        module: the program.
        copies: devices for which its values are there at once.
        views: opcodes whose results take no memory of their own.
    """
    _check_depth(module)
    most = _bytes_of(module.entry.root.shape)
    for instruction in module.instructions():
        _known(instruction, _HOST)
        most += _bytes_of(instruction.shape)
    if has_bytes(copies * most):
        return
    check_bytes(module, copies * peak_bytes(module, views), by="the interpreter")


def check_bytes(module: Module, need: int, *, by: str) -> None:
    """Refuse to run a module that takes more memory than this machine has.

    Args:
        module: for the message.
        need: bytes.
        by: who refuses.
    """
    if not has_bytes(need):
        reason = f"it would need {need} bytes of memory, this machine has {_memory_bytes()}; use smaller shapes"
        raise UnsupportedError(f"module {module.name}", by, reason)


def check_addressable(module: Module) -> None:
    """Refuse a module with an array that has more bytes than an index can count, for whichever machine it is."""
    for instruction in module.instructions():
        for shape in leaves(instruction.shape):
            if shape.size_bytes > _MOST_BYTES:
                reason = f"{instruction.name} takes {shape.size_bytes} bytes, more than 2^63 - 1; use smaller shapes"
                raise UnsupportedError(f"module {module.name}", "this compiler", reason)


def has_bytes(need: int) -> bool:
    """Whether this machine has so much memory."""
    return need <= _memory_bytes()


@cache
def _memory_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def interface_bytes(module: Module) -> int:
    """The memory that the inputs and the results of a run take."""
    return sum(max(shape.size_bytes, 0) for shape in (*input_shapes(module), *result_shapes(module)))


def device_count(module: Module) -> int:
    """On how many devices a module runs; one by which no device looks beyond itself is a program for one.

    Raises:
        UnsupportedError: they are more than are run in one process.
    """
    devices: int = module.attributes.get("replica_count", 1) * module.attributes.get("num_partitions", 1)
    looks = devices > 1 and any(map(looks_beyond, module.instructions()))
    if looks and devices > _MOST_DEVICES:
        reason = f"it is for {devices} devices, and at most {_MOST_DEVICES} are run in one process"
        raise UnsupportedError(f"module {module.name}", "the interpreter", reason)
    return devices if looks else 1


def is_of_wholes(module: Module) -> bool:
    """Whether a program for several devices is written for whole arrays, and says itself where they are cut."""
    return device_count(module) > 1 and any(map(is_crossing, module.instructions()))


def times_given(module: Module) -> int:
    """How often a run takes the parameters and gives the results: once for each device, whole arrays once in all."""
    return 1 if is_of_wholes(module) else device_count(module)


def input_shapes(module: Module) -> list[ArrayShape]:
    """The shapes that a run of the module takes: the leaves of the entry parameters, as often as they are given."""
    return [leaf for parameter in module.entry.parameters for leaf in leaves(parameter.shape)] * times_given(module)


def result_shapes(module: Module) -> list[ArrayShape]:
    """The shapes that a run gives: the leaves of the root that hold anything, as often as they are given."""
    return [leaf for leaf in leaves(module.entry.root.shape) if leaf.element_type.bits] * times_given(module)


def check_one_device(module: Module) -> None:
    """Refuse a program for several devices: the meaning of a collective here is that on one."""
    devices = device_count(module)
    if devices > 1:
        raise UnsupportedError(f"module {module.name}", "the interpreter", f"it is a program for {devices} devices")


def _elsewhere(instruction: Instruction, _: Sequence[Value], __: Evaluator) -> Value:
    """Stands for the meaning of a handled opcode, which only the one who handles it knows."""
    raise instruction.unsupported(by="the interpreter")


def _check_depth(module: Module) -> None:
    """Refuse call chains that would exhaust Python's stack; callees come before callers in a module."""
    depth: dict[Computation, int] = {}
    for computation in module.computations:
        callees = computation.called_computations()
        depth[computation] = 1 + max((depth.get(callee, 0) for callee in callees), default=0)
    deepest = depth.get(module.entry, 0)
    if deepest > DEEPEST_CALLS:
        reason = f"calls nest {deepest} deep, {DEEPEST_CALLS} is the most; inline some of them"
        raise UnsupportedError(f"module {module.name}", "the interpreter", reason)


def peak_bytes(module: Module, views: frozenset[str] = VIEWS) -> int:
    """An estimate of the memory that running a module takes at its worst moment; views take none of their own."""
    peaks: dict[Computation, int] = {}
    for computation in module.computations:
        live = peak = 0
        for step in plan(computation, _HOST)[0]:
            live += _own_bytes(step.instruction, views)
            inner = max((peaks.get(callee, 0) for callee in step.instruction.called_computations()), default=0)
            peak = max(peak, live + inner)
            live -= sum(_own_bytes(computation.instructions[i], views) for i in step.dead)
        peaks[computation] = peak
    results = sum(leaf.size_bytes for leaf in leaves(module.entry.root.shape))
    return peaks.get(module.entry, 0) + results


def _own_bytes(instruction: Instruction, views: frozenset[str]) -> int:
    return 0 if instruction.opcode in views else _bytes_of(instruction.shape)


def _bytes_of(shape: Shape) -> int:
    return sum(max(leaf.size_bytes, 0) for leaf in leaves(shape))
