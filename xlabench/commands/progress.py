"""What commands show of long work, on standard error: a bar on a terminal, and elsewhere a line now and then.

A log, as a continuous-integration server keeps it, has no use for a bar, but whoever waits wants to know that something
happens, and where it hung when it was killed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

EVERY_S = 10.0
"""The least time between two lines where there is no terminal."""

_STEP = TextColumn("{task.description}")


class _Log(Progress):
    """Writes lines instead of bars: the same columns as text, those that are pictures left out."""

    def __init__(self, *columns: ProgressColumn) -> None:
        super().__init__(*columns, disable=True)
        self._begun = self._said = time.monotonic()

    def update(self, task_id: TaskID, **changed: Any) -> None:
        super().update(task_id, **changed)
        now = time.monotonic()
        if now - self._said >= EVERY_S:
            self._said = now
            click.echo(self._line(self._tasks[task_id], int(now - self._begun)), err=True)

    def _line(self, task: Task, seconds: int) -> str:
        shown = (column for column in self.columns if isinstance(column, TextColumn | MofNCompleteColumn))
        texts = (column(task) for column in shown)
        words = (text.plain.strip() for text in texts if isinstance(text, Text))
        return f"[{seconds // 60}:{seconds % 60:02}] " + "  ".join(word for word in words if word)


def bars(*columns: ProgressColumn, is_quiet: bool) -> Progress:
    """A display of tasks in these columns, to be used as a context manager; `is_quiet` shows nothing."""
    console = Console(stderr=True)
    if is_quiet or console.is_terminal:
        return Progress(*columns, console=console, disable=is_quiet)
    return _Log(*columns)


@contextmanager
def steps(*, is_quiet: bool) -> Iterator[Callable[[str], None]]:
    """Of work whose length nobody knows: call the result with each step."""
    with bars(SpinnerColumn(), _STEP, TimeElapsedColumn(), is_quiet=is_quiet) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda step: bar.update(task, description=escape(step))


@contextmanager
def counted(total: int, *, is_quiet: bool) -> Iterator[Callable[[str], None]]:
    """Of a number of things: call the result when one is done."""
    columns = (_STEP, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with bars(*columns, is_quiet=is_quiet) as bar:
        task = bar.add_task("starting", total=total)
        yield lambda done: bar.update(task, advance=1, description=escape(done))
