"""The reference: a program run instruction by instruction on NumPy arrays, by the meanings in the op records.

A computation is planned once (which meaning, where its operands are, which values die with it) and then run in one
short loop.  A computation of scalars can also be *mapped*: run once on whole arrays, which works because elementwise
meanings never look at dimensions; where some instruction does, the elements are taken one by one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.diagnostics import InputError, UnsupportedError
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.opdef import Evaluate, Value
from compiler.ir.shape import ArrayShape, Shape, TupleShape, leaves
from compiler.ops import OPS
from compiler.ops.collective import OPS as COLLECTIVES

Array = NDArray[Any]
Trace = Callable[[Instruction, Value], None]
Around = Callable[[Instruction, Sequence[Value], Callable[[Sequence[Value]], Value]], Value]

DEEPEST_CALLS = 150
"""How deep computations may call each other; each level takes some Python frames."""

_MAPPABLE = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast-convert", "call", "fusion"})
_MOVES = frozenset({"broadcast", "reshape", "transpose", "bitcast"})
_VIEWS = frozenset(
    {
        "parameter",
        "constant",
        "tuple",
        "get-tuple-element",
        "broadcast",
        "iota",
        "reshape",
        "transpose",
        "slice",
        "reverse",
    }
)


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction to run; `evaluate` is None for a parameter, `dead` are the values nobody needs after it."""

    instruction: Instruction
    evaluate: Evaluate | None
    operands: tuple[int, ...]
    dead: tuple[int, ...]


@dataclass(slots=True)
class Interpreter:
    """Runs computations; keeps a plan for each."""

    trace: Trace | None = None
    around: Around | None = None
    plans: dict[Computation, tuple[list[Step], int]] = field(default_factory=dict)
    mappable: dict[Computation, bool] = field(default_factory=dict)

    def call(self, computation: Computation, arguments: Sequence[Value]) -> Value:
        """Evaluate a computation on its arguments."""
        planned = self.plans.get(computation)
        if planned is None:
            planned = self.plans[computation] = _plan(computation)
        steps, root = planned
        values: list[Any] = [None] * len(steps)
        for index, step in enumerate(steps):
            instruction = step.instruction
            if step.evaluate is None:
                values[index] = arguments[instruction.parameter_number]
            else:
                values[index] = self._evaluate(instruction, step.evaluate, [values[i] for i in step.operands])
            if self.trace is not None:
                self.trace(instruction, values[index])
            for dead in step.dead:
                values[dead] = None
        result: Value = values[root]
        return result

    def _evaluate(self, instruction: Instruction, evaluate: Evaluate, operands: Sequence[Value]) -> Value:
        if self.around is None:
            return evaluate(instruction, operands, self)
        return self.around(instruction, operands, lambda values: evaluate(instruction, values, self))

    def map(self, computation: Computation, arguments: Sequence[Array]) -> Value:
        """Evaluate a computation of scalars on every element of arrays that broadcast together, at once."""
        if self._is_mappable(computation):
            return self.call(computation, arguments)
        arrays = np.broadcast_arrays(*arguments)
        results = [self.call(computation, [np.asarray(a[i]) for a in arrays]) for i in np.ndindex(arrays[0].shape)]
        return _stack(results, computation.root.shape, arrays[0].shape)

    def _is_mappable(self, computation: Computation) -> bool:
        known = self.mappable.get(computation)
        if known is None:
            known = self.mappable[computation] = all(
                i.opcode in _MAPPABLE or (i.opcode in OPS and OPS[i.opcode].elementwise) or _moves_scalar(i)
                for i in computation.instructions
            ) and all(self._is_mappable(c) for i in computation.instructions for c in i.called_computations())
        return known


def _moves_scalar(instruction: Instruction) -> bool:
    shapes = (instruction.shape, *(operand.shape for operand in instruction.operands))
    return instruction.opcode in _MOVES and all(isinstance(s, ArrayShape) and not s.dims for s in shapes)


def interpret(module: Module, *inputs: Any, trace: Trace | None = None, around: Around | None = None) -> list[Array]:
    """Run a module; the results are the leaves of the root, in order (tokens carry nothing and are left out).

    `trace` is called with every instruction that ran and its value, those of called computations included.  `around`
    stands in for the meanings: it gets an instruction, its operands' values and the meaning as a function of such
    values, and what it returns is the instruction's value; so rounding errors can be tried out.
    """
    arguments = check_inputs(module, inputs)
    _check_devices(module)
    _check_depth(module)
    _check_memory(module)
    with np.errstate(all="ignore"):
        result = Interpreter(trace, around).call(module.entry, arguments)
    return [np.array(leaf, order="C") for leaf in flatten(result)]


def evaluate_instruction(instruction: Instruction, values: Sequence[Value]) -> Value:
    """The value of one instruction on given operands, as constant folding and bisection need it."""
    evaluate = OPS[instruction.opcode].evaluate if instruction.opcode in OPS else None
    if evaluate is None:
        raise UnsupportedError(f"opcode {instruction.opcode}", "the interpreter")
    with np.errstate(all="ignore"):
        return evaluate(instruction, values, Interpreter())


def flatten(value: Value) -> Iterator[Array]:
    """The arrays of a value in order, tuples flattened."""
    if isinstance(value, tuple):
        for element in value:
            yield from flatten(element)
    else:
        yield value


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
    value = np.asarray(next(pending))
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


def _plan(computation: Computation) -> tuple[list[Step], int]:
    index = {instruction: i for i, instruction in enumerate(computation.instructions)}
    last = {operand: i for i, instruction in enumerate(computation.instructions) for operand in instruction.operands}
    steps = []
    for i, instruction in enumerate(computation.instructions):
        op = OPS.get(instruction.opcode)
        if op is None or (op.evaluate is None and instruction.opcode != "parameter"):
            raise UnsupportedError(f"opcode {instruction.opcode} ({instruction.name})", "the interpreter")
        dead = {index[o] for o in (*instruction.operands, instruction) if last.get(o, i) == i}
        dead.discard(index[computation.root])
        operands = tuple(index[operand] for operand in instruction.operands)
        steps.append(Step(instruction, op.evaluate, operands, tuple(dead)))
    return steps, index[computation.root]


def _stack(results: Sequence[Value], shape: Shape, dims: tuple[int, ...]) -> Value:
    """Many scalar results (or tuples of them) as arrays."""
    if isinstance(shape, TupleShape):
        columns = ([result[k] for result in results] for k in range(len(shape.elements)))
        return tuple(_stack(column, s, dims) for column, s in zip(columns, shape.elements, strict=True))
    element_type = next(leaves(shape)).element_type
    return np.array([np.asarray(result) for result in results], dtype=element_type.dtype).reshape(dims)


def _check_devices(module: Module) -> None:
    """Refuse collectives among several devices: their meaning here is that on one."""
    devices = module.attributes.get("replica_count", 1) * module.attributes.get("num_partitions", 1)
    if devices > 1 and any(instruction.opcode in COLLECTIVES for instruction in module.instructions()):
        raise UnsupportedError(f"module {module.name}", "the interpreter", f"it is a program for {devices} devices")


def _check_depth(module: Module) -> None:
    """Refuse call chains that would exhaust Python's stack; callees come before callers in a module."""
    depth: dict[Computation, int] = {}
    for computation in module.computations:
        callees = {c for instruction in computation.instructions for c in instruction.called_computations()}
        depth[computation] = 1 + max((depth.get(callee, 0) for callee in callees), default=0)
    deepest = depth.get(module.entry, 0)
    if deepest > DEEPEST_CALLS:
        reason = f"calls nest {deepest} deep, {DEEPEST_CALLS} is the most; inline some of them"
        raise UnsupportedError(f"module {module.name}", "the interpreter", reason)


def _check_memory(module: Module) -> None:
    """Refuse a module whose values cannot be held at once; views take no memory of their own."""
    need = peak_bytes(module)
    have = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if need > have:
        reason = f"it would need {need} bytes of memory, this machine has {have}; use smaller shapes"
        raise UnsupportedError(f"module {module.name}", "the interpreter", reason)


def peak_bytes(module: Module) -> int:
    """An estimate of the memory that running a module takes at its worst moment."""
    peaks: dict[Computation, int] = {}
    for computation in module.computations:
        live = peak = 0
        for step in _plan(computation)[0]:
            live += _own_bytes(step.instruction)
            inner = max((peaks.get(callee, 0) for callee in step.instruction.called_computations()), default=0)
            peak = max(peak, live + inner)
            live -= sum(_own_bytes(computation.instructions[i]) for i in step.dead)
        peaks[computation] = peak
    results = sum(leaf.size_bytes for leaf in leaves(module.entry.root.shape))
    return peaks.get(module.entry, 0) + results


def _own_bytes(instruction: Instruction) -> int:
    if instruction.opcode in _VIEWS:
        return 0
    return sum(max(leaf.size_bytes, 0) for leaf in leaves(instruction.shape))
