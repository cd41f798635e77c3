"""Python's collector does not look for cycles of objects while a program is compiled.

Compiling makes many objects and few cycles, and each few hundred new objects have the collector look: that was up to a
fourteenth of compiling a model, and in one compilation of many all that the process holds is gone through, which beside
a large library takes ten times as long as compiling something small.  What is no longer needed goes without it, as the
references to it do: the peak of memory is the same.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_users: list[bool] = []
"""Whether the collector was on when each of those began that are within `paused`."""


@contextmanager
def paused() -> Iterator[None]:
    """Within it, in any thread, there is no automatic collection; afterwards there is if there was before."""
    with _lock:
        _users.append(gc.isenabled())
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            was_on = _users.pop()
            if not _users and was_on:
                gc.enable()
