"""Sizes that a program leaves open, as a model does that of its batch, where no inputs say them.

`--shapes 8` says one for all of them, `--shapes x:8x10,y:8x3` the sizes of inputs by their names or numbers.  Where
nothing is said, commands that only run a program take small ones, equal wherever they are open, since a program may
need two to be equal; those that write code for others to call ask for them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import click

from compiler import InputError
from xlabench.errors import did_you_mean

BATCH = 2
"""Of a program that leaves only leading sizes open: the smallest in which one example can be taken for another."""

SIZE = 8
"""Of others: images and sequences of this size are still some after a few windows and strides."""

_ITEM = re.compile(r"(?P<name>.+):(?P<sizes>\d+(?:x\d+)*)")
_HINT = "--shapes N, or --shapes NAME:NxN,..."
Stated = Sequence[int | None] | None
"""What is stated of an input's sizes, None for one that is open, or for all where not even their number is known."""


@dataclass(slots=True)
class OpenSizes:
    """What is said of open sizes, and which were taken.

    Attributes:
        size: for every one that nothing else is said of.
        named: the sizes of inputs, by their names or numbers.
        is_required: whether it must be said, and nothing is taken for want of it.
        taken: what each input with open sizes has been given, in words.
    """

    size: int | None = None
    named: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    is_required: bool = False
    taken: list[str] = field(default_factory=list)

    @classmethod
    def parse(cls, text: str | None, *, is_required: bool = False) -> OpenSizes:
        """Read what the option says; empty where it is not given.

        Raises:
            InputError: it is none of its forms.
        """
        if not text:
            return cls(is_required=is_required)
        if text.isascii() and text.isdecimal():
            return cls(int(text), is_required=is_required)
        found = [_ITEM.fullmatch(item) for item in text.split(",")]
        if not all(found):
            raise InputError(f"--shapes {text!r} cannot be read; give {_HINT}")
        named = {one["name"]: tuple(map(int, one["sizes"].split("x"))) for one in found if one}
        return cls(None, named, is_required)

    def __call__(self, names: Sequence[str], stated: Sequence[Stated]) -> list[tuple[int, ...]]:
        """The sizes of inputs, of which some are open.

        Raises:
            InputError: what is said does not fit, names no input, or does not suffice.
        """
        known = {*names, *map(str, range(len(names)))}
        for name in self.named:
            if name not in known:
                listed = did_you_mean(name, names) or f"; inputs are {', '.join(names)}"
                raise InputError(f"--shapes: there is no input {name!r}{listed}")
        default = self._default(stated)
        return [
            self._of(name, self.named.get(name, self.named.get(str(number))), sizes, default)
            for number, (name, sizes) in enumerate(zip(names, stated, strict=True))
        ]

    def _default(self, stated: Sequence[Stated]) -> int | None:
        if self.size is not None or self.is_required:
            return self.size
        return BATCH if all(one is not None and None not in one[1:] for one in stated) else SIZE

    def _of(self, name: str, said: tuple[int, ...] | None, stated: Stated, default: int | None) -> tuple[int, ...]:
        written = "unknown" if stated is None else f"[{','.join('?' if one is None else str(one) for one in stated)}]"
        if said is None:
            if stated is not None and None not in stated:
                return tuple(one for one in stated if one is not None)
            if stated is None or default is None:
                raise InputError(
                    f"the sizes of input {name!r} are open, {written}: give them, {_HINT}, or inputs to run on"
                )
            said = tuple(default if one is None else one for one in stated)
        elif stated is not None and (
            len(said) != len(stated) or any(a not in (None, b) for a, b in zip(stated, said, strict=True))
        ):
            raise InputError(f"--shapes: input {name!r} has sizes {written}, not {list(said)}")
        self.taken.append(f"{name} {written} is {list(said)}")
        return said

    @property
    def notes(self) -> tuple[str, ...]:
        """What was taken, in a line for who reads the results; none where nothing was open."""
        return (f"open sizes: {self.said} ({_HINT} for others)",) if self.taken else ()

    @property
    def said(self) -> str:
        """What was taken, in words; empty where nothing was open."""
        return "; ".join(self.taken)

    def show(self) -> None:
        """Write the notes to standard error."""
        for note in self.notes:
            click.echo(f"xlabench: {note}", err=True)

    def require_use(self, what: object) -> None:
        """Refuse sizes that nothing was asked for.

        Raises:
            InputError: some are said.
        """
        if (self.size is not None or self.named) and not self.taken:
            raise InputError(f"{what}: none of its sizes is open to --shapes: leave it out")
