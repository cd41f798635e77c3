"""What kernels are expected to take on a GPU: some of their blocks run in the simulator, and stand for all.

A kernel's launches run once more, alone, on memory of their own that holds made-up numbers.  Floats are uniform between
-1 and 1, integers below the kernel's largest extent, since most are indices; so a gather goes everywhere, and few
updates meet.  Of a grid a few blocks run, spread evenly, and what they count is scaled; of the launches of one
function (the panels of a factorization) a few run, and the others count what the nearest does.  Numbers
are computed only where control or addresses hang on them; so what an earlier launch leaves for a later one is there
only where all blocks run, and a later one whose control hangs on it (merges) is estimated on zeros otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compiler.backends.executable import LaunchModel
from compiler.backends.nvptx.cards import Card, card_for
from compiler.backends.nvptx.device import Array
from compiler.backends.nvptx.kernels.grid import EmittedKernel, Gpu, Launch
from compiler.backends.nvptx.roofline import Bound, bound_of
from compiler.backends.nvptx.simulator import LaunchOptions, Machine, PtxModule, SimulationError, parse_ptx
from compiler.backends.nvptx.simulator.decode import hangs_on_memory
from compiler.backends.nvptx.simulator.profile import Profile
from compiler.backends.nvptx.simulator.slicing import Values
from compiler.backends.nvptx.target import ptx_of
from compiler.backends.nvptx.timing import Block, Modelled, block_of, model
from compiler.backends.strategy import Detail
from compiler.codegen import llvm
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm import Target
from compiler.codegen.llvm_ir import Module
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape, leaves

_SAMPLED_LANES = 1 << 9
"""Threads of a launch that are simulated: enough for a few blocks, and every warp of the largest."""
_MOST_LAUNCHES = 3
"""Launches of one function that are simulated: sizes shrink from one to the next, so the ends and the middle."""
_STEPS = 60_000
"""Instructions after which a block counts as endless: its loops hang on what nobody has computed."""
_SPARE_BYTES = 1 << 10
"""Beside each array in the simulator's memory: more than it leaves between them."""
_PERIOD = 1 << 16
"""Made-up numbers, after which they begin anew: a prime number less, so that rows differ."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The time that a kernel is expected to take on a GPU, launch by launch.

    Attributes:
        card: the GPU's name.
        bound: the least that it could.
        launches: what each launch takes by the model.
        counted: for each of them the number of the one whose blocks ran.
        unknown: why there is no model of some launch, empty where there is.
    """

    card: str
    bound: Bound
    launches: tuple[Modelled, ...]
    counted: tuple[int, ...]
    unknown: str = ""

    @property
    def ns(self) -> float:
        """Nanoseconds by the model; of what could not be modelled, the bound."""
        return sum(launch.ns for launch in self.launches) + (self.bound.ns if self.unknown else 0.0)

    @property
    def on(self) -> str:
        """Where it takes so long and the least that it could, with what decides that, as the rest of a sentence."""
        return f"on an {self.card} by a model, {self.bound.ns:,.0f} at least ({self.bound.rule})"

    def models(self, name: str) -> Iterator[LaunchModel]:
        """The launches, to be recorded, of a kernel of that name."""
        for number, launch in enumerate(self.launches):
            profile = launch.profile
            yield LaunchModel(
                name=f"{name} {number + 1}",
                time_ns=launch.ns,
                least_ns=self.bound.ns,
                limit=launch.limit,
                registers=launch.registers,
                occupancy=launch.occupancy.share,
                idle_lanes=profile.idle_share,
                sectors=profile.global_sectors,
                least_sectors=profile.least_global_sectors,
                shared_passes=profile.shared_passes,
                least_shared_passes=profile.least_shared_passes,
                atomics=profile.atomics,
                atomic_passes=profile.atomic_passes,
            )

    def details(self) -> Iterator[tuple[str, dict[str, Detail]]]:
        """The counts and times of each launch, by words: times in ns, shares of 1, counts of the blocks that ran."""
        for number, (launch, counted) in enumerate(zip(self.launches, self.counted, strict=True)):
            said = launch.details()
            yield f"launch {number + 1}", said if counted == number else {**said, "counted_in_launch": counted + 1}
        if self.unknown:
            yield "no model", {"reason": self.unknown}


def estimates(
    kernels: Mapping[Instruction, EmittedKernel], ir: Module, gpu: Gpu, target: Target, opt: int
) -> dict[Instruction, Estimate]:
    """The expected time of each kernel on a GPU.

    Args:
        kernels: as they were emitted.
        ir: their functions, before one launch does several of them together.
        gpu: what they were emitted for.
        target: the architecture.
        opt: how much LLVM optimises.
    """
    if not kernels:
        return {}
    module = llvm.parse(str(ir), target, opt)
    llvm.optimise(module, target, opt)
    ptx = parse_ptx(ptx_of(module, target, opt))
    sampler = _Sampler(ptx, card_for(gpu.capability))
    return {i: sampler.estimate(emitted) for i, emitted in kernels.items()}


@dataclass(frozen=True, slots=True)
class _Sampler:
    """Runs some blocks of launches."""

    module: PtxModule
    card: Card

    def estimate(self, emitted: EmittedKernel) -> Estimate:
        """What one kernel takes."""
        kernel, launches = emitted.kernel, emitted.launches
        shapes = [array for instruction in kernel.inputs for array in leaves(instruction.shape)]
        sizes = [array.size_bytes for array in (*shapes, *kernel.outputs)]
        reachable = sum(sizes) + emitted.workspace_bytes
        machine = Machine(reachable + _SPARE_BYTES * (len(sizes) + 2))
        addresses = [machine.allocate(-(-size // 16) * 16, initialised=True) for size in sizes]
        workspace = machine.allocate(emitted.workspace_bytes, initialised=True) if emitted.workspace_bytes else 0
        reads_back = any(map(self._hangs_on_memory, {launch.function for launch in launches}))
        if reads_back:
            for address, data in zip(addresses, made_up(kernel, shapes), strict=False):
                machine.write(address, data)
        values = Values.STORED if reads_back and _is_whole(launches) else Values.NEEDED
        runs, found, unknown = stand_ins(launches), dict[int, _Counted](), ""
        try:
            for number in sorted(set(runs)):
                found[number] = self._run(machine, launches[number], [*addresses, workspace], values)
        except SimulationError as fault:
            unknown = f"{launches[number].function}: {fault.kind}"
        known = [(n, found[by]) for n, by in enumerate(runs) if by in found and not (unknown and n > number)]
        modelled = (model(c.profile, launches[n].blocks, c.block, self.card, reachable) for n, c in known)
        counted = (runs[n] for n, _ in known)
        return Estimate(self.card.name, bound_of(kernel, self.card), tuple(modelled), tuple(counted), unknown)

    def _hangs_on_memory(self, function: str) -> bool:
        return hangs_on_memory(self.module, self.module.kernels[function])

    def _run(self, machine: Machine, launch: Launch, addresses: Sequence[int], values: Values) -> _Counted:
        sample = _blocks_of(launch)
        options = LaunchOptions(check_races=False, profile=True, values=values, sample=sample, step_limit=_STEPS)
        statistics = machine.launch(
            self.module,
            launch.function,
            (launch.blocks, 1, 1),
            (launch.threads, 1, 1),
            [*addresses, *launch.numbers],
            shared_bytes=launch.shared_bytes,
            options=options,
        )
        assert statistics.profile is not None
        kernel = self.module.kernels[launch.function]
        return _Counted(statistics.profile, block_of(kernel, launch.threads, statistics.shared_bytes, self.card))


@dataclass(frozen=True, slots=True)
class _Counted:
    """What some blocks of a launch do, and what each of them takes of a multiprocessor."""

    profile: Profile
    block: Block


def _blocks_of(launch: Launch) -> tuple[int, ...]:
    """The blocks that run for a launch, one of the leading ones among them; none for all of them."""
    chosen = {*sampled(launch.blocks, max(1, _SAMPLED_LANES // launch.threads)), *range(min(1, launch.leading))}
    return tuple(sorted(chosen)) if len(chosen) < launch.blocks else ()


def _is_whole(launches: Sequence[Launch]) -> bool:
    """Whether all that launches leave for later ones is there: every block of each runs."""
    return set(stand_ins(launches)) == set(range(len(launches))) and not any(map(_blocks_of, launches))


def stand_ins(launches: Sequence[Launch]) -> list[int]:
    """For each launch the number of the one that is run for it: its own, or that of the nearest of its function."""
    alike: dict[tuple[str, int, int], list[int]] = {}
    for number, launch in enumerate(launches):
        alike.setdefault((launch.function, launch.threads, launch.shared_bytes), []).append(number)
    found = list(range(len(launches)))
    for numbers in alike.values():
        run = [numbers[step] for step in sampled(len(numbers), _MOST_LAUNCHES)]
        for number in numbers:
            found[number] = min(run, key=lambda other: abs(other - number))
    return found


def sampled(blocks: int, most: int) -> tuple[int, ...]:
    """The numbers of blocks, or launches, that stand for all: the middle ones of so many equal runs."""
    if blocks <= most:
        return tuple(range(blocks))
    return tuple((2 * number + 1) * blocks // (2 * most) for number in range(most))


def made_up(kernel: Kernel, shapes: Iterable[ArrayShape]) -> Iterator[Array]:
    """Numbers for the inputs of a kernel that nobody has computed."""
    every = [array.dims for i in (*kernel.inputs, *kernel.body()) for array in leaves(i.shape)]
    extent = max((dim for dims in every for dim in dims), default=1)
    generator = np.random.default_rng(0)
    period = _PERIOD - 15
    floats = generator.uniform(-1, 1, period)
    numbers = generator.integers(0, max(extent, 1), period)
    for shape in shapes:
        dtype = shape.element_type.dtype
        most = 2 if dtype == np.bool_ else 1 << (min(shape.element_type.bits, 32) - 1)
        of_type = (floats if shape.element_type.is_float else numbers % most).astype(dtype)
        yield np.resize(of_type, math.prod(shape.dims))
