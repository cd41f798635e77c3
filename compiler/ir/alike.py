"""Value numbering: instructions, and computations, that mean the same have the same number.

Two are asked for it: who merges what computes the same, and who compiles equal kernels once.  A model of equal layers
holds each of its instructions many times, so what an instruction means is spelled and hashed once, and from then on
it is a number; a called computation is the number of its body.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from types import MappingProxyType

from compiler.ir.module import Computation, Instruction

_PLAIN = frozenset({str, int, bool})
_NOTHING: Mapping[Instruction, Hashable] = MappingProxyType({})


class Numbering:
    """Numbers of instructions and bodies; it holds for as long as nobody changes attributes or bodies."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._operations: dict[Instruction, int] = {}
        self._bodies: dict[Computation, int] = {}

    def operation(self, instruction: Instruction) -> int:
        """The number of what an instruction does, whatever its operands are: notes such as metadata do not count."""
        number = self._operations.get(instruction)
        if number is None:
            values = instruction.meaning
            literal = values.pop("literal", None)
            attributes = tuple((name, self._value(values[name])) for name in sorted(values)) if values else ()
            number = self.number((instruction.opcode, instruction.shape, attributes, literal))
            self._operations[instruction] = number
        return number

    def body(self, computation: Computation) -> int:
        """The number of what a computation does."""
        number = self._bodies.get(computation)
        if number is None:
            number = self._bodies[computation] = self.graph(computation.instructions, (computation.root,))
        return number

    def graph(
        self,
        instructions: Iterable[Instruction],
        roots: Iterable[Instruction],
        leaves: Mapping[Instruction, Hashable] = _NOTHING,
    ) -> int:
        """The number of instructions, operands first, of which some are results, on leaves that are what is said.

        Args:
            instructions: operands before those that use them.
            roots: those that are results, in order.
            leaves: what operands stand for that are not among the instructions.
        """
        number_of: dict[Instruction, Hashable] = dict(leaves)
        rows: list[Hashable] = []
        for instruction in instructions:
            rows.append((self.operation(instruction), *[number_of[operand] for operand in instruction.operands]))
            number_of[instruction] = len(rows)
        return self.number((tuple(rows), tuple(number_of[root] for root in roots)))

    def number(self, key: Hashable) -> int:
        """The number of a key: that of an equal one, or the next that is free."""
        return self._numbers.setdefault(key, len(self._numbers))

    def _value(self, value: object) -> Hashable:
        if type(value) in _PLAIN:
            return value
        if isinstance(value, Computation):
            return self.body(value)
        if isinstance(value, tuple) and value and isinstance(value[0], Computation):
            return tuple(map(self.body, value))
        # By spelling, since -0.0 equals 0.0 and no NaN equals itself; the bits of a literal are compared as they are.
        return repr(value)
