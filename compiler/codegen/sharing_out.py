"""A parallel map for compile units: work on many things, by as many threads as the system gives.

The thread that calls works, too, and waits for others only where they have begun something.  So where no other can be
started, as under a limit of memory that has no room for a stack, or of processes, or where a busy machine does not run
one, everything is done nevertheless.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(slots=True)
class _Shared(Generic[Item, Result]):
    """Items of which whoever is free takes the next one, until all are taken, one fails or the caller is done."""

    work: Callable[[Item], Result]
    items: Sequence[Item]
    results: dict[int, Result] = field(default_factory=dict)
    errors: list[BaseException] = field(default_factory=list)
    taken: int = 0
    begun: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)

    def run(self) -> None:
        """Work until there is nothing left to take."""
        while (number := self._take()) is not None:
            try:
                self.results[number] = self.work(self.items[number])
            except BaseException as error:  # noqa: BLE001 - it is raised by the thread that called
                self.errors.append(error)
            with self.changed:
                self.begun -= 1
                self.changed.notify_all()

    def close(self) -> None:
        """Let nobody take anything any more, and wait for what has been begun."""
        with self.changed:
            self.taken = len(self.items)
            self.changed.wait_for(lambda: not self.begun)

    def _take(self) -> int | None:
        with self.changed:
            if self.errors or self.taken == len(self.items):
                return None
            self.taken, self.begun = self.taken + 1, self.begun + 1
            return self.taken - 1


def share_out(work: Callable[[Item], Result], items: Sequence[Item], *, threads: int) -> list[Result]:
    """The results of `work` on each item, in their order; up to `threads` at a time, begun in their order.

    Raises:
        BaseException: what `work` raised first; items that nobody has begun by then are left.
    """
    shared = _Shared(work, items)
    try:
        for _ in range(min(threads, len(items)) - 1):
            # A thread of the module `threading` is waited for until it runs, which a busy machine may not do soon.
            _thread.start_new_thread(shared.run, ())
    except (RuntimeError, MemoryError):
        pass  # the system gives none, or there is no memory to ask for one
    try:
        shared.run()
    finally:
        shared.close()
    if shared.errors:
        raise shared.errors[0]
    return [shared.results[number] for number in range(len(items))]
