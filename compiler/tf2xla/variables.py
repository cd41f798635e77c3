"""Variables while a graph is lowered: a read is the last value that was written, or a parameter of the program.

A program takes what it reads before it writes, after its inputs, and gives what it has written, after its outputs;
between them variables are values like any other.  Inside a branch or the body of a loop they are those that it was
given, and what it gives back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from compiler.diagnostics import InputError, UnsupportedError
from compiler.expansion.expression import Expression
from compiler.graph import Node
from compiler.ir.shape import ArrayShape
from compiler.ir.types import of_dtype

_OPS = frozenset(("VarHandleOp", "VariableV2", "Variable"))


class UninitializedError(InputError):
    """A variable that is read before it has a value."""


def variable_name(node: Node) -> str | None:
    """What the variable of a node is called, which nodes of the same name share; None of a node that is none."""
    if node.op not in _OPS:
        return None
    shared, container = (node.attributes.get(key) for key in ("shared_name", "container"))
    name = shared.decode() if isinstance(shared, bytes) and shared else node.name
    return f"{container.decode()}/{name}" if isinstance(container, bytes) and container else name


class Variables:
    """The values of variables in the computation that is being written."""

    def __init__(
        self,
        initialised: Mapping[str, ArrayShape] | None,
        read: Callable[[str, ArrayShape], Expression],
        room: Mapping[str, int] | None = None,
    ) -> None:
        """Begin with what is there when the program starts.

        Args:
            initialised: the variables that have values, with types and sizes; None where all have those that they are
                declared with.
            read: makes a parameter of the program.
            room: how many elements stacks must have room for of which nobody says so; None where that is not known.
        """
        self._room = room
        self.unsized: set[str] = set()
        """Stacks of which nobody says how many elements they have room for, as long as these are counted."""
        self.pushed: dict[str, int] = {}
        """How many elements are pushed to each stack at most, in the computation that is being written."""
        self.initial: dict[str, np.ndarray[Any, Any]] = {}
        self._kept: dict[str, ArrayShape] = {}
        self.declared: dict[str, ArrayShape] = {}
        self.reads: dict[str, Expression] = {}
        self.written: dict[str, Expression] = {}
        self._initialised = initialised
        self._read = read
        self._values: dict[str, Expression] = {}
        self._own: dict[str, ArrayShape] = {}
        self._fresh = 0
        self._depth = 0
        self.changes = 0
        """How often something was written."""

    def keep(self, name: str, value: np.ndarray[Any, Any]) -> None:
        """Say of what an op keeps for itself with which value it begins."""
        if name not in self.initial:
            element_type = of_dtype(value.dtype)
            assert element_type is not None
            self.initial[name] = value
            self._kept[name] = ArrayShape(element_type, value.shape)

    def fresh(self, name: str) -> str:
        """A name of what an op makes for one run: nodes of functions come as often as these are called."""
        self._fresh += 1
        return f"{name} {self._fresh}"

    def begin(self, name: str, value: Expression) -> None:
        """Let something begin that ops make for one run, and that is no variable of the program."""
        self._own[name] = value.instruction.array
        self._values[name] = value

    def room_for(self, stack: str) -> int:
        """For how many elements a stack must have room of which nobody says so; one, as long as they are counted."""
        if self._room is None:
            self.unsized.add(stack)
            return 1
        return self._room.get(stack, 0)

    def push(self, stacks: Mapping[str, int], times: int = 1) -> None:
        """Say that so many elements are pushed to stacks, and this so many times."""
        for name, count in stacks.items():
            self.pushed[name] = self.pushed.get(name, 0) + count * times

    def under(self, name: str) -> list[str]:
        """A name, and those of what ops have made for one run that belong to it: `name/more`."""
        return [name, *(one for one in self._own if one.startswith(f"{name}/"))]

    def made_inside(self, name: str) -> dict[str, ArrayShape]:
        """What a branch or loop has let begin under a name, and what is around it knows nothing of."""
        return {one: self._own[one] for one in self.under(name) if one in self._own and one not in self._values}

    def declare(self, name: str, shape: ArrayShape) -> None:
        """Say of which type and sizes a variable is."""
        self.declared.setdefault(name, shape)

    def shape(self, name: str) -> ArrayShape | None:
        """Type and sizes of what a variable holds; None if it holds nothing, as far as is known."""
        if name in self._values:
            return self._values[name].instruction.array
        among = self.declared if self._initialised is None else self._initialised
        return self._kept.get(name) or among.get(name)

    def read(self, name: str) -> Expression:
        """The value of a variable.

        Raises:
            UninitializedError: it has none.
            UnsupportedError: it belongs to no input of the branch or loop that reads it.
        """
        if name not in self._values:
            shape = self.shape(name)
            if shape is None:
                raise UninitializedError(
                    f"variable {name!r} is read, and is not initialised: run its initializer, or give its value"
                )
            if self._depth:
                raise UnsupportedError(f"variable {name!r}", "the lowering to HLO", "a branch or loop reads it unasked")
            self._values[name] = self.reads[name] = self._read(name, shape)
        return self._values[name]

    def write(self, name: str, value: Expression) -> None:
        """Let a variable hold another value.

        Raises:
            InputError: it has another type or other sizes than what it holds.
            UnsupportedError: it holds nothing yet, and is written in a branch or loop.
        """
        if self._depth and name not in self._values and name not in self._own:
            reason = "a branch or loop gives it its first value: run its initializer before"
            raise UnsupportedError(f"variable {name!r}", "the lowering to HLO", reason)
        held = self.shape(name)
        new = value.instruction.array
        if held is not None and (held.element_type, held.dims) != (new.element_type, new.dims):
            raise InputError(
                f"Shape of resource {name} cannot be changed after initialization: "
                f"old shape was {held}, new shape is {new}"
            )
        self.changes += 1
        self._values[name] = value
        if not self._depth and name not in self._own:
            self.written[name] = value

    @contextmanager
    def inside(self, names: Sequence[str], given: Sequence[Expression]) -> Iterator[Mapping[str, int]]:
        """Write a computation that is given the values of these variables, and no others; gives what it pushes."""
        before = self._values, self.pushed
        self._values, self.pushed = dict(zip(names, given, strict=True)), {}
        self._depth += 1
        try:
            yield self.pushed
        finally:
            self._values, self.pushed = before
            self._depth -= 1
