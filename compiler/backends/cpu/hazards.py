"""Which accesses to memory must wait for other threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from compiler.analysis.placing import Buffer


@dataclass(slots=True)
class Hazards:
    """What has happened to memory since the last barrier."""

    written: list[tuple[Buffer, bool]] = field(default_factory=list)
    read: list[tuple[Buffer, bool]] = field(default_factory=list)

    def conflict(self, reads: Iterable[Buffer], writes: Iterable[Buffer], *, shared: bool) -> bool:
        """Whether an access must wait for other threads.

        `shared` tells whether all threads take part in it; what thread 0 does alone is in order by itself.
        """
        writes = list(writes)
        before_reads = self._meets(self.written, reads, shared=shared)
        return (
            before_reads
            or self._meets(self.written, writes, shared=shared)
            or self._meets(self.read, writes, shared=shared)
        )

    @staticmethod
    def _meets(earlier: Sequence[tuple[Buffer, bool]], now: Iterable[Buffer], *, shared: bool) -> bool:
        return any((shared or was_shared) and buffer.overlaps(other) for buffer in now for other, was_shared in earlier)

    def note(self, reads: Iterable[Buffer], writes: Iterable[Buffer], *, shared: bool) -> None:
        """Record an access."""
        self.read += [(buffer, shared) for buffer in reads]
        self.written += [(buffer, shared) for buffer in writes]

    @property
    def are_shared(self) -> bool:
        """Whether several threads took part in any of it."""
        return any(shared for _, shared in (*self.written, *self.read))

    def clear(self) -> None:
        """A barrier has been passed."""
        self.written.clear()
        self.read.clear()
