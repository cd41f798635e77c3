"""A coverage trace of compilations: the rewrites, kinds of kernels and strategies that a program comes to.

A fuzzing campaign keeps the programs that come to something new.  What they come to is told of on the way, to nobody
as a rule; a trace of the interpreter's would take many times as long as compiling.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from compiler.ir.rewrite import Rewrite

_LABEL = re.compile(r"([A-Za-z][A-Za-z_.-]*?)\.\d+:")


@dataclass(slots=True)
class Decisions:
    """A log of decisions: rules of passes, by where they were applied, and ways through kernels."""

    rules: dict[str, set[str]] = field(default_factory=dict)
    ways: set[str] = field(default_factory=set)

    def add(self, other: Decisions) -> None:
        """Take in what was decided elsewhere."""
        self.ways |= other.ways
        for rule, sites in other.rules.items():
            self.rules.setdefault(rule, set()).update(sites)


_WATCHED: ContextVar[Decisions | None] = ContextVar("watched", default=None)


@contextmanager
def watching() -> Iterator[Decisions]:
    """Within it what is decided in this thread is noted down."""
    found = Decisions()
    token = _WATCHED.set(found)
    try:
        yield found
    finally:
        _WATCHED.reset(token)


def rewritten(rewrites: Iterable[Rewrite]) -> None:
    """Tell those who watch of rewrites that were done."""
    watched = _WATCHED.get()
    if watched is not None:
        for rewrite in rewrites:
            watched.rules.setdefault(f"{rewrite.pass_name}: {rewrite.rule}", set()).add(rewrite.where)


class Written(Protocol):
    """A function of code that was written."""

    name: str
    lines: list[str]


def went(back_end: str, kernels: Iterable[tuple[str, Iterable[str]]], functions: Iterable[Written]) -> None:
    """Tell of kernels by their kinds and the names of their functions, and by the names of the blocks of these.

    Args:
        back_end: its name.
        kernels: the kind of each, and the names of its functions.
        functions: those that were written.
    """
    watched = _WATCHED.get()
    if watched is None:
        return
    written = {function.name: function.lines for function in functions}
    for kind, names in kernels:
        kernel = f"{back_end} {kind}"
        watched.ways.add(kernel)
        labels = (_LABEL.fullmatch(line) for name in names for line in written.get(name, ()))
        watched.ways.update(f"{kernel} {label[1]}" for label in labels if label)
