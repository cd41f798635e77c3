"""Ctrl-C that asks long work to end with what it has; pressed again it ends the command as it always does."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event


@contextmanager
def interruptible(says: str) -> Iterator[Callable[[], bool]]:
    """Within it the first Ctrl-C only says this; yields what tells whether that was asked for."""
    told = Event()
    line = f"\nxlabench: {says}\n".encode()

    def stop(_number: int, _frame: object) -> None:
        told.set()
        signal.signal(signal.SIGINT, before)
        os.write(2, line)  # not by a stream, which may be at work when the signal comes

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield told.is_set
    finally:
        signal.signal(signal.SIGINT, before)
