"""What the host does to run a module: launches, copies, loops and branches, and what orders them between streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.analysis.placing import Buffer
from compiler.backends.nvptx.kernels.grid import Launch


@dataclass(frozen=True, slots=True)
class LaunchStep:
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
class CopyStep:
    """Copy one buffer over another on the device."""

    source: Buffer
    target: Buffer
    stream: int = 0

    @property
    def reads(self) -> tuple[Buffer, ...]:
        """What it reads."""
        return (self.source,)

    @property
    def writes(self) -> tuple[Buffer, ...]:
        """What it writes."""
        return (self.target,)

    def __str__(self) -> str:
        return f"copy {self.source} -> {self.target}{_on(self.stream)}"


@dataclass(frozen=True, slots=True)
class RecordStep:
    """An event stands for what has been put on a stream so far."""

    event: int
    stream: int

    def __str__(self) -> str:
        return f"record event {self.event}{_on(self.stream)}"


@dataclass(frozen=True, slots=True)
class WaitStep:
    """What follows on a stream comes after what an event stands for."""

    event: int
    stream: int

    def __str__(self) -> str:
        return f"wait for event {self.event}{_on(self.stream)}"


@dataclass(frozen=True, slots=True)
class WhileStep:
    """Run `condition`, read one byte of `predicate`, and while it is not 0 run `body` and again.

    Where the number of `turns` is known beforehand, the body is run as often, and nobody asks.  `note` says why it is
    the host that does it.
    """

    condition: tuple[Step, ...]
    predicate: Buffer
    body: tuple[Step, ...]
    turns: int | None = None
    note: str = ""

    def __str__(self) -> str:
        head = f"while ({self.predicate})" if self.turns is None else f"{self.turns} turns"
        return head + _because(self.note)


@dataclass(frozen=True, slots=True)
class ConditionalStep:
    """Read the selector (a pred picks branch 0 when true, an s32 by number, the last when out of range)."""

    selector: Buffer
    is_pred: bool
    branches: tuple[tuple[Step, ...], ...]

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
        if isinstance(step, ConditionalStep) or (isinstance(step, WhileStep) and step.turns is None):
            return None
        inner = put_down(step.body, most) if isinstance(step, WhileStep) else 1
        if inner is None:
            return None
        total += inner * (step.turns or 0) if isinstance(step, WhileStep) else inner
    return total if total <= most else None


def lines(steps: Sequence[Step], depth: int = 0) -> Iterator[str]:
    """The steps as text, what runs inside others indented."""
    for step in steps:
        yield "  " * depth + str(step)
        if isinstance(step, LaunchStep):
            yield from lines(step.within, depth + 1)
        if isinstance(step, WhileStep):
            condition = step.condition if step.turns is None else ()
            yield from lines((*condition, *step.body), depth + 1)
        elif isinstance(step, ConditionalStep):
            for branch in step.branches:
                yield from lines(branch, depth + 1)


def launches_of(steps: Sequence[Step]) -> Iterator[LaunchStep]:
    """The launches among steps, those in loops and branches too."""
    for step in steps:
        if isinstance(step, LaunchStep):
            yield step
        for part in _parts(step):
            yield from launches_of(part)


def _parts(step: Step) -> tuple[tuple[Step, ...], ...]:
    if isinstance(step, WhileStep):
        return step.condition, step.body
    return step.branches if isinstance(step, ConditionalStep) else ()


def buffers_of(steps: Sequence[Step]) -> Iterator[Buffer]:
    """What steps read or write, in loops and branches too."""
    for step in steps:
        match step:
            case LaunchStep() | CopyStep():
                yield from step.reads
                yield from step.writes
            case WhileStep():
                yield step.predicate
            case ConditionalStep():
                yield step.selector
            case RecordStep() | WaitStep():
                pass
        for part in _parts(step):
            yield from buffers_of(part)


def written_by(steps: Sequence[Step]) -> Iterator[Buffer]:
    """What steps write."""
    for step in steps:
        if isinstance(step, LaunchStep | CopyStep):
            yield from step.writes
        for part in _parts(step):
            yield from written_by(part)
