"""A parallel map for compile units: work on many things, by as many threads as the system gives.

The thread that calls works, too.  So where no other can be started, as under a limit of memory that has no room for a
stack, or of processes, everything is done nevertheless.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def share_out(work: Callable[[Item], Result], items: Sequence[Item], *, threads: int) -> list[Result]:
    """The results of `work` on each item, in their order; up to `threads` at a time, begun in their order.

    Raises:
        BaseException: what `work` raised first; items that nobody has begun by then are left.
    """
    results: dict[int, Result] = {}
    errors: list[BaseException] = []
    pending = iter(range(len(items)))
    lock = threading.Lock()

    def take() -> int | None:
        with lock:
            return None if errors else next(pending, None)

    def run() -> None:
        while (number := take()) is not None:
            try:
                results[number] = work(items[number])
            except BaseException as error:  # noqa: BLE001 - it is raised by the thread that called
                errors.append(error)

    helpers = started(run, min(threads, len(items)) - 1, "xlabench-compile")
    try:
        run()
    finally:
        for helper in helpers:
            helper.join()
    if errors:
        raise errors[0]
    return [results[number] for number in range(len(items))]


def started(run: Callable[[], object], count: int, name: str) -> list[threading.Thread]:
    """As many threads of that name as can be started, but no more than asked for.

    Args:
        run: what each thread does.
        count: threads, at most.
        name: of each thread.
    """
    found: list[threading.Thread] = []
    for _ in range(count):
        thread = threading.Thread(target=run, name=name, daemon=True)
        try:
            thread.start()
        except (RuntimeError, MemoryError):  # the system gives none, or there is no memory to ask for one
            break
        found.append(thread)
    return found
