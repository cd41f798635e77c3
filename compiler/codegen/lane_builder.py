"""A builder for several elements at a time: what is written for one element is emitted for as many as a vector holds.

Code generation writes down what happens to one element.  Where an operand is a vector, its lanes being neighbouring
elements, the operation is emitted on vectors: literals and values that are the same for all elements are spread over
the lanes, and types are made vector types.  So kernels that know better than LLVM's vectoriser where their time goes
(reductions, whose accumulators are a chain of dependences) emit vectors from the same rules as all others.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from compiler.codegen.llvm_ir import Builder, Function, Value, fold, lanes_of, splat, vector_type


class LaneBuilder(Builder):
    """A builder whose operands may be vectors, all of the same number of lanes."""

    __slots__ = ("_abreast",)

    def __init__(self, function: Function, entry: str = "entry") -> None:
        super().__init__(function, entry)
        self._abreast = 0

    @property
    def writes_out(self) -> bool:
        """Whether functions are written out where they are called, so that their instructions too are taken in turn."""
        return self._abreast > 0

    def abreast(self, bodies: Sequence[Callable[[], list[Value]]]) -> list[list[Value]]:
        """The results of independent bodies, their instructions interleaved.

        A CPU looks some hundred instructions ahead: of long chains of dependent ones, written one behind the other, it
        sees one or two, and waits.
        """
        block, starts, found = self._block, list[int](), list[list[Value]]()
        self._abreast += len(bodies) > 1
        for body in bodies:
            starts.append(len(self._lines))
            found.append(body())
        self._abreast -= len(bodies) > 1
        if len(bodies) > 1 and self._block == block:
            ends = [*starts[1:], len(self._lines)]
            texts = [self._lines[start:end] for start, end in zip(starts, ends, strict=True)]
            self._lines[starts[0] :] = _in_turn(texts)
        return found

    def lift(self, value: Value, lanes: int) -> Value:
        """The value in every lane, unless it is a vector already."""
        if not lanes or value.type[0] == "<":
            return value
        return self.broadcast(value, lanes) if value.name[0] == "%" else splat(value, lanes)

    def alike(self, operands: Sequence[Value]) -> list[Value]:
        """All operands as vectors where some are, else as they are."""
        lanes = max((lanes_of(operand.type) for operand in operands), default=0)
        return [self.lift(operand, lanes) for operand in operands] if lanes else list(operands)

    def binary(self, opcode: str, left: Value, right: Value, flags: str = "") -> Value:
        """`opcode [flags] left, right`; integer literals are folded."""
        folded = fold(opcode, left, right) if opcode[0] != "f" else None
        if folded is not None:
            return folded
        left, right = self.alike([left, right])
        return super().binary(opcode, left, right, flags)

    def compare(self, predicate: str, left: Value, right: Value) -> Value:
        """`icmp` or `fcmp`, whichever the type asks for.

        Args:
            predicate: LLVM's, of integers or of floats.
            left: a value, or a vector.
            right: another; a scalar is broadcast.
        """
        return super().compare(predicate, *self.alike([left, right]))

    def select(self, condition: Value, then: Value, otherwise: Value) -> Value:
        """`condition ? then : otherwise`, lane by lane."""
        return super().select(*self.alike([condition, then, otherwise]))

    def cast(self, opcode: str, value: Value, type_: str) -> Value:
        """`opcode value to type_`, of every lane."""
        lanes = lanes_of(value.type)
        return super().cast(opcode, value, vector_type(type_, lanes) if lanes and type_[0] != "<" else type_)

    def gep(self, element: str, pointer: Value, index: Value) -> Value:
        """The address of element `index`; of a vector of indices, a vector of addresses.

        Args:
            element: LLVM's type of an element.
            pointer: the address of element 0.
            index: an integer, or a vector of integers.
        """
        lanes = lanes_of(index.type)
        if not lanes:
            return super().gep(element, pointer, index)
        return self.emit(vector_type(pointer.type, lanes), f"getelementptr inbounds {element}, {pointer}, {index}")


class CallingLaneBuilder(LaneBuilder):
    """One for code with so many functions that it would be long with all of them written out."""

    __slots__ = ()
    call_attributes = "noinline"


_NAME = re.compile(r"%v\d+")


class _Line(NamedTuple):
    """An instruction: its text, the register that it defines ("" for none), and those that it reads."""

    text: str
    defined: str
    reads: list[str]


def _in_turn(bodies: Iterable[Sequence[str]]) -> list[str]:
    """Instructions of several sequences in turn, each sequence in its order, none before what it uses."""
    queues: list[deque[_Line]] = []
    pending: set[str] = set()
    for body in bodies:
        queue = deque[_Line]()
        for line in body:
            names = _NAME.findall(line)
            defined = names.pop(0) if line.startswith("  %") else ""
            pending.add(defined)
            queue.append(_Line(line, defined, names))
        queues.append(queue)
    merged: list[str] = []
    while queues:
        for queue in queues:
            if pending.isdisjoint(queue[0].reads):
                line, defined, _ = queue.popleft()
                merged.append(line)
                pending.discard(defined)
        queues = [queue for queue in queues if queue]
    return merged
