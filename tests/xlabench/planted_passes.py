"""Damage to passes: wrong rules in their tables, and wrong work after the right one."""

import numpy as np

from compiler import pipeline
from compiler.ir.alike import Numbering
from compiler.ops.build import build
from compiler.passes import (
    algebraic_simplification,
    constant_folding,
    cse,
    data_movement_simplification,
    flatten_calls,
)


def rule(table, opcode, name, wrong):
    """Put a wrong rule, under the name of the right one, first."""
    wrong.__name__ = name

    def plant():
        table[opcode] = (wrong, *(r for r in table.get(opcode, ()) if r.__name__ != name))

    return plant


ALGEBRA = algebraic_simplification.RULES
MOVEMENT = data_movement_simplification.RULES


def negate_negate(instruction):
    (operand,) = instruction.operands
    return operand if operand.opcode == "negate" else None


def subtract_zero(instruction):
    left, right = instruction.operands
    value = algebraic_simplification.scalar_of(left)
    return right if value is not None and value == 0 else None


def divide_by_power_of_two(instruction):
    value = algebraic_simplification.scalar_of(instruction.operands[1])
    if value is None or value != 4:
        return None
    return build(instruction.computation, "multiply", list(instruction.operands))


def select_constant(instruction):
    condition, then, otherwise = instruction.operands
    value = algebraic_simplification.scalar_of(condition)
    return None if value is None else otherwise if value else then


def select_same(instruction):
    return instruction.operands[1] if instruction.operands[1].opcode == instruction.operands[2].opcode else None


def reduce_nothing(instruction):
    operand = instruction.operands[0]
    if len(instruction.operands) > 2 or [operand.array.dims[d] for d in instruction.attributes["dimensions"]] != [1]:
        return None
    return build(instruction.computation, "reshape", [operand], shape=instruction.shape)


def abs_abs(instruction):
    return instruction.operands[0] if instruction.operands[0].opcode in ("abs", "multiply") else None


def multiply_one(instruction):
    value = algebraic_simplification.scalar_of(instruction.operands[1])
    return instruction.operands[0] if value is not None and abs(value) == 1 else None


def transpose_of_transpose(instruction):
    (inner,) = instruction.operands
    if inner.opcode != "transpose":
        return None
    first, second = inner.attributes["dimensions"], instruction.attributes["dimensions"]
    wrong = tuple(second[d] for d in first)
    made = build(instruction.computation, "transpose", inner.operands, dimensions=wrong)
    return made if made.shape == instruction.shape else None


def transpose_of_units(instruction):
    (operand,) = instruction.operands
    if instruction.array.rank != 3:
        return None
    return build(instruction.computation, "reshape", [operand], shape=instruction.shape)


def broadcast_of_broadcast(instruction):
    (inner,) = instruction.operands
    if inner.opcode != "broadcast" or inner.operands[0].array.rank != 1:
        return None
    wrong = (1,) if inner.operands[0].array.dims[0] == instruction.array.dims[1] else (0,)
    return build(instruction.computation, "broadcast", inner.operands, shape=instruction.shape, dimensions=wrong)


def reverse_nothing(instruction):
    return instruction.operands[0] if len(instruction.attributes["dimensions"]) == 1 else None


def reshape_of_reshape(instruction):
    (inner,) = instruction.operands
    if inner.opcode != "transpose" or inner.array.rank != 2:
        return None
    return build(instruction.computation, "reshape", inner.operands, shape=instruction.shape)


def shifted_slice(instruction):
    (operand,) = instruction.operands
    (part, *rest) = instruction.attributes["slice"]
    if operand.opcode != "slice" or part.start != 0:
        return None
    size = operand.operands[0].array.dims[0]
    moved = type(part)(size - part.limit, size)
    return build(instruction.computation, "slice", operand.operands, slice=(moved, *rest))


# --- other passes


def rounds_when_folding():
    real = constant_folding.evaluate_instruction

    def wrong(instruction, values):
        value = real(instruction, values)
        return value.astype(np.float16).astype(value.dtype) if value.dtype == np.float32 else value

    constant_folding.evaluate_instruction = wrong


def swaps_when_folding():
    real = constant_folding.evaluate_instruction

    def wrong(instruction, values):
        return real(instruction, values[::-1] if instruction.opcode == "subtract" else values)

    constant_folding.evaluate_instruction = wrong


def cse_ignores(*names):
    def plant():
        class Forgetful(Numbering):
            def operation(self, instruction):
                meaning = dict(instruction.meaning)
                literal = meaning.pop("literal", None)
                told = tuple((name, self._value(meaning[name])) for name in sorted(meaning) if name not in names)
                return self.number((instruction.opcode, instruction.shape, told, literal))

        cse.Numbering = Forgetful

    return plant


def after(name, damage):
    """Let a pass do its work and then do some damage as its last rewrite."""

    def plant():
        real = pipeline.PASSES[name]

        def wrong(module, fuel):
            changed = real(module, fuel)
            for computation in module.computations:
                for instruction in list(computation.instructions):
                    changed |= bool(damage(instruction, fuel))
            return changed

        pipeline.PASSES[name] = wrong

    return plant


def swap_inputs(instruction, fuel):
    if instruction.opcode != "fusion" or "swapped" in instruction.name:
        return False
    operands = list(instruction.operands)
    pairs = [(a, b) for a in range(len(operands)) for b in range(a) if operands[a].shape == operands[b].shape]
    uses = {i.opcode for i in instruction.attributes["calls"].instructions}
    if not pairs or "subtract" not in uses or "negate" not in uses or not fuel.spend("order inputs", instruction):
        return False
    a, b = pairs[0]
    operands[a], operands[b] = operands[b], operands[a]
    instruction.set_operands(operands)
    instruction.name += ".swapped"
    return True


def transposed_dot(instruction, fuel):
    if instruction.opcode != "dot" or "damaged" in instruction.name:
        return False
    left = instruction.operands[0].array
    square = left.rank == 2 and left.dims[0] == left.dims[1]
    if not square or not fuel.spend("fold transpose into dot", instruction):
        return False
    instruction.name += ".damaged"
    (dimension,) = instruction.attributes["lhs_contracting_dims"]
    instruction.attributes["lhs_contracting_dims"] = (1 - dimension,)
    return True


def swapped_call():
    real = flatten_calls.inline
    flatten_calls.inline = lambda body, arguments, add: real(body, arguments[::-1], add)


def breaks_on(name, opcode):
    """A pass that cannot stand an opcode."""

    def damage(instruction, fuel):
        if instruction.opcode == opcode:
            raise KeyError(opcode)

    return after(name, damage)


def loops_on(name, opcode):
    """A pass that never ends when it sees an opcode."""

    def damage(instruction, fuel):
        while instruction.opcode == opcode:
            pass

    return after(name, damage)


def wrong_shape(instruction, fuel):
    """The verifier is not asked; the back end has to live with it."""
    if instruction.opcode != "concatenate" or "narrow" in instruction.name or not fuel.spend("narrow", instruction):
        return False
    instruction.name += ".narrow"
    instruction.attributes["dimensions"] = (1 - instruction.attributes["dimensions"][0],)
    return True
