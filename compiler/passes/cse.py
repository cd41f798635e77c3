"""Common subexpression elimination: of two instructions that compute the same, the later one goes.

Same means the same opcode, shape, operands and attributes, notes such as metadata apart; called computations count as
the same when their bodies are, instruction by instruction.  Random numbers and effects are never merged.
"""

from __future__ import annotations

from collections.abc import Hashable

from compiler.analysis.effects import control_predecessors, is_repeatable
from compiler.ir.control import is_ordered
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.rewrite import Fuel


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    changed = False
    # A number for each computation, the same for equal ones: bodies that held bodies would double with each call.
    bodies: dict[Computation, Hashable] = {}
    numbers: dict[Hashable, int] = {}
    for computation in module.computations:
        if computation is not module.entry:
            bodies[computation] = numbers.setdefault(tuple(_body(computation, bodies)), len(numbers))
        known: dict[Hashable, Instruction] = {}
        awaited = control_predecessors(computation)
        dead: list[Instruction] = []
        for instruction in computation.instructions:
            if instruction in awaited or not _mergeable(instruction):
                continue
            key = _key(instruction, bodies, instruction.operands)
            first = known.setdefault(key, instruction)
            if first is not instruction and fuel.replace("merge with equal", instruction, first):
                dead.append(instruction)
        computation.remove(dead)
        changed |= bool(dead)
    return changed


def _mergeable(instruction: Instruction) -> bool:
    ordered = is_ordered(instruction)
    return instruction.opcode != "parameter" and not ordered and is_repeatable(instruction)


def _key(instruction: Instruction, bodies: dict[Computation, Hashable], operands: Hashable) -> Hashable:
    values = instruction.meaning
    literal = values.get("literal")
    # By spelling, since -0.0 equals 0.0 and no NaN equals itself; the bits of a literal are compared as they are.
    attributes = [(name, repr(_value(values[name], bodies))) for name in sorted(values) if name != "literal"]
    return instruction.opcode, instruction.shape, operands, tuple(attributes), literal


def _value(value: object, bodies: dict[Computation, Hashable]) -> object:
    if isinstance(value, Computation):
        return bodies.get(value, id(value))
    if isinstance(value, tuple) and value and isinstance(value[0], Computation):
        return tuple(bodies.get(computation, id(computation)) for computation in value)
    return value


def _body(computation: Computation, bodies: dict[Computation, Hashable]) -> list[Hashable]:
    number = {instruction: position for position, instruction in enumerate(computation.instructions)}
    rows = [_key(i, bodies, tuple(number[o] for o in i.operands)) for i in computation.instructions]
    return [*rows, number[computation.root]]
