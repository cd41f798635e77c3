"""Which drawn programs are compiled together: a number says it, so that a case is the same in every campaign.

Compiling is most of what a small program costs, and most of that does not depend on how small it is.  So numbers come
in blocks, and the programs of a block are compiled as one module with the results of all, in one variant of each
engine (`xlabench.fuzzing.packs`).  One program in `ALONE_EVERY` is compiled alone, in a variant of its own: buffers,
entry layouts and threads of one program are others than those of many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Generic, Protocol, TypeVar

BLOCK, ALONE_EVERY = 20, 6


def block_of(number: int) -> int:
    """The block that a number is in."""
    return number // BLOCK


def is_alone(number: int) -> bool:
    """Whether the program of a number is compiled alone."""
    return number % ALONE_EVERY == 0


def in_order(numbers: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """Numbers in the order in which they are run, those alone first in each block, and which of them go together."""
    ordered: list[int] = []
    packs: list[list[int]] = []
    for _, block in groupby(sorted(numbers), key=block_of):
        inside = sorted(block, key=lambda number: (not is_alone(number), number))
        ordered += inside
        pack = [number for number in inside if not is_alone(number)]
        if len(pack) > 1:
            packs.append(pack)
    return ordered, packs


class HasEnded(Protocol):
    """The case that ended a worker, or the cases of a pack that did."""

    @property
    def number(self) -> int:
        """That of the case, or of the first of the pack."""

    @property
    def members(self) -> tuple[int, ...]:
        """The cases of the pack."""

    @property
    def is_timeout(self) -> bool:
        """Whether it took too long."""


Ended = TypeVar("Ended", bound=HasEnded)


@dataclass(slots=True)
class Todo(Generic[Ended]):
    """The cases of a batch that are not done, in their order, and which of them go together.

    Attributes:
        cases: what is left.
        packs: those that are compiled together.
        broken: the packs that ended a worker, whose members are then run alone.
        ending: the cases that did so alone.
    """

    cases: list[int]
    packs: list[list[int]] = field(default_factory=list)
    broken: list[Ended] = field(default_factory=list)
    ending: set[int] = field(default_factory=set)

    @staticmethod
    def of(cases: Sequence[int], *, is_packed: bool) -> Todo[Ended]:
        """All of a batch."""
        return Todo(*in_order(cases)) if is_packed else Todo(list(cases))

    def go_on(self, ended: Ended | None) -> None:
        """Leave out what is done: all, or what comes before the case that ended a worker, and that.

        The others of its pack are run alone, whether they were done or not.
        """
        if ended is None:
            self.cases = []
            return
        pack = next((pack for pack in self.packs if ended.number in pack), [ended.number])
        self.packs = [other for other in self.packs if other is not pack]
        behind = self.cases[self.cases.index(pack[-1]) + 1 :]
        self.cases = [case for case in pack if ended.members or case != ended.number] + behind

    def unexplained(self) -> list[Ended]:
        """The packs that ended a worker, as none of their members did alone.

        One that took too long is none of them: that is what its members take together.
        """
        return [ended for ended in self.broken if not (ended.is_timeout or self.ending & {*ended.members})]
