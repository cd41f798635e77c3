"""Bank conflicts: how many passes the accesses of shared memory take, beside how many they would take at the least.

Shared memory has 32 banks, in which words of 4 bytes lie in turn.  A pass serves one word of each bank, to as many
lanes as want it; lanes that want different words of a bank wait for another pass.  A warp's accesses of 8 (16) bytes
are served by halves (quarters), of which each takes one pass at the least, and so is each matrix of `ldmatrix`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_BANKS = 32
"""Of shared memory (CUDA C++ Programming Guide, compute capability 5.x and later)."""
_WORD_BYTES = 4
"""What lies in a bank in a line, in bytes."""
_PASS_BYTES = _BANKS * _WORD_BYTES
_GROUP_SHIFT = 32
"""Words of a block's memory have smaller numbers."""


@dataclass(slots=True)
class BankCounter:
    """Counts the passes of a launch."""

    passes: int = 0
    least: int = 0

    def count(
        self, addresses: NDArray[np.uint64], size: int, warps: NDArray[np.int64], lanes: NDArray[np.int64]
    ) -> None:
        """Note that lanes of these numbers, in these warps, access so many bytes at these addresses of their blocks."""
        together = min(_BANKS, _PASS_BYTES // max(size, _WORD_BYTES))
        group = (warps * _BANKS + lanes) // together
        first = np.broadcast_to(addresses, lanes.shape).astype(np.int64) // _WORD_BYTES
        words = np.concatenate([first + step for step in range(max(1, size // _WORD_BYTES))])
        wanted = np.unique(np.tile(group, words.size // group.size) << _GROUP_SHIFT | words)
        banks, each = np.unique((wanted >> _GROUP_SHIFT) * _BANKS + wanted % _BANKS, return_counts=True)
        _, starts = np.unique(banks // _BANKS, return_index=True)
        self.passes += int(np.maximum.reduceat(each, starts).sum())
        self.least += starts.size
