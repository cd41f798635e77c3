"""What the simulator finds wrong with a running kernel."""

from __future__ import annotations

from compiler.diagnostics import CompilerError, Span

Coordinates = tuple[int, int, int]

KINDS = (
    "out-of-bounds",
    "misaligned",
    "uninitialised",
    "read-only",
    "race",
    "divergent-barrier",
    "divergent-shuffle",
    "divergent-warp-group",
    "in-flight",
    "unfenced",
    "endless-loop",
    "trap",
)


class Fault(Exception):
    """A fault of one lane, on its way to where line, block and thread are known.

    `position` counts among the lanes for which the instruction was executing; `lane` is set instead where the fault is
    not tied to those.
    """

    def __init__(self, kind: str, message: str, position: int = 0, *, lane: int | None = None) -> None:
        assert kind in KINDS
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.position = position
        self.lane = lane


class SimulationError(CompilerError):
    """A kernel did what no kernel may: `kind` is one of `KINDS`, and the PTX line, block and thread say where."""

    def __init__(self, kind: str, message: str, span: Span, block: Coordinates, thread: Coordinates) -> None:
        where = f"block {_coordinates(block)}, thread {_coordinates(thread)}"
        super().__init__(span.render(f"{message}; {where} [{kind}]"))
        self.kind = kind
        self.message = message
        self.span = span
        self.line = span.line
        self.block = block
        self.thread = thread


def _coordinates(at: Coordinates) -> str:
    return f"({at[0]}, {at[1]}, {at[2]})"
