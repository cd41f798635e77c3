"""What the commands that look into a failure show while they work: the step at hand, on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

_STEP = TextColumn("{task.description}")


@contextmanager
def steps(*, is_quiet: bool) -> Iterator[Callable[[str], None]]:
    """Of work whose length nobody knows: call the result with each step."""
    with Progress(SpinnerColumn(), _STEP, TimeElapsedColumn(), console=Console(stderr=True), disable=is_quiet) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda step: bar.update(task, description=escape(step))


@contextmanager
def counted(total: int, *, is_quiet: bool) -> Iterator[Callable[[str], None]]:
    """Of a number of things: call the result when one is done."""
    columns = (_STEP, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), disable=is_quiet) as bar:
        task = bar.add_task("starting", total=total)
        yield lambda done: bar.update(task, advance=1, description=escape(done))
