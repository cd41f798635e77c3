"""Sort kernels: every line along the sorted dimension, by networks over keys, merges of runs, or both; always stable.

Short lines are a block's, all in one launch; of long ones blocks sort chunks in one launch, and others merge them.
Where a comparator orders by keys of no more than 64 bits together (`keys`), a block sorts by a network in registers
(`bitonic`), many lines of very narrow keys digit by digit (`radix`), and few elements go where they belong by their
ranks in several runs at once (`ranks`).  Otherwise each element of a merge of two runs finds its own position
(`merge_path`), whatever the comparator says, and every width is a launch over everything.

Where only the first few of long lines are read (top-k), blocks sort chunks of the lines and the next launch sorts what
is first in those, until a line is a block's.  Chunks stay in the order of the line, so equal elements do too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.sort import ranks
from compiler.backends.nvptx.kernels.sort.chunks import SHORT
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


SORT = Kind(
    (
        NOTHING,
        Strategy("a block for each line", _whole),
        Strategy("the first of each part", _first),
        Strategy("ranks in several runs", _ranks),
        Strategy("merges of runs", _merges),
    ),
    SortGiven,
)
"""Sort kernels."""
