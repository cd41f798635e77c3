"""Functions of one number of 16 bits: looked up in large loops instead of computed.

A chain of elementwise ops on bf16 rounds after every step, in four instructions each.  Whatever the chain is, it has no
more than 65,536 results; where an array has many more elements, a gather from a table of them takes the position of all
those instructions.  What is used of a table is near: numbers of like size have few bit patterns among them, and even
where they have all there are, it fits into a core's own cache.

The table is made by the reference, so what is looked up are its results to the bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from compiler.analysis.updates import is_elementwise
from compiler.backends.strategy import Declined
from compiler.codegen import cost, element
from compiler.codegen.elemental import Elemental
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I32, I64, Value
from compiler.codegen.movement import Indices
from compiler.diagnostics import UnsupportedError
from compiler.interpreter import evaluate_instruction
from compiler.ir.module import Instruction
from compiler.ir.opdef import Array

_BITS, _WORD = 16, 32
"""Bits of an element whose values all stand in the table, 65,536 of them; bits of what a gather loads."""
_FEWEST = 4 << _BITS
"""Elements for which it is worth while to make a table, and to have it read into the cache."""
_ROUNDING = {"bf16": 0.025, "f16": 0.01}
"""What rounding to a type adds to the weight of an instruction, in nanoseconds per element."""
_WORTH = 0.117
"""The weight of a chain from which on a gather is cheaper."""
_MOST = 4
"""Tables in one kernel: they share the cache."""
_ESCAPED = [f"\\{byte:02X}" for byte in range(256)]
"""Bytes as LLVM's strings have them."""


@dataclass(frozen=True, slots=True)
class Table:
    """All results of a chain that ends with `root`, by the bits of its `argument`.

    They are LLVM's constant `definition`, of so many `bits` each.
    """

    root: Instruction
    argument: Instruction
    definition: str
    bits: int

    def look_up(self, values: Elemental, indices: Indices) -> Value:
        """The root's element at `indices`."""
        builder, result = values.builder, self.root.array.element_type
        argument = values.value(self.argument, indices)
        index = builder.cast("zext", element.to_bits(builder, self.argument.array.element_type, argument), I64)
        start = builder.module.define_global("table", self.definition)
        # Vectors are gathered of words only: of halves, two neighbours.
        word = builder.load(I32, builder.gep(f"i{self.bits}", start, index), align=self.bits // 8)
        bits = builder.cast("trunc", word, f"i{result.bits}") if result.bits < _WORD else word
        return element.from_bits(builder, result, bits)


def find(kernel: Kernel) -> list[Table] | Declined:
    """The chains of a loop kernel that are better looked up, or why there are none."""
    if kernel.outputs[0].size < _FEWEST or not kernel.is_of_arrays:
        return Declined(f"fewer than {_FEWEST} elements, for which no table is made")
    found = []
    for root, argument, chain in islice(_chains(kernel), _MOST):
        entries = _entries(chain, argument)
        if entries is not None:
            content = "".join(map(_ESCAPED.__getitem__, entries.tobytes()))
            definition = f'internal unnamed_addr constant [{entries.nbytes} x i8] c"{content}", align 64'
            found.append(Table(root, argument, definition, 8 * entries.itemsize))
    return found or Declined("no chain of functions of one number of 16 bits is long enough")


def looking_up(values: Elemental, tables: Iterable[Table]) -> Elemental:
    """The values where the roots of tables are looked up."""
    return values.with_leaves(lambda looking: {table.root: partial(table.look_up, looking) for table in tables})


class _Chain(NamedTuple):
    """A function of one value of 16 bits: where it ends, that value, and all between, with constants."""

    root: Instruction
    argument: Instruction
    members: list[Instruction]


def _chains(kernel: Kernel) -> Iterator[_Chain]:
    """The functions of one value in a kernel that are worth a table."""
    body = list(kernel.body())
    arguments = _arguments(kernel, body)
    for root in body:
        argument = arguments[root]
        is_end = root in kernel.roots or any(arguments.get(user) is not argument for user in root.users)
        if argument is not None and argument is not root and is_end:
            needed = {root}
            for instruction in reversed(body):
                if instruction in needed and instruction is not argument:
                    needed.update(instruction.operands)
            chain = [instruction for instruction in body if instruction in needed and instruction is not argument]
            if _weight(root, chain, kernel) >= _WORTH:
                yield _Chain(root, argument, chain)


def _arguments(kernel: Kernel, body: Iterable[Instruction]) -> dict[Instruction, Instruction | None]:
    """By instruction the one value of 16 bits, perhaps itself, that its elements are functions of; None if none is."""
    known = {leaf: _narrow(leaf) for leaf, _ in kernel.leaves}
    for instruction in body:
        given = [operand for operand in instruction.operands if not _is_constant(operand)]
        first = known[given[0]] if given else None
        same = all(known[o] is first and o.array.dims == instruction.array.dims for o in given)
        known[instruction] = first if first and same and is_elementwise(instruction) else _narrow(instruction)
    return known


def _narrow(instruction: Instruction) -> Instruction | None:
    type_ = instruction.array.element_type
    return instruction if type_.bits == _BITS and not _is_constant(instruction) else None


def _is_constant(instruction: Instruction) -> bool:
    """Whether a value is a constant that is the same for all elements."""
    if instruction.opcode == "broadcast":
        instruction = instruction.operands[0]
    return instruction.opcode == "constant" and instruction.array.size == 1


def _weight(root: Instruction, chain: Sequence[Instruction], kernel: Kernel) -> float:
    """What need not be computed where a root is looked up, in nanoseconds per element."""
    unused: set[Instruction] = set()
    for instruction in reversed(chain):
        if instruction is root or (instruction not in kernel.roots and unused.issuperset(instruction.users)):
            unused.add(instruction)
    return sum(_own_weight(i) for i in unused if not _is_constant(i))


def _own_weight(instruction: Instruction) -> float:
    """What one instruction takes; a remainder of integers no more than their quotient, of floats it does."""
    is_integer = instruction.array.element_type.is_integer
    opcode = "divide" if instruction.opcode == "remainder" and is_integer else instruction.opcode
    return cost.COST[opcode] + _ROUNDING.get(instruction.array.element_type.name, 0.0)


def _entries(chain: Sequence[Instruction], argument: Instruction) -> Array | None:
    """The bits of all results of a chain; None where they do not fit into words, or the reference has none."""
    values: dict[Instruction, Any] = {
        argument: np.arange(1 << _BITS, dtype=np.uint16).view(argument.array.element_type.dtype)
    }
    for instruction in chain:
        if _is_constant(instruction):
            literal: Any = (instruction.operands or (instruction,))[0].literal.array
            values[instruction] = np.broadcast_to(literal.reshape(()), (1 << _BITS,))
            continue
        try:
            values[instruction] = evaluate_instruction(instruction, [values[o] for o in instruction.operands])
        except UnsupportedError:
            return None
    result, type_ = np.ascontiguousarray(values[chain[-1]]), chain[-1].array.element_type
    if type_.is_complex or type_.bits not in (1, 8, _BITS, _WORD):
        return None
    bits = result.view(f"u{result.itemsize}")
    # Behind the last half there is another to be read.
    return bits if result.itemsize == 4 else np.append(bits, bits[-1:]).astype(np.uint16)
