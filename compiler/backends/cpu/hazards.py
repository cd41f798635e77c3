"""Hazards between chunks of a phase: accesses to memory that must wait for those of other threads, at a barrier."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from compiler.analysis.storage import Buffer


@dataclass(slots=True)
class _Accesses:
    """Buffers that were accessed, by whether all threads took part in it."""

    shared: list[Buffer] = field(default_factory=list)
    alone: list[Buffer] = field(default_factory=list)

    def meet(self, now: Sequence[Buffer], *, shared: bool) -> bool:
        """Whether one of the accesses must be over before these; what one thread does alone is in order by itself."""
        earlier = (*self.shared, *self.alone) if shared else self.shared
        return bool(earlier) and any(buffer.overlaps(other) for buffer in now for other in earlier)

    def note(self, now: Iterable[Buffer], *, shared: bool) -> None:
        (self.shared if shared else self.alone).extend(now)


@dataclass(slots=True)
class Hazards:
    """Reads and writes of buffers since the phase began, to see where the next kernel must wait."""

    written: _Accesses = field(default_factory=_Accesses)
    read: _Accesses = field(default_factory=_Accesses)

    def conflict(self, reads: Iterable[Buffer], writes: Iterable[Buffer], *, shared: bool) -> bool:
        """Whether an access must wait for other threads.

        Args:
            reads: the buffers that are read.
            writes: the buffers that are written.
            shared: whether it is done in chunks; what chunk 0 does alone is in order by itself.
        """
        reads, writes = list(reads), list(writes)
        return self.written.meet((*reads, *writes), shared=shared) or self.read.meet(writes, shared=shared)

    def note(self, reads: Iterable[Buffer], writes: Iterable[Buffer], *, shared: bool) -> None:
        """Record that buffers are read and written.

        Args:
            reads: what is read.
            writes: what is written.
            shared: whether several threads do it.
        """
        self.read.note(reads, shared=shared)
        self.written.note(writes, shared=shared)
