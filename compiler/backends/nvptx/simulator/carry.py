"""Addition, subtraction and multiplication with the carry flag: how LLVM computes on 128-bit integers.

The flag of PTX (`CC.CF`) is one predicate per lane.  After a subtraction it holds the borrow, as the manual says.
"""

from __future__ import annotations

import numpy as np

from compiler.backends.nvptx.simulator.batch import Action, Array, Batch
from compiler.backends.nvptx.simulator.integer import multiply_high
from compiler.backends.nvptx.simulator.operands import Operands
from compiler.backends.nvptx.simulator.syntax import TYPE_BITS, Instruction

_FLAG = "%CC.CF"
_OPCODES = {"add": "add", "addc": "add", "sub": "sub", "subc": "sub", "mad": "mad", "madc": "mad"}


def has_carry(instruction: Instruction) -> bool:
    """Whether an instruction reads or writes the carry flag."""
    return instruction.opcode in ("addc", "subc", "madc") or "cc" in instruction.modifiers


def decode_carry(operands: Operands) -> Action:
    """`add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc` and `madc`."""
    instruction = operands.instruction
    type_ = instruction.modifiers[-1]
    if instruction.opcode not in _OPCODES or type_ not in TYPE_BITS:
        operands.unsupported()
    operation = _OPCODES[instruction.opcode]
    flag = operands.slots.register(_FLAG, "pred")
    target = operands.register(operands[0])
    sources = [operands.source(operands[position], type_) for position in range(1, 4 if operation == "mad" else 3)]
    reads, writes = instruction.opcode.endswith("c"), "cc" in instruction.modifiers
    high = multiply_high(is_signed=type_[0] == "s") if "hi" in instruction.modifiers else np.multiply

    def act(batch: Batch) -> None:
        values = [batch.read(slot) for slot in sources]
        if operation == "mad":
            values = [high(values[0], values[1]), values[2]]
        carry = batch.read(flag) if reads else np.zeros(1, np.bool_)
        result, overflow = (_subtract if operation == "sub" else _add)(values[0], values[1], carry)
        batch.write(target, result)
        if writes:
            batch.write(flag, overflow)

    return act


def _add(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    partial = a + b
    total = partial + carry.astype(a.dtype)
    return total, (partial < a) | (total < partial)


def _subtract(a: Array, b: Array, borrow: Array) -> tuple[Array, Array]:
    partial = a - b
    return partial - borrow.astype(a.dtype), (a < b) | ((partial == 0) & borrow)
