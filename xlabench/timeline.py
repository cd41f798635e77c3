"""A timeline in the Chrome trace format, which Perfetto and chrome://tracing open.

Times are nanoseconds of one monotonic clock; the file has microseconds from the first event on.  A span lies on a
*track*, and spans of one track nest by their times.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Clock = Callable[[], int]
_PROCESS = 1


@dataclass(frozen=True, slots=True)
class Span:
    """One thing that took time."""

    name: str
    category: str
    start_ns: int
    duration_ns: int
    track: str


@dataclass(slots=True)
class Timeline:
    """Collects spans; `clock` is an argument so that tests can script it."""

    clock: Clock = time.perf_counter_ns
    spans: list[Span] = field(default_factory=list)

    @contextmanager
    def span(self, name: str, category: str, *, track: str = "host") -> Iterator[None]:
        """Record how long the body takes, also when it fails.

        Args:
            name: what is done.
            category: its kind.
            track: the line of the timeline on which it stands.
        """
        start = self.clock()
        try:
            yield
        finally:
            self.spans.append(Span(name, category, start, self.clock() - start, track))

    def to_json(self) -> bytes:
        """The timeline in the format that Perfetto and Chrome open."""
        tracks = {span.track: number for number, span in enumerate({s.track: s for s in self.spans}.values(), 1)}
        first = min((span.start_ns for span in self.spans), default=0)
        events = [_name_event("thread_name", number, track) for track, number in tracks.items()]
        events += [
            {
                "name": span.name,
                "cat": span.category,
                "ph": "X",
                "ts": (span.start_ns - first) / 1000,
                "dur": span.duration_ns / 1000,
                "pid": _PROCESS,
                "tid": tracks[span.track],
            }
            for span in sorted(self.spans, key=lambda span: (span.start_ns, -span.duration_ns))
        ]
        return json.dumps({"displayTimeUnit": "ms", "traceEvents": events}).encode()


def _name_event(kind: str, number: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": _PROCESS, "tid": number, "args": {"name": name}}
