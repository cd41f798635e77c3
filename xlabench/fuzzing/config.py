"""What a campaign runs, told to all its parts."""

from __future__ import annotations

from dataclasses import dataclass

from xlabench.jobs import ENGINES


@dataclass(frozen=True, slots=True)
class Config:
    """What a campaign runs.

    Attributes:
        engines: specs of the engines that are held against the reference.
        seed: of everything that is drawn.
        count: how many programs, None for as many as the time allows.
        budget_s: how long, None for no limit.
        workers: processes at work at once.
        timeout_s: for one program on one engine, to compile it or to run it.
        memory_bytes: for one worker.
        max_probes: how often a finding may be tried while it is reduced; 0 reduces nothing.
        factory: what makes engines of specs in a worker.
    """

    engines: tuple[str, ...]
    seed: int = 0
    count: int | None = None
    budget_s: float | None = None
    workers: int = 1
    timeout_s: float = 60.0
    memory_bytes: int | None = 8 << 30
    max_probes: int = 200
    factory: str = ENGINES
