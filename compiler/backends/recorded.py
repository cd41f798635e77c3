"""Calls of an executable that somebody wants to keep: told of before each run, and with the results after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

from compiler.backends.executable import Executable, KernelTime, Wrapped

Before = Callable[[Sequence[Any]], None]
After = Callable[[Sequence[Any], Sequence[NDArray[Any]]], None]


class RecordedExecutable(Wrapped):
    """An executable whose runs are told of: with their inputs, or with their inputs and results."""

    def __init__(self, inner: Executable, *, before: Before | None = None, after: After | None = None) -> None:
        super().__init__(inner)
        self.before, self.after = before, after

    def __call__(self, *inputs: object) -> list[NDArray[Any]]:
        """Run it, and tell of it."""
        if self.before is not None:
            self.before(inputs)
        results = self.inner(*inputs)
        if self.after is not None:
            self.after(inputs, results)
        return results

    def profile(self, *inputs: object) -> list[KernelTime]:
        """Run it once and say how long each kernel took; nobody is told of such a run."""
        return self.inner.profile(*inputs)
