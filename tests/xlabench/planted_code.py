"""Damage to where values lie and to how they are emitted, on either back end."""

import os
from types import SimpleNamespace

from compiler.analysis import buffers
from compiler.backends.cpu.kernels.loop import plain as loop
from compiler.backends.nvptx.kernels import grid
from compiler.codegen import element, elemental, in_place, nest, scalar
from compiler.codegen.llvm_ir import floating, integer, mangled


def short_lives():
    real = buffers._Walk._view

    def wrong(self, instruction):
        found = real(self, instruction)
        for buffer in found:
            buffer.last = min(buffer.last, self.clock)
        return found

    buffers._Walk._touch = lambda self, touched: None
    buffers._Walk._view = wrong


def over_what_is_moved():
    in_place._stays = lambda value, operand, is_row, here: operand.shape.size_bytes == value.shape.size_bytes


def emit(opcode, rule):
    def plant():
        real = scalar.RULES[opcode]
        scalar.RULES[opcode] = lambda s, operands: rule(real, s, operands)

    return plant


def nan_maximum(real, s, operands):
    left, right = operands
    return s.builder.select(s.builder.compare("ogt", left, right), left, right) if s.is_float else real(s, operands)


def loose_compare(real, s, operands):
    if s.is_float or s.instruction.attributes["direction"] != "LT":
        return real(s, operands)
    return s.builder.compare("sle", *operands)


def wrong_shift(real, s, operands):
    return s.builder.binary("shl", operands[0], s.builder.binary("and", operands[1], integer(3, operands[1].type)))


def wide_remainder(real, s, operands):
    left, right = operands
    if s.is_float:
        return real(s, operands)
    return s.builder.binary("and", left, s.builder.binary("sub", right, integer(1, right.type)))


def clamps_low_only(real, s, operands):
    return scalar.RULES["maximum"](s, operands[:2])


def sign_of_negative(real, s, operands):
    return s.builder.select(
        s.builder.compare("ogt", operands[0], floating(0.0, operands[0].type)),
        floating(1.0, operands[0].type),
        floating(0.0, operands[0].type),
    )


def negates_bits(real, s, operands):
    return real(s, operands) if s.is_float else s.builder.binary("xor", operands[0], integer(-1, operands[0].type))


def never_wraps(real, s, operands):
    return s.builder.binary("add", *operands, "nsw") if operands[0].type == "i32" else real(s, operands)


def aborts(real, s, operands):
    os.abort()


def cannot(real, s, operands):
    raise RuntimeError("cannot select")


def element_of(opcode, rule):
    """Damage how the element of an opcode that moves data is found."""

    def plant():
        real = elemental.RULES[opcode]
        elemental.RULES[opcode] = lambda values, instruction, at: rule(real, values, instruction, at)

    return plant


def pads_late(real, values, instruction, at):
    *before, last = at
    moved = last.plus(1) if instruction.attributes["padding"][-1].low else last
    return real(values, instruction, (*before, moved))


def reverses_all_but_one(real, values, instruction, at):
    if 0 not in instruction.attributes["dimensions"] or len(at) < 2:
        return real(values, instruction, at)
    return values.value(instruction.operands[0], at)


def no_barrier():
    grid.barrier = lambda builder: None


def lost_tail():
    def walk(builder, group, body, **options):
        if len(group.loops) == 1 and group.size % 8:
            whole = group.size - group.size % 8
            group = nest.LoopNest(whole, (whole,))
        return real.walk(builder, group, body, **options)

    real = loop.loop_splitting
    loop.loop_splitting = SimpleNamespace(walk=walk)


def converts_by_rounding():
    real = element.convert

    def wrong(builder, value, source, target):
        if source.is_float and target.is_integer:
            value = builder.intrinsic(f"roundeven.{mangled(value.type)}", [value])
        return real(builder, value, source, target)

    element.convert = wrong
