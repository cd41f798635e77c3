"""What every back end's executable offers besides being called: artifacts, compile phases, kernel times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from compiler.ir.module import Module
from compiler.options import CompileOptions

Artifact = str | bytes


class Phase(NamedTuple):
    """One step of a compilation; times in nanoseconds of `time.perf_counter_ns`."""

    name: str
    start_ns: int
    duration_ns: int


class KernelTime(NamedTuple):
    """One run of a kernel's function on one thread; times in nanoseconds of `time.perf_counter_ns`."""

    name: str
    start_ns: int
    duration_ns: int
    thread: int


@dataclass(frozen=True, slots=True)
class KernelResources:
    """Registers, memory and spills of a kernel, as a GPU's assembler says; sizes in bytes."""

    name: str
    registers: int
    shared_bytes: int
    stack_bytes: int
    spill_bytes: int


@dataclass(frozen=True, slots=True)
class LaunchModel:
    """The counts and the time that a model expects of one launch; counts are of the blocks that stand for all.

    Attributes:
        name: the kernel's instruction, and which of its launches this is.
        time_ns: nanoseconds by the model.
        least_ns: nanoseconds that no code for the whole kernel could do without.
        limit: the resource that takes longest.
        registers: of a thread, estimated.
        occupancy: the share of a multiprocessor's warps that its blocks fill.
        idle_lanes: the share of lanes that stand by while others of their warps execute.
        sectors: transactions of global memory.
        least_sectors: how many would do, were each access coalesced.
        shared_passes: passes of shared memory.
        least_shared_passes: how many would do without bank conflicts.
        atomics: updates of lanes.
        atomic_passes: updates that come one after the other.
    """

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
class ExecutableInfo:
    """Facts about an executable besides its results, as far as there is something to say.

    Attributes:
        kernels: what each kernel takes of a GPU.
        proven: of one that is only assembled, and cannot be run, what that proves, in a sentence.
        ran: how much was executed so far, and how fast, in a sentence.
    """

    kernels: tuple[KernelResources, ...] = ()
    proven: str = ""
    ran: str = ""


class Phases:
    """The clock of one compilation, and the text of the module that the back end was given."""

    def __init__(self) -> None:
        self.done: list[Phase] = []
        self.optimised_text: Callable[[], str] = str

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time a step of a compilation."""
        start = time.perf_counter_ns()
        yield
        self.done.append(Phase(name, start, time.perf_counter_ns() - start))


class Artifacts(Mapping[str, Artifact]):
    """The texts and files that a compilation leaves behind, by XLA's dump suffix; made when first asked for."""

    def __init__(self, makers: Mapping[str, Callable[[], Artifact]]) -> None:
        self._makers = makers
        self._made: dict[str, Artifact] = {}

    def __getitem__(self, name: str) -> Artifact:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


class Serializer(NamedTuple):
    """The way executables of a back end are kept as bytes, and made from them again.

    Attributes:
        depends_on: what the bytes depend on besides the program and the options as they are given.
        to_bytes: what to keep of an executable.
        restore: the executable again; the function gives the module as the back end takes it, should it be needed.
    """

    depends_on: Callable[[CompileOptions], str]
    to_bytes: Callable[[Any], bytes]
    restore: Callable[[bytes, Callable[[], Module], CompileOptions, Phases], Executable]


class Executable(Protocol):
    """A compiled module, called with arrays."""

    phases: list[Phase]

    @property
    def module(self) -> Module:
        """The module as the back end was given it."""

    @property
    def artifacts(self) -> Mapping[str, Artifact]:
        """What the compilation left behind, by XLA's dump suffix."""

    @property
    def facts(self) -> ExecutableInfo:
        """What else is known of it."""

    @property
    def decisions_digest(self) -> str:
        """A digest of all that was decided about it: with another one the module was compiled differently."""

    @property
    def launch_models(self) -> tuple[LaunchModel, ...]:
        """What a GPU is expected to take for each launch; it takes the time of a compilation, and more, to find out."""

    def __call__(self, *inputs: object) -> list[NDArray[Any]]:
        """Run it on the entry parameters in order; returns the leaves of the root in order."""

    def profile(self, *inputs: object) -> list[KernelTime]:
        """Run it once and say how long each kernel took."""


class Wrapped:
    """An executable around another one, of which it has all but calls and profiles."""

    def __init__(self, inner: Executable) -> None:
        self.inner = inner
        self.module, self.phases = inner.module, inner.phases

    @property
    def artifacts(self) -> Mapping[str, Artifact]:
        """What the compilation left behind, by XLA's dump suffix."""
        return self.inner.artifacts

    @property
    def facts(self) -> ExecutableInfo:
        """What else is known of it."""
        return self.inner.facts

    @property
    def decisions_digest(self) -> str:
        """A digest of all that was decided about it."""
        return self.inner.decisions_digest

    @property
    def launch_models(self) -> tuple[LaunchModel, ...]:
        """What a GPU is expected to take for each launch."""
        return self.inner.launch_models
