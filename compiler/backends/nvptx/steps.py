"""What the host does to run a module: launches, copies, loops and branches, and what orders them between streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.analysis.storage import Buffer
from compiler.backends.nvptx.kernels.grid import Launch


class _Base:
    """What a step is to those who look at many: the memory that it touches itself, and the steps inside it."""

    __slots__ = ()

    @property
    def reads(self) -> tuple[Buffer, ...]:
        """What it may read."""
        return ()

    @property
    def writes(self) -> tuple[Buffer, ...]:
        """What it may write."""
        return ()

    @property
    def sequences(self) -> tuple[tuple[Step, ...], ...]:
        """Steps of which the host does all or some."""
        return ()


@dataclass(frozen=True, slots=True)
class LaunchStep(_Base):
    """Launch one function; `buffers` are its pointer arguments (None: null), the last `written` outputs.

    A function is one of a kernel, or does the steps `within` all by itself, for the reason that `note` gives.
    """

    launch: Launch
    buffers: tuple[Buffer | None, ...]
    written: int
    stream: int = 0
    within: tuple[Step, ...] = ()
    note: str = ""

    @property
    def reads(self) -> tuple[Buffer, ...]:
        """What it may read; a workspace is read and written."""
        return tuple(buffer for buffer in self.buffers if buffer is not None)

    @property
    def writes(self) -> tuple[Buffer, ...]:
        """What it may write."""
        last = self.buffers[len(self.buffers) - self.written :]
        return tuple(buffer for buffer in last if buffer is not None)

    def __str__(self) -> str:
        pointers = [str(buffer) if buffer else "null" for buffer in self.buffers]
        given = "; ".join([*pointers, *map(str, self.launch.numbers)])
        asked = f", {self.launch.shared_bytes} bytes" if self.launch.shared_bytes else ""
        launch = f"launch {self.launch.function}<<<{self.launch.blocks}, {self.launch.threads}{asked}>>>({given})"
        return launch + _on(self.stream) + _because(self.note)


@dataclass(frozen=True, slots=True)
class CopyStep(_Base):
    """Copy one buffer over another on the device."""

    source: Buffer
    target: Buffer
    stream: int = 0

    @property
    def reads(self) -> tuple[Buffer, ...]:
        """The buffers that the copy reads."""
        return (self.source,)

    @property
    def writes(self) -> tuple[Buffer, ...]:
        """The buffers that the copy writes."""
        return (self.target,)

    def __str__(self) -> str:
        return f"copy {self.source} -> {self.target}{_on(self.stream)}"


@dataclass(frozen=True, slots=True)
class RecordStep(_Base):
    """An event stands for what has been put on a stream so far."""

    event: int
    stream: int

    def __str__(self) -> str:
        return f"record event {self.event}{_on(self.stream)}"


@dataclass(frozen=True, slots=True)
class WaitStep(_Base):
    """What follows on a stream comes after what an event stands for."""

    event: int
    stream: int

    def __str__(self) -> str:
        return f"wait for event {self.event}{_on(self.stream)}"


@dataclass(frozen=True, slots=True)
class WhileStep(_Base):
    """Run `condition`, read one byte of `predicate`, and while it is not 0 run `body` and again.

    Where `trip_count` is known beforehand, the body is run as often, and nobody asks: there are no steps
    of a condition.  `note` says why it is the host that does it.
    """

    condition: tuple[Step, ...]
    predicate: Buffer
    body: tuple[Step, ...]
    trip_count: int | None = None
    note: str = ""

    @property
    def reads(self) -> tuple[Buffer, ...]:
        """The predicate, if it is asked for."""
        return (self.predicate,) if self.trip_count is None else ()

    @property
    def sequences(self) -> tuple[tuple[Step, ...], ...]:
        """The condition and the body."""
        return self.condition, self.body

    def __str__(self) -> str:
        head = f"while ({self.predicate})" if self.trip_count is None else f"{self.trip_count} iterations"
        return head + _because(self.note)


@dataclass(frozen=True, slots=True)
class ConditionalStep(_Base):
    """Read the selector (a pred picks branch 0 when true, an s32 by number, the last when out of range)."""

    selector: Buffer
    is_pred: bool
    branches: tuple[tuple[Step, ...], ...]

    @property
    def reads(self) -> tuple[Buffer, ...]:
        """The buffer of the selector."""
        return (self.selector,)

    @property
    def sequences(self) -> tuple[tuple[Step, ...], ...]:
        """The steps of each branch."""
        return self.branches

    def __str__(self) -> str:
        return f"conditional ({self.selector})"


Work = LaunchStep | CopyStep
"""What takes time on the device."""
Step = Work | RecordStep | WaitStep | WhileStep | ConditionalStep


def _on(stream: int) -> str:
    return f" on stream {stream}" if stream else ""


def _because(note: str) -> str:
    return f"  # {note}" if note else ""


def put_down(steps: Sequence[Step], most: int) -> int | None:
    """How many things a run puts on streams; None where the host decides something on the way, or beyond the most."""
    total = 0
    for step in steps:
        if isinstance(step, ConditionalStep) or (isinstance(step, WhileStep) and step.trip_count is None):
            return None
        inner = put_down(step.body, most) if isinstance(step, WhileStep) else 1
        if inner is None:
            return None
        total += inner * (step.trip_count or 0) if isinstance(step, WhileStep) else inner
    return total if total <= most else None


def lines(steps: Sequence[Step], depth: int = 0) -> Iterator[str]:
    """The steps as text, what runs inside others indented."""
    for step in steps:
        yield "  " * depth + str(step)
        for sequence in (step.within,) if isinstance(step, LaunchStep) else step.sequences:
            yield from lines(sequence, depth + 1)


def walk(steps: Sequence[Step]) -> Iterator[Step]:
    """The steps, and those in loops and branches; what a launch does all by itself is not among them."""
    for step in steps:
        yield step
        for sequence in step.sequences:
            yield from walk(sequence)


def launches_of(steps: Sequence[Step]) -> Iterator[LaunchStep]:
    """The launches among steps, those in loops and branches too."""
    return (step for step in walk(steps) if isinstance(step, LaunchStep))


def buffers_of(steps: Sequence[Step]) -> Iterator[Buffer]:
    """The buffers that steps read or write, in loops and branches too."""
    return (buffer for step in walk(steps) for buffer in (*step.reads, *step.writes))


def written_by(steps: Sequence[Step]) -> Iterator[Buffer]:
    """The buffers that steps write."""
    return (buffer for step in walk(steps) for buffer in step.writes)
