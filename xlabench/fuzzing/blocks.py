"""Which drawn programs are compiled together: a number says it, so that a case is the same in every campaign.

Compiling is most of what a small program costs, and most of that does not depend on how small it is.  So numbers come
in blocks, and the programs of a block are compiled as one module with the results of all, in one variant of each
engine (`xlabench.fuzzing.packs`).  One program in `ALONE_EVERY` is compiled alone, in a variant of its own: buffers,
entry layouts and threads of one program are others than those of many.

What finds bugs is what programs hold, and most of what they hold any engine looks at: so an engine is asked where it
has its turn.  Of several specs of one engine, as `cpu` and `cpu:fusion=off`, one has it in each block: the others run
the same passes and the same elements' code once more, and without fusion there are twice as many kernels to compile.
A simulator takes as long for a program as all other stages together, and is alone in running a part of the compiler
only: beside other engines it is asked in one block of `SIMULATED_EVERY`, about the share at which the time that it
takes finds as much as the time of the others does.  What it takes seconds for it is asked about less often again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Generic, Protocol, TypeVar

from xlabench.engines import is_simulated
from xlabench.engines.spec import split_spec

BLOCK, ALONE_EVERY = 20, 6
SIMULATED_EVERY, DEAR_SIMULATED_EVERY = 6, 24
"""In one of how many blocks a simulator is asked, and in one of how many about what it takes seconds for."""
DEAR_SIMULATED_FROM = 22
"""The first block with such a program.  One with calls of LAPACK drawn may take fifteen seconds: of those that come
while seeds come first, one is in such a block, the program 456, and a campaign's first is not."""
KERNELS_SIMULATED_EVERY = 2
"""In one of how many it is asked about kernels that are cut into tiles and chunks, of which little else runs any."""
OTHER_SPEC_EVERY = 3
"""In one of how many blocks an engine is asked by another of its specs than the first."""

Case = TypeVar("Case")


def block_of(number: int) -> int:
    """The block that a number is in."""
    return number // BLOCK


def is_alone(number: int) -> bool:
    """Whether the program of a number is compiled alone."""
    return number % ALONE_EVERY == 0


def asked(
    specs: Sequence[str], number: int, *, simulated_every: int = SIMULATED_EVERY, simulated_from: int = 0
) -> list[str]:
    """The engines that are asked about the program of a number.

    The reference as an engine is none that finds anything of its own: where there is no other, simulators are asked.

    Args:
        specs: all engines of a campaign.
        number: of the program, or of the first of those that are compiled together.
        simulated_every: in one of how many blocks simulators are asked.
        simulated_from: the first of these, less than so many.
    """
    block = block_of(number)
    ours = [spec for spec in specs if not is_simulated(spec)]
    is_simulated_too = block % simulated_every == simulated_from or all(
        _engine_of(spec) == "reference" for spec in ours
    )
    in_turn = {*_in_turn(ours, block)}
    return [spec for spec in specs if (is_simulated_too if is_simulated(spec) else spec in in_turn)]


def _in_turn(specs: Sequence[str], block: int) -> Iterator[str]:
    """One of the specs of each engine: the first of them, or in some blocks another, each of these equally often."""
    for _, of_engine in groupby(sorted(specs, key=_engine_of), key=_engine_of):
        first, *others = of_engine
        turn, left = divmod(block, OTHER_SPEC_EVERY)
        yield others[turn % len(others)] if others and left == OTHER_SPEC_EVERY - 1 else first


def _engine_of(spec: str) -> str:
    return split_spec(spec)[0]


def in_order(numbers: Sequence[int]) -> tuple[list[int], list[Sequence[int]]]:
    """Numbers in the order in which they are run, those alone first in each block, and which of them go together."""
    ordered: list[int] = []
    packs: list[Sequence[int]] = []
    for _, block in groupby(sorted(numbers), key=block_of):
        inside = sorted(block, key=lambda number: (not is_alone(number), number))
        ordered += inside
        pack = [number for number in inside if not is_alone(number)]
        if len(pack) > 1:
            packs.append(pack)
    return ordered, packs


def halves(pack: Sequence[Case]) -> list[Sequence[Case]]:
    """The halves of a pack that failed, to tell which of its members does; none of so few that each is run alone."""
    middle = len(pack) // 2
    return [pack[:middle], pack[middle:]] if middle > 1 else []


class HasEnded(Protocol):
    """The case that ended a worker, or the cases of a pack that did."""

    @property
    def number(self) -> int:
        """The number of the case, or of the first of the pack."""

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
        broken: the packs that ended a worker, whose halves are then run, and of few each alone.
        ending: the cases that did so alone.
    """

    cases: list[int]
    packs: list[Sequence[int]] = field(default_factory=list)
    broken: list[Ended] = field(default_factory=list)
    ending: set[int] = field(default_factory=set)

    @staticmethod
    def of(cases: Sequence[int], *, is_packed: bool) -> Todo[Ended]:
        """All of a batch."""
        return Todo(*in_order(cases)) if is_packed else Todo(list(cases))

    def go_on(self, ended: Ended | None) -> None:
        """Leave out what is done: all, or what comes before the case that ended a worker, and that.

        The others of its pack are run again, in halves of it, or alone, whether they were done or not.
        """
        if ended is None:
            self.cases = []
            return
        pack = next((pack for pack in self.packs if ended.number in pack), [ended.number])
        behind = self.cases[self.cases.index(pack[-1]) + 1 :]
        again = [case for case in pack if ended.members or case != ended.number]
        self.packs = [other for other in self.packs if other is not pack]
        if ended.members:
            self.packs += halves(again)
        self.cases = again + behind

    def unexplained(self) -> list[Ended]:
        """The packs that ended a worker, as none of their members did alone.

        One that took too long is none of them: that is what its members take together; nor is one of which a part did.
        """
        sets = [{*ended.members} for ended in self.broken]
        return [
            ended
            for ended in self.broken
            if not (
                ended.is_timeout
                or self.ending & {*ended.members}
                or any(smaller_ < {*ended.members} for smaller_ in sets)
            )
        ]
