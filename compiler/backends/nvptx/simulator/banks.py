"""Bank conflicts: how many passes the accesses of shared memory take, beside how many they would take at the least.

Shared memory has 32 banks, in which words of 4 bytes lie in turn.  A pass serves one word of each bank, to as many
lanes as want it; lanes that want different words of a bank wait for another pass.  A warp's accesses of 8 (16) bytes
are served by halves (quarters), of which each takes one pass at the least, and so is each matrix of `ldmatrix`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from compiler.backends.nvptx.simulator.active import ActiveLanes, Forms

_BANKS = 32
"""Of shared memory (CUDA C++ Programming Guide, compute capability 5.x and later)."""
_WORD_BYTES = 4
"""What lies in a bank in a line, in bytes."""
_PASS_BYTES = _BANKS * _WORD_BYTES
"""What a pass serves at the most."""
_GROUP_SHIFT = 32
"""Bits of the number of a word: a block's memory has fewer."""


@dataclass(frozen=True, slots=True)
class Passes:
    """The passes that an access takes, and those that it would take without conflicts."""

    taken: int
    least: int


@dataclass(slots=True)
class BankCounter:
    """Counts the passes of a launch.

    Attributes:
        passes: those that were taken.
        least: those that would have done.
    """

    passes: int = 0
    least: int = 0
    # Moved by a word, what lay in a bank lies in the next one.
    _forms: Forms[Passes] = field(default_factory=lambda: Forms(_WORD_BYTES))

    def stream(self, size_bytes: int) -> None:
        """So many bytes are read, all banks at once."""
        passes = -(-size_bytes // _PASS_BYTES)
        self.passes += passes
        self.least += passes

    def begin(self) -> None:
        """Lanes of another batch come."""
        self._forms.forget()

    def count(self, lanes: ActiveLanes, addresses: NDArray[np.uint64], size: int) -> None:
        """Note that lanes access so many bytes at these addresses of their blocks.

        Args:
            lanes: which are active, and in which warps.
            addresses: in shared memory.
            size: bytes of a lane.
        """
        found, _ = self._forms.look_up(lanes, addresses, size, passes_of)
        self.passes += found.taken
        self.least += found.least


def passes_of(lanes: ActiveLanes, addresses: NDArray[np.int64], size: int) -> Passes:
    """The passes of an access of so many bytes a lane at these addresses.

    Args:
        lanes: which are active, and in which warps.
        addresses: in shared memory.
        size: bytes of a lane.
    """
    together = min(_BANKS, _PASS_BYTES // max(size, _WORD_BYTES))
    group = (lanes.warps * _BANKS + lanes.positions) // together
    first = np.broadcast_to(addresses, group.shape) // _WORD_BYTES
    words = np.concatenate([first + step for step in range(max(1, size // _WORD_BYTES))])
    wanted = np.unique(np.tile(group, words.size // group.size) << _GROUP_SHIFT | words)
    banks, each = np.unique((wanted >> _GROUP_SHIFT) * _BANKS + wanted % _BANKS, return_counts=True)
    _, starts = np.unique(banks // _BANKS, return_index=True)
    return Passes(int(np.maximum.reduceat(each, starts).sum()), starts.size)
