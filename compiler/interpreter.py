"""The reference: a program run instruction by instruction on NumPy arrays, by the meanings in the op records.

A computation is planned once (which meaning, where its operands are, which values die with it) and then run in one
short loop.  A computation of scalars can also be *mapped*: run once on whole arrays, which works because elementwise
meanings never look at dimensions; where some instruction does, the elements are taken one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.opdef import Evaluate, Value
from compiler.ir.shape import ArrayShape, Shape, TupleShape, leaves
from compiler.ops import OPS, Trait, having
from compiler.plan import Step, check_inputs, check_module, check_one_device, plan

Array = NDArray[Any]
Observe = Callable[[Instruction, Value], None]
Around = Callable[[Instruction, Sequence[Value], Callable[[Sequence[Value]], Value]], Value]

_MAPPABLE = having(Trait.STRUCTURAL | Trait.CALLS) | {"bitcast-convert"}
_BY_ELEMENTS = having(Trait.ELEMENTWISE) | {"map"}
_MOVES = having(Trait.MOVES) - having(Trait.PARTIAL)
"""What leaves arrays as they are where all it should see is scalars: others look at sizes."""


@dataclass(slots=True)
class Interpreter:
    """Runs computations; keeps a plan for each.  `handled` are opcodes that `around` gives a meaning to."""

    trace: Observe | None = None
    around: Around | None = None
    handled: Collection[str] = ()
    plans: dict[Computation, tuple[list[Step], int]] = field(default_factory=dict)
    mappable: dict[Computation, bool] = field(default_factory=dict)

    def call(self, computation: Computation, arguments: Sequence[Value]) -> Value:
        """Evaluate a computation on its arguments."""
        planned = self.plans.get(computation)
        if planned is None:
            planned = self.plans[computation] = plan(computation, self.handled)
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
        try:
            if self.around is None:
                return _on_partners(instruction, evaluate, operands, self)
            return self.around(instruction, operands, lambda v: _on_partners(instruction, evaluate, v, self))
        except (IndexError, ValueError) as error:
            if not any(leaf.is_dynamic for i in (instruction, *instruction.operands) for leaf in leaves(i.shape)):
                raise
            # No rule of the language says what sizes that do not go together mean.
            raise instruction.unsupported(f"the sizes that it meets: {error}", by="the interpreter") from error

    def map(self, computation: Computation, arguments: Sequence[Array]) -> Value:
        """Evaluate a computation of scalars on every element of arrays that broadcast together, at once."""
        if self.is_mappable(computation):
            return self.call(computation, arguments)
        arrays = np.broadcast_arrays(*arguments)
        results = [self.call(computation, [np.asarray(a[i]) for a in arrays]) for i in np.ndindex(arrays[0].shape)]
        return _stack(results, computation.root.shape, arrays[0].shape)

    def is_mappable(self, computation: Computation) -> bool:
        """Whether a computation of scalars can be run on whole arrays: nothing in it looks at dimensions."""
        known = self.mappable.get(computation)
        if known is None:
            known = self.mappable[computation] = all(
                i.opcode in _MAPPABLE or (i.opcode in OPS and OPS[i.opcode].elementwise) or _moves_scalar(i)
                for i in computation.instructions
            ) and all(self.is_mappable(c) for i in computation.instructions for c in i.called_computations())
        return known


def _on_partners(
    instruction: Instruction, evaluate: Evaluate, operands: Sequence[Any], interpreter: Interpreter
) -> Value:
    """The meaning of an instruction, where every element has its partner; in NumPy one element goes with many.

    Raises:
        ValueError: some have none, as sizes that are known at run time may turn out.
    """
    shape = instruction.shape
    if isinstance(shape, ArrayShape) and shape.is_dynamic and instruction.opcode in _BY_ELEMENTS:
        sizes = {np.shape(operand) for operand in operands} - {()}
        if len(sizes) > 1:
            raise ValueError(f"operands of {' and '.join(map(str, map(list, sorted(sizes))))}")
    return evaluate(instruction, operands, interpreter)


def _moves_scalar(instruction: Instruction) -> bool:
    shapes = (instruction.shape, *(operand.shape for operand in instruction.operands))
    return instruction.opcode in _MOVES and all(isinstance(s, ArrayShape) and not s.dims for s in shapes)


def interpret(module: Module, *inputs: Any, trace: Observe | None = None, around: Around | None = None) -> list[Array]:
    """Run a module; the results are the leaves of the root, in order (tokens carry nothing and are left out).

    Args:
        module: a program for one device.
        inputs: arrays, or what NumPy makes arrays of, one for each parameter.
        trace: called with every instruction that ran and its value, those of called computations included.
        around: stands in for the meanings: it gets an instruction, its operands' values and the meaning as a function
            of such values, and what it returns is the instruction's value; so rounding errors can be tried out.
    """
    arguments = check_inputs(module, inputs)
    check_one_device(module)
    check_module(module)
    with np.errstate(all="ignore"):
        result = Interpreter(trace, around).call(module.entry, arguments)
    return [np.array(leaf, order="C") for leaf in flatten(result)]


def prepare(module: Module) -> Callable[..., list[Array]]:
    """A module made ready for many calls of `interpret`: what that looks at before each is looked at here.

    The module must stay as it is.  Each call may have an `around` of its own.
    """
    check_one_device(module)
    check_module(module)
    plain = Interpreter()

    def run(*inputs: Any, around: Around | None = None) -> list[Array]:
        arguments = check_inputs(module, inputs)
        interpreter = plain if around is None else replace(plain, around=around)
        with np.errstate(all="ignore"):
            result = interpreter.call(module.entry, arguments)
        return [np.array(leaf, order="C") for leaf in flatten(result)]

    return run


def evaluate_instruction(instruction: Instruction, values: Sequence[Value]) -> Value:
    """The value of one instruction on given operands, as constant folding and bisection need it.

    Raises:
        UnsupportedError: the interpreter does not know the opcode.
    """
    evaluate = OPS[instruction.opcode].evaluate if instruction.opcode in OPS else None
    if evaluate is None:
        raise instruction.unsupported(by="the interpreter")
    with np.errstate(all="ignore"):
        return evaluate(instruction, values, Interpreter())


def flatten(value: Value) -> Iterator[Array]:
    """The arrays of a value in order, tuples flattened."""
    if isinstance(value, tuple):
        for element in value:
            yield from flatten(element)
    else:
        yield value


def _stack(results: Sequence[Value], shape: Shape, dims: tuple[int, ...]) -> Value:
    """Many scalar results (or tuples of them) as arrays."""
    if isinstance(shape, TupleShape):
        columns = ([result[k] for result in results] for k in range(len(shape.elements)))
        return tuple(_stack(column, s, dims) for column, s in zip(columns, shape.elements, strict=True))
    element_type = next(leaves(shape)).element_type
    return np.array([np.asarray(result) for result in results], dtype=element_type.dtype).reshape(dims)
