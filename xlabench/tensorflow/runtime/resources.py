"""What a session keeps between runs: its variables, and tables of keys."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class Variable:
    """A variable; it has no value before something is assigned."""

    __slots__ = ("name", "value")

    def __init__(self, name: str) -> None:
        self.name = name
        self.value: Array | None = None


class Table:
    """A table of keys; it has none before it is filled."""

    __slots__ = ("entries", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.entries: dict[Any, Any] | None = None


class Resources:
    """The variables and tables of a session by name."""

    def __init__(self) -> None:
        self._variables: dict[str, Variable] = {}
        self._tables: dict[str, Table] = {}

    def kept(self, name: str, initial: Array) -> Variable:
        """What an op keeps for itself, such as a generator of random numbers, and begins with a value."""
        found = self.variable(name)
        if found.value is None:
            found.value = initial
        return found

    def variable(self, name: str) -> Variable:
        """The variable of a name, made when it is first asked for."""
        found = self._variables.get(name)
        if found is None:
            found = self._variables[name] = Variable(name)
        return found

    def table(self, name: str) -> Table:
        """The table of a name, made when it is first asked for."""
        return self._tables.setdefault(name, Table(name))
