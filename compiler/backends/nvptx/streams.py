"""Streams: steps that do not need each other run side by side, and what they use does not share memory.

Between two steps at which the host decides something, work is spread: a step goes on behind one that it needs, where
that is the last of its stream, and else, if it takes long enough, on a stream of its own as long as there are any.
What it needs from other streams it waits for by events.  Before and behind such a stretch everything is on stream 0,
where the host's transfers are.  All is decided when a module is compiled.

`Order` tells the packing of the arena which buffers are used at the same time now, and `Hazards` watches a run: two
steps that touch the same memory, one of them writing, must be ordered by a stream or by events, and what a step reads
must not have been written over by one that uses the same memory for something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from compiler.analysis.storage import Buffer
from compiler.backends.nvptx.steps import (
    ConditionalStep,
    CopyStep,
    LaunchStep,
    RecordStep,
    Step,
    WaitStep,
    WhileStep,
    Work,
    walk,
)

MOST_STREAMS = 4
"""Streams beside each other: more add events and seldom find work."""
LIGHT_BYTES = 64 * 1024
"""Steps that touch less and have few threads take no longer than the events of a stream of their own would."""
_FEW_THREADS = 4096
"""Threads below which a launch leaves most of a GPU to others: a warp for each multiprocessor of an H100."""


class StreamRace(RuntimeError):
    """Two steps on different streams touch the same memory and nothing orders them."""


class WrittenOver(RuntimeError):
    """A step reads a buffer in whose memory another buffer has been written since."""


@dataclass(slots=True)
class Order:
    """What comes before what: for each stretch and each buffer its steps, and the steps before all of them, as bits."""

    stretches: list[dict[Buffer, tuple[int, int]]] = field(default_factory=list)

    def allows_sharing(self, one: Buffer, other: Buffer) -> bool:
        """Whether all uses of the buffer whose life ends first come before all of the other's, in every stretch.

        A stretch that has the two the other way round may begin what a later one reads.
        """
        earlier, later = sorted((one, other), key=lambda buffer: buffer.last)
        return not any(
            uses[earlier][0] & ~uses[later][1] for uses in self.stretches if earlier in uses and later in uses
        )


def spread(steps: Sequence[Step], most: int = MOST_STREAMS) -> tuple[tuple[Step, ...], Order]:
    """The steps on up to `most` streams, and the order that is left."""
    order = Order()
    events = iter(range(1 << 62))
    return tuple(_sequence(steps, order, events, most)), order


def _sequence(steps: Sequence[Step], order: Order, events: Iterator[int], most: int) -> Iterator[Step]:
    stretch: list[Work] = []
    for step in steps:
        if isinstance(step, Work):
            stretch.append(step)
            continue
        yield from _Stretch(stretch, most).steps(order, events)
        stretch = []
        if isinstance(step, WhileStep):
            condition, body = (
                tuple(_sequence(sequence, order, events, most)) for sequence in (step.condition, step.body)
            )
            yield replace(step, condition=condition, body=body)
        elif isinstance(step, ConditionalStep):
            branches = tuple(tuple(_sequence(branch, order, events, most)) for branch in step.branches)
            yield replace(step, branches=branches)
    yield from _Stretch(stretch, most).steps(order, events)


class _Stretch:
    """Work with nothing of the host's between; sets of steps are bits by their numbers."""

    def __init__(self, work: Sequence[Work], most: int) -> None:
        self.work = work
        self.most = most
        self.needs = list(_needs(work))
        self.streams: list[int] = []
        self.before: list[int] = []
        self.waits: list[list[int]] = []
        self._assign()

    def _assign(self) -> None:
        tails: dict[int, int] = {}
        known: dict[int, int] = {}
        reached: list[int] = []
        for number, needs in enumerate(self.needs):
            reached.append(_union(reached, needs))
            stream = self._stream(number, tails, reached[number])
            seen, waits = known.get(stream, 0), list[int]()
            for other in sorted(_bits(needs), reverse=True):
                if not seen >> other & 1:
                    waits.append(other)
                    seen |= self.before[other] | 1 << other
            self.streams.append(stream)
            self.waits.append(waits)
            self.before.append(seen)
            known[stream], tails[stream] = seen | 1 << number, number

    def _stream(self, number: int, tails: dict[int, int], reached: int) -> int:
        """The stream of a step that needs those, all in all: where it has to wait for nothing else, if there is one."""
        free = [stream for stream, tail in tails.items() if reached >> tail & 1]
        if free:
            return max(free, key=tails.__getitem__)
        if _is_light(self.work[number]):
            needs = list(_bits(self.needs[number]))
            return self.streams[needs[-1]] if needs else 0
        return len(tails) if len(tails) < self.most else min(tails, key=tails.__getitem__)

    def steps(self, order: Order, events: Iterator[int]) -> Iterator[Step]:
        """The work with its streams, and the events between them."""
        order.stretches.append(self._uses())
        others = sorted(set(self.streams) - {0})
        last = {stream: max(n for n, s in enumerate(self.streams) if s == stream) for stream in others}
        waited = {other for waits in self.waits for other in waits} | set(last.values())
        event = {number: next(events) for number in sorted(waited)}
        if others:
            start = next(events)
            yield RecordStep(start, 0)
            for stream in others:
                yield WaitStep(start, stream)
        for number, (step, stream) in enumerate(zip(self.work, self.streams, strict=True)):
            yield from (WaitStep(event[other], stream) for other in self.waits[number])
            yield replace(step, stream=stream)
            if number in event:
                yield RecordStep(event[number], stream)
        yield from (WaitStep(event[last[stream]], 0) for stream in others)

    def _uses(self) -> dict[Buffer, tuple[int, int]]:
        found: dict[Buffer, tuple[int, int]] = {}
        everything = (1 << len(self.work)) - 1
        for number, step in enumerate(self.work):
            for buffer in {*step.reads, *step.writes}:
                steps, before = found.get(buffer, (0, everything))
                found[buffer] = steps | 1 << number, before & self.before[number]
        return found


def _is_light(step: Work) -> bool:
    few = isinstance(step, CopyStep) or step.launch.blocks * step.launch.threads < _FEW_THREADS
    return few and sum(buffer.size_bytes for buffer in {*step.reads, *step.writes}) < LIGHT_BYTES


def _needs(work: Sequence[Work]) -> Iterator[int]:
    """For each step those before it that wrote what it touches, or read what it writes."""
    writer: dict[Buffer, int] = {}
    readers: dict[Buffer, int] = {}
    for number, step in enumerate(work):
        needs = 0
        for buffer in (*step.reads, *step.writes):
            needs |= 1 << writer[buffer] if buffer in writer else 0
        for buffer in step.writes:
            needs |= readers.get(buffer, 0)
        yield needs
        for buffer in step.reads:
            readers[buffer] = readers.get(buffer, 0) | 1 << number
        for buffer in step.writes:
            writer[buffer], readers[buffer] = number, 0


def _union(reached: Sequence[int], needs: int) -> int:
    total = needs
    for other in _bits(needs):
        total |= reached[other]
    return total


def _bits(numbers: int) -> Iterator[int]:
    while numbers:
        low = numbers & -numbers
        yield low.bit_length() - 1
        numbers ^= low


@dataclass(slots=True)
class _Use:
    """The last time that a stream read or wrote a buffer."""

    stream: int
    time: int
    writes: bool
    step: Work


class Hazards:
    """Watches a run; every stream has a clock, and knows how far it comes behind the others."""

    def __init__(self) -> None:
        self._clocks: dict[int, dict[int, int]] = {}
        self._events: dict[int, dict[int, int]] = {}
        self._uses: dict[Buffer, list[_Use]] = {}
        self._lost: dict[Buffer, Work] = {}

    def order(self, step: RecordStep | WaitStep) -> None:
        """An event now stands for what its stream has done, or a stream comes behind an event.

        Raises:
            StreamRace: a stream waits for an event that nothing has recorded.
        """
        clock = self._clock(step.stream)
        if isinstance(step, RecordStep):
            self._events[step.event] = dict(clock)
            return
        if step.event not in self._events:
            raise StreamRace(f"{step}, which nothing has recorded")
        for stream, time in self._events[step.event].items():
            clock[stream] = max(clock.get(stream, 0), time)

    def work(self, step: Work) -> None:
        """A step runs.

        Raises:
            StreamRace: it is not ordered with a step that it must be ordered with.
            WrittenOver: what it reads is not there any more.
        """
        clock = self._clock(step.stream)
        self._lose(step)
        self._check(step, step.writes, writes=True)
        self._check(step, step.reads, writes=False)
        clock[step.stream] = clock.get(step.stream, 0) + 1
        for buffers, writes in ((step.reads, False), (step.writes, True)):
            for buffer in buffers:
                uses = self._uses.setdefault(buffer, [])
                uses[:] = [use for use in uses if (use.stream, use.writes) != (step.stream, writes)]
                uses.append(_Use(step.stream, clock[step.stream], writes, step))

    def _clock(self, stream: int) -> dict[int, int]:
        return self._clocks.setdefault(stream, {})

    def _lose(self, step: Work) -> None:
        """Note what a step, or each that a launch does by itself, writes over, behind a look at what it reads."""
        inner = step.within if isinstance(step, LaunchStep) else ()
        for work in [other for other in walk(inner) if isinstance(other, Work)] or [step]:
            written = dict.fromkeys(work.writes)
            for buffer in work.reads:
                if buffer in self._lost and buffer not in written:
                    raise WrittenOver(f"'{work}' reads {buffer}, over which '{self._lost[buffer]}' has written")
            known = [other for other in self._uses if other not in written]
            self._lost |= {other: work for other in known if any(other.overlaps(buffer) for buffer in written)}
            for buffer in written:
                self._lost.pop(buffer, None)

    def _check(self, step: Work, buffers: Iterable[Buffer], *, writes: bool) -> None:
        clock = self._clock(step.stream)
        for buffer in buffers:
            for other, uses in self._uses.items():
                if not buffer.overlaps(other):
                    continue
                for use in uses:
                    if (writes or use.writes) and use.time > clock.get(use.stream, 0):
                        raise StreamRace(
                            f"a race between streams for {other}: nothing orders '{use.step}' on stream {use.stream} "
                            f"and '{step}' on stream {step.stream}"
                        )
