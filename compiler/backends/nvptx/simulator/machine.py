"""The machine: memory, modules and launches.

A launch runs the blocks of its grid in batches, one after the other, so that the registers of a batch stay in cache;
which blocks share a batch shows only in speed.  What goes wrong in a kernel is a `SimulationError` with the PTX line,
the block and the thread.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.backends.nvptx.simulator.batch import Batch, Geometry
from compiler.backends.nvptx.simulator.decode import Program, decode
from compiler.backends.nvptx.simulator.faults import Coordinates, Fault, SimulationError
from compiler.backends.nvptx.simulator.image import Image, encode_arguments
from compiler.backends.nvptx.simulator.layout import Layout, lay_out
from compiler.backends.nvptx.simulator.memory import GLOBAL_BASE, Arena
from compiler.backends.nvptx.simulator.parser import most_threads, required_threads
from compiler.backends.nvptx.simulator.profile import Counted, Outline, Profile, Profiler
from compiler.backends.nvptx.simulator.races import RaceDetector
from compiler.backends.nvptx.simulator.slicing import Values
from compiler.backends.nvptx.simulator.special import special_value
from compiler.backends.nvptx.simulator.straight import MOST_LANES, StraightLine
from compiler.backends.nvptx.simulator.syntax import Function, PtxModule
from compiler.diagnostics import InputError

_MOST_SHARED_BYTES = 227 * 1024
"""Of a block on sm_90: 228 KiB less one that is the system's (CUDA C++ Programming Guide)."""
_MOST_OWN_SHARED_BYTES = 48 * 1024
"""Of what a kernel declares: ptxas takes no more, and for the rest the launch has to ask (the same guide)."""
DEFAULT_STEP_LIMIT = 10_000_000
"""Instructions of a batch: far more than any kernel of the suites takes."""
DEFAULT_LANES_PER_BATCH = 1 << 16
"""Lanes that execute together, so that registers stay in a cache of 1 MiB."""


@dataclass(frozen=True, slots=True)
class LaunchStatistics:
    """What a launch did."""

    lane_instructions: int
    duration_s: float
    instructions: dict[str, int] = field(default_factory=dict)
    """Executed lane-instructions by opcode with modifiers."""
    shared_bytes: int = 0
    """Shared memory of each block."""
    profile: Profile | None = None
    """What else was counted, if that was asked for."""

    @property
    def rate_per_s(self) -> float:
        """Lane-instructions per second."""
        return self.lane_instructions / self.duration_s if self.duration_s else 0.0


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """How a launch is run."""

    check_races: bool = True
    """Report data races in shared memory."""
    check_global_races: bool = False
    """Report data races in global memory; takes nine times the memory of the allocations, and time."""
    profile: bool = False
    """Count what a model of time needs (transactions, conflicts, divergence, waiting); takes several times longer."""
    values: Values = Values.ALL
    """What is computed; less than everything only under `profile`, and then memory holds what nobody should read."""
    sample: Sequence[int] = ()
    """Run these blocks only, by their numbers in ascending order; all, where there are none."""
    step_limit: int = DEFAULT_STEP_LIMIT
    """The most instructions that one batch may issue before it counts as an endless loop."""
    lanes_per_batch: int = DEFAULT_LANES_PER_BATCH


class Machine:
    """A GPU without the hardware."""

    def __init__(self, capacity_bytes: int = 1 << 20) -> None:
        """A machine with nothing in it.

        Args:
            capacity_bytes: how much global memory there will be, so that it need not be moved as it grows.
        """
        self._arena = Arena(capacity_bytes)
        self._images: dict[int, Image] = {}
        self._programs: dict[tuple[int, str, Values], Program] = {}

    def allocate(self, size_bytes: int, name: str = "", *, initialised: bool = False) -> int:
        """Allocate global memory.

        Args:
            size_bytes: how much.
            name: by which faults call it.
            initialised: whether it may be read before it is written.

        Raises:
            InputError: the size is negative.
        """
        if size_bytes < 0:
            raise InputError(f"cannot allocate {size_bytes} bytes; a size is not negative")
        return self._arena.allocate(size_bytes, name, is_complete=initialised).start

    def free(self, address: int) -> None:
        """Give an allocation back; kernels that still use it are out of bounds."""
        self._arena.free(address)

    def write(self, address: int, data: bytes | NDArray[Any]) -> None:
        """Copy bytes, or the bytes of an array in C order, into global memory."""
        raw = np.frombuffer(data if isinstance(data, bytes) else np.ascontiguousarray(data).tobytes(), np.uint8)
        start = self._range(address, raw.size)
        self._arena.data[start : start + raw.size] = raw
        self._arena.valid[start : start + raw.size] = 1
        allocation = self._arena.find(address)
        if allocation is not None and (allocation.start, allocation.end) == (address, address + raw.size):
            allocation.is_complete = True

    def read(self, address: int, size_bytes: int) -> bytes:
        """Copy bytes out of global memory."""
        start = self._range(address, size_bytes)
        return self._arena.data[start : start + size_bytes].tobytes()

    def is_initialised(self, address: int, size_bytes: int) -> bool:
        """Whether every byte of a range was written."""
        start = self._range(address, size_bytes)
        return bool(self._arena.valid[start : start + size_bytes].all())

    def load(self, module: PtxModule) -> None:
        """Place a module's global and constant variables; a second time does nothing."""
        if id(module) not in self._images:
            self._images[id(module)] = Image.load(module, self._arena)

    def launch(  # noqa: PLR0913 - the shape of every launch interface there is
        self,
        module: PtxModule,
        kernel_name: str,
        grid: Coordinates,
        block: Coordinates,
        arguments: Sequence[int | float | bytes | np.generic],
        *,
        shared_bytes: int = 0,
        options: LaunchOptions | None = None,
    ) -> LaunchStatistics:
        """Run a kernel to its end.

        Args:
            module: The module; it is loaded if it was not yet.
            kernel_name: Which of its kernels.
            grid: Blocks in x, y and z.
            block: Threads of a block in x, y and z.
            arguments: One per parameter; `bytes` for parameters that are arrays of bytes.
            shared_bytes: Dynamic shared memory, which `.extern .shared` variables name.
            options: How to run.

        Raises:
            InputError: a block would have more shared memory than there is.
            Fault: a thread does what the language leaves undefined.
        """
        self.load(module)
        kernel = _kernel(module, kernel_name)
        _check_shape(kernel, grid, block)
        options = options or LaunchOptions()
        program = self._program(module, kernel, options.values)
        layout = lay_out(program, self._images[id(module)], shared_bytes)
        if layout.shared_bytes > _MOST_SHARED_BYTES:
            raise InputError(f"{layout.shared_bytes} bytes of shared memory; a block has at most {_MOST_SHARED_BYTES}")
        own_bytes = layout.shared_bytes - shared_bytes
        if own_bytes > _MOST_OWN_SHARED_BYTES:
            most = f"at most {_MOST_OWN_SHARED_BYTES} are declared, more are asked for by the launch"
            raise InputError(f"{kernel_name} declares {own_bytes} bytes of shared memory; {most}")
        parameters = encode_arguments(kernel, arguments)
        block_memory = self._arena.allocate(max(len(parameters), 1))
        block_memory.is_writable = False
        self.write(block_memory.start, parameters)
        try:
            launch = _Launch(program, layout, self._arena, grid, block, options)
            return launch.run(parameters, block_memory.start)
        finally:
            self._arena.free(block_memory.start)

    def _program(self, module: PtxModule, kernel: Function, values: Values) -> Program:
        key = (id(module), kernel.name, values)
        if key not in self._programs:
            self._programs[key] = decode(module, kernel, values)
        return self._programs[key]

    def _range(self, address: int, size_bytes: int) -> int:
        allocation = self._arena.find(address)
        if size_bytes and (allocation is None or address + size_bytes > allocation.end):
            raise InputError(f"{size_bytes} bytes at {address:#x} do not lie in one allocation")
        return address - GLOBAL_BASE


def _kernel(module: PtxModule, name: str) -> Function:
    kernel = module.kernels.get(name)
    if kernel is None:
        raise InputError(f"no kernel {name!r} in {module.filename}; there are {sorted(module.kernels)}")
    return kernel


def _check_shape(kernel: Function, grid: Coordinates, block: Coordinates) -> None:
    if min(*grid, *block) < 1:
        raise InputError(f"grid {grid} and block {block} must each have three extents of at least 1")
    threads = math.prod(block)
    if threads > most_threads(kernel):
        raise InputError(f"a block of {threads} threads; {kernel.name} allows {most_threads(kernel)}")
    required = required_threads(kernel)
    if required is not None and required != tuple(block):
        raise InputError(f"block {block}; {kernel.name} demands {required} by .reqntid")


def _batches(blocks: Sequence[int], most: int) -> Iterator[Sequence[int]]:
    """The blocks of each batch, so many at most."""
    return (blocks[first : first + most] for first in range(0, len(blocks), most))


class _Launch:
    def __init__(
        self,
        program: Program,
        layout: Layout,
        arena: Arena,
        grid: Coordinates,
        block: Coordinates,
        options: LaunchOptions,
    ) -> None:
        self.program = program
        self.layout = layout
        self.arena = arena
        self.grid = grid
        self.block = block
        self.options = options
        self.counts = [0] * len(program.actions)
        self.counts_together = [0] * len(program.actions)
        self.profiler = Profiler(Outline.of(program.instructions, program.starts)) if options.profile else None
        self.actions, self.together = program.actions, program.together
        if self.profiler is not None:
            self.actions = self.together = self.profiler.wrapped(program.actions)
        self.global_races: RaceDetector | None = None
        if options.check_global_races:
            size, granule = arena.used_bytes, program.granule
            self.global_races = RaceDetector("global", size, granule, math.prod(block), math.prod(grid))

    def run(self, parameters: bytes, parameter_address: int) -> LaunchStatistics:
        begin = time.perf_counter()
        registers = self._registers(parameters, parameter_address)
        blocks = math.prod(self.grid)
        per_batch = max(1, self.options.lanes_per_batch // math.prod(self.block))
        if self.options.sample and self.global_races is not None:
            per_batch = 1
        with np.errstate(all="ignore"):
            for held in _batches(self.options.sample or range(blocks), per_batch):
                self._run_batch(Geometry(self.grid, self.block, held), registers)
        self._count_each()
        executed = Counter[str]()
        for name, count in zip(self.program.names, self.counts, strict=True):
            executed[name] += count
        # What stands in the text and was never reached has a count of 0.
        instructions = dict((+executed).most_common())
        duration_s = time.perf_counter() - begin
        profile = self.profiler.result() if self.profiler is not None else None
        return LaunchStatistics(sum(self.counts), duration_s, instructions, self.layout.shared_bytes, profile)

    def _registers(self, parameters: bytes, parameter_address: int) -> list[NDArray[Any]]:
        slots = self.program.slots
        registers = list(slots.initial)
        for (offset, size), slot in slots.parameters.items():
            registers[slot] = np.frombuffer(parameters[offset : offset + size], registers[slot].dtype).copy()
        for key, slot in slots.symbols.items():
            registers[slot] = np.array([self.layout.address(key, self.program.kernel, parameter_address)], np.uint64)
        return registers

    def _run_batch(self, geometry: Geometry, registers: list[NDArray[Any]]) -> None:
        layout = self.layout
        batch = Batch(geometry, registers, self.arena, layout.shared_bytes, layout.local_bytes)
        for name, slot in self.program.slots.specials.items():
            batch.registers[slot] = special_value(name, batch, layout)
        if self.options.check_races and layout.shared_bytes:
            batch.watch_races(self.program.granule)
        if self.program.slots.group_rows:
            batch.watch_products(len(self.program.slots.group_rows), self.program.granule)
        if self.global_races is not None:
            batch.watch_global_races(self.global_races)
        if self.profiler is not None:
            batch.observer = self.profiler
            self.profiler.begin(batch)
        batch.put(0, batch.all_lanes)
        try:
            self._execute(batch)
        except Fault as fault:
            raise self._diagnosis(batch, fault) from None
        if self.profiler is not None:
            self.profiler.end(batch)

    def _execute(self, batch: Batch) -> None:
        """Run groups of lanes, each until it meets the next one or parts."""
        end = len(self.counts)
        while (pc := batch.select()) is not None:
            limit = batch.next_group(end)
            active = batch.active_count
            actions, counts = self.actions, self.counts
            if active <= MOST_LANES:
                actions, counts = self.together, self.counts_together
            while pc < limit:
                batch.pc = pc
                if batch.steps >= self.options.step_limit:
                    raise self._endless(batch)
                batch.steps += 1
                counts[pc] += active
                target = actions[pc](batch)
                if target is None:
                    pc += 1
                elif target >= 0:
                    pc = target
                else:
                    break
            else:
                if pc < end:
                    batch.put(pc, batch.active)
                else:
                    batch.retire(batch.active)

    def _count_each(self) -> None:
        """What executed together counts for each of its instructions."""
        counts = [0] * len(self.counts)
        for actions, found in ((self.actions, self.counts), (self.together, self.counts_together)):
            for pc, (action, count) in enumerate(zip(actions, found, strict=True)):
                if count:
                    for at in range(pc, action.end) if isinstance(action, StraightLine | Counted) else (pc,):
                        counts[at] += count
        self.counts = counts

    def _endless(self, batch: Batch) -> Fault:
        limit = self.options.step_limit
        message = f"still running after {limit} instructions: an endless loop, or the step limit is too low"
        return Fault("endless-loop", message, lane=int(batch.active[0]))

    def _diagnosis(self, batch: Batch, fault: Fault) -> SimulationError:
        lane = int(batch.active[fault.position]) if fault.lane is None else fault.lane
        span = self.program.instructions[batch.pc].span
        geometry = batch.geometry
        return SimulationError(fault.kind, fault.message, span, geometry.block_at(lane), geometry.thread_at(lane))
