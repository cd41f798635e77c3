"""Names of nodes as TensorFlow chooses them: within scopes, a number behind those that are taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class Names:
    """The names of a graph, which are told apart without regard to case."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._used: dict[str, int] = {}
        self.scope = ""
        for name in taken:
            self.unique(f"{name}/")

    def unique(self, name: str) -> str:
        """A name that nobody has, within the scope; one that ends with `/` is taken as it stands, without that."""
        if name.endswith("/"):
            self._used.setdefault(name[:-1].lower(), 1)
            return name[:-1]
        name = f"{self.scope}{name}"
        key = name.lower()
        number = self._used.get(key, 0)
        self._used[key] = number + 1
        if not number:
            return name
        while f"{key}_{number}" in self._used:
            number += 1
        self._used[f"{key}_{number}"] = 1
        return f"{name}_{number}"

    @contextmanager
    def within(self, name: str) -> Iterator[str]:
        """Nodes in a new scope, or again in one whose name ends with `/`, or, with no name, in none; gives its name."""
        before = self.scope
        self.scope = name if name.endswith("/") else f"{self.unique(name)}/" if name else ""
        try:
            yield self.scope
        finally:
            self.scope = before
