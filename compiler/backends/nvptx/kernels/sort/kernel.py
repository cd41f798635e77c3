"""Sort kernels: every line along the sorted dimension, by networks over keys, merges of runs, or both; always stable.

Short lines are a block's, all in one launch; of long ones blocks sort chunks in one launch, and others merge them.
Where a comparator orders by keys of no more than 64 bits together (`keys`), a block sorts by a network in registers
(`bitonic`), many lines of very narrow keys digit by digit (`radix`), few elements go where they belong by their ranks
in several runs at once (`ranks`), and many are counted and moved digit by digit by all blocks (`digits`).  Otherwise
each element of a merge of two runs finds its own position (`merge_path`), whatever the comparator says, and every width
is a launch over everything.

Where only the first few of long lines are read (top-k), blocks sort chunks of the lines and the next launch sorts what
is first in those, until a line is a block's.  Chunks stay in the order of the line, so equal elements do too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.sort import ranks
from compiler.backends.nvptx.kernels.sort.chunks import SHORT
from compiler.backends.nvptx.kernels.sort.digits import DigitSorter
from compiler.backends.nvptx.kernels.sort.sorter import Sorter
from compiler.backends.nvptx.kernels.strategy import NOTHING, Given, Kind, Plan, Strategy, planned
from compiler.backends.strategy import Declined

_FEW = SHORT // 8
"""So many of a line are few: chunks of which those are kept shrink quickly."""


class SortGiven(Given):
    """A sort kernel, with what emits it."""

    @cached_property
    def seen(self) -> Sorter:
        """What emits it, to be looked at."""
        return Sorter(self.scratch, self.kernel)

    def plan(self, emit: Callable[[Sorter], Iterable[Launch]], *, copies: int, key_bytes: int = 0) -> Plan:
        """The plan of a form that needs so many copies of the lines, and so many bytes of keys beside them.

        Args:
            emit: emits the launches.
            copies: of all lines, in the workspace.
            key_bytes: of keys beside them.
        """
        return planned(
            lambda module: tuple(emit(Sorter(module, self.kernel))),
            workspace_bytes=copies * sum(self.seen.sizes) + key_bytes,
            details={"lines": self.seen.count // max(1, self.seen.length), "line_length": self.seen.length},
        )


def _whole(given: SortGiven) -> Plan | Declined:
    """The plan of a block for each line: of a longer one where there are enough to keep a GPU busy."""
    if given.seen.length > given.seen.longest:
        return Declined(f"lines have more than {given.seen.longest} elements")
    return given.plan(lambda sorter: (sorter.whole_lines(),), copies=2)


def _first(given: SortGiven) -> Plan | Declined:
    """The plan of the first of each chunk of a line, and of these the first."""
    first = given.seen.results.read
    if first > _FEW:
        return Declined(f"more than {_FEW} elements of a line are read")
    return given.plan(lambda sorter: sorter.first_of_chunks(first), copies=4)


def _merges(given: SortGiven) -> Plan:
    """The plan of merges of ever longer runs."""
    return given.plan(lambda sorter: sorter.width_by_width(), copies=2)


def _ranks(given: SortGiven) -> Plan | Declined:
    """The plan of runs merged several at once."""
    if not given.seen.has_network or given.seen.count > ranks.MOST_ELEMENTS:
        return Declined(f"there are more than {ranks.MOST_ELEMENTS} elements, or no key orders them")
    return given.plan(lambda sorter: sorter.by_ranks(), copies=2, key_bytes=2 * given.seen.key_bytes)


def _digits(given: SortGiven) -> Plan | Declined:
    """The plan of launches for each digit of keys."""
    if not given.seen.has_network:
        return Declined("no key orders them")
    seen = DigitSorter(given.scratch, given.kernel)
    if not seen.pays:
        return Declined(f"{seen.digits} digits of {seen.count} elements take longer than merges")
    return planned(
        lambda module: tuple(DigitSorter(module, given.kernel).by_digits()),
        workspace_bytes=seen.copies * sum(seen.sizes) + seen.counter_bytes,
        details={"lines": seen.lines, "line_length": seen.length, "digits": seen.digits, "chunks": seen.chunks},
    )


SORT = Kind(
    (
        NOTHING,
        Strategy("a block for each line", _whole),
        Strategy("the first of each part", _first),
        Strategy("digit by digit", _digits),
        Strategy("ranks in several runs", _ranks),
        Strategy("merges of runs", _merges),
    ),
    SortGiven,
)
"""Sort kernels."""
