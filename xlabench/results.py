"""Records of a nightly: runs, cases and facts about them, verdicts first; and the classes of verdicts.

Fields are columns of a table (`database`): a new one is a new version of its schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

VERDICTS = (
    "bitwise",
    "within",
    "assembled",
    "undecided",
    "wrong",
    "flaky",
    "unsupported",
    "bad-input",
    "compile-error",
    "crash",
    "timeout",
    "error",
)
"""Every verdict class, best first; the rows of legends and counts.

`bad-input` is on a program that cannot be read, whoever was to run it; the last is on xlabench itself.
"""
RIGHT = frozenset({"bitwise", "within"})
UNJUDGED = frozenset({"assembled"})
"""On engines that only assemble: with no results to compare, they are neither right nor wrong."""
FINE = RIGHT | UNJUDGED
"""Nobody has to look at these."""


@dataclass(frozen=True, slots=True)
class Run:
    """One nightly: a suite on some engines with a seed, on a machine."""

    suite: str
    description: str
    reference: str
    engines: list[str]
    seed: int
    options: dict[str, Any]
    environment: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One program of a run; `digest` is of its text and of the texts of its reduced variants."""

    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one engine did with one case; `reduced` says why it ran a smaller program, if it did."""

    engine: str
    verdict: str
    message: str = ""
    stage: str = ""
    reduced: str = ""
    elements: int | None = None
    mismatches: int | None = None
    max_ulp: float | None = None
    max_abs: float | None = None
    max_rel: float | None = None
    compile_s: float | None = None
    run_s: float | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """Samples of one engine in one process, in seconds per call; doubts are (kind, message) pairs."""

    engine: str
    process: int
    calls: int
    samples: list[float]
    doubts: list[list[str]]


@dataclass(frozen=True, slots=True)
class Canary:
    """Samples of fixed work of NumPy's in one process that timed a case, in seconds per call (`timing.canary`)."""

    canary: str
    process: int
    calls: int
    samples: list[float]


@dataclass(frozen=True, slots=True)
class Bundle:
    """The repro bundle of one failure; the path is relative to the folder of the database."""

    engine: str
    path: str
    verified: bool
    message: str = ""


@dataclass(frozen=True, slots=True)
class Kernel:
    """What a kernel takes of a GPU, by NVIDIA's assembler: registers of a thread, the rest in bytes."""

    engine: str
    name: str
    registers: int
    shared_bytes: int
    stack_bytes: int
    spill_bytes: int


@dataclass(frozen=True, slots=True)
class Launch:
    """What a GPU is expected to do with one launch of a kernel (`LaunchModel` of the executable); nanoseconds."""

    engine: str
    name: str
    time_ns: float
    least_ns: float
    limit: str
    registers: int
    occupancy: float
    idle_lanes: float
    sectors: int
    least_sectors: int
    shared_passes: int
    least_shared_passes: int
    atomics: int
    atomic_passes: int


@dataclass(frozen=True, slots=True)
class Decided:
    """A digest of all that an engine's compiler decided about a case: with another one it was compiled differently."""

    engine: str
    digest: str


@dataclass(frozen=True, slots=True)
class Opened:
    """Which sizes a program that leaves some open was given, in words; `program` is the name of its file."""

    program: str
    sizes: str
