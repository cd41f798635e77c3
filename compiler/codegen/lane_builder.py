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

_COUNTED_LINES = 3
"""Instructions of a counter in lanes: two spread its first value, one adds the steps."""


def even_first(width: int) -> list[int]:
    """The numbers below `width`, the even ones before the odd ones."""
    return [*range(0, width, 2), *range(1, width, 2)]


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

    def at_each(self, body: Callable[[Value], object], indices: Sequence[Value]) -> None:
        """Do what a body does at independent indices, its instructions interleaved.

        It is asked for the first two, which may share what is known by then; others are copies of the second.
        """
        block, start = self._block, len(self._lines)
        texts, first = list[list[str]](), 0
        self._abreast += len(indices) > 1
        for index in indices[:2]:
            first, begin = self.function.counter, len(self._lines)
            body(index)
            texts.append(self._lines[begin:])
        count = self.function.counter - first
        is_straight = self._block == block
        for number, index in enumerate(indices[2:], 1):
            if is_straight and indices[1].name.startswith("%v"):
                texts.append(_copied(texts[1], first, number * count, (indices[1], index)))
                self.function.counter += count
            else:
                begin = len(self._lines)
                body(index)
                texts.append(self._lines[begin:])
        self._abreast -= len(indices) > 1
        if is_straight and self._block == block:
            self._lines[start:] = _in_turn(texts) if len(texts) > 1 else texts[0]

    def lift(self, value: Value, lanes: int) -> Value:
        """The value in every lane, unless it is a vector already."""
        if not lanes or value.type[0] == "<":
            return value
        return self.broadcast(value, lanes) if value.name[0] == "%" else splat(value, lanes)

    def counted(self, first: Value, steps: Value) -> tuple[Value, Callable[[], None] | None]:
        """A counter in lanes, `steps` from a scalar `first` on, and what writes it here where anybody asks for it.

        Mostly nobody does: elements in lanes that are neighbours are found by the first one alone.
        """
        lanes = lanes_of(steps.type)
        if first.name[0] != "%":
            return self.add(self.lift(first, lanes), steps), None
        slot, before = len(self._lines), self.function.counter
        reserved = [self._reserve(steps.type) for _ in range(_COUNTED_LINES)]

        def write() -> None:
            lines, counter = self._lines, self.function.counter
            self._lines, self.function.counter = [], before
            self.add(self.broadcast(first, lanes), steps)
            lines[slot : slot + len(reserved)] = self._lines
            self._lines, self.function.counter = lines, counter

        return reserved[-1], write

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


class RoutineLaneBuilder(LaneBuilder):
    """One for code that calls functions as routines, or has them written out, as it says where they are computed."""

    __slots__ = ()
    calls_routines = True

    @property
    def writes_out(self) -> bool:
        """Whether functions are written out where they are called."""
        return not self.calls_functions


_NAME = re.compile(r"%v\d+")


def _copied(lines: Iterable[str], first: int, by: int, index: tuple[Value, Value]) -> list[str]:
    """Lines with names whose numbers after the `first` are `by` more, and one index in place of another."""
    old, new = index

    def renamed(found: re.Match[str]) -> str:
        name = found[0]
        number = int(name[2:])
        return new.name if name == old.name else f"%v{number + by}" if number > first else name

    return [_NAME.sub(renamed, line) for line in lines]


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
    while queues := [queue for queue in queues if queue]:
        for queue in queues:
            if pending.isdisjoint(queue[0].reads):
                line, defined, _ = queue.popleft()
                merged.append(line)
                pending.discard(defined)
    return merged
