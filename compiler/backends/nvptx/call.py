"""One run of a module on a device: where its buffers are, and its steps in order."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from compiler.analysis.storage import Buffer, Storage
from compiler.backends.executable import KernelTime
from compiler.backends.nvptx.device import Array, Device, LoadedModule
from compiler.backends.nvptx.program import Program
from compiler.backends.nvptx.steps import (
    ConditionalStep,
    CopyStep,
    LaunchStep,
    RecordStep,
    Step,
    WaitStep,
    WhileStep,
    Work,
)
from compiler.backends.nvptx.streams import Hazards


class Call:
    """One run: where its buffers are on the device."""

    def __init__(  # what a run is made of
        self,
        device: Device,
        loaded: LoadedModule,
        program: Program,
        constants: dict[Buffer, int],
        inputs: list[Array],
        outputs: list[Array],
    ) -> None:
        self.device = device
        self.loaded = loaded
        self.program = program
        self.addresses = dict(constants)
        self.inputs = inputs
        self.outputs = outputs
        self._parameters: list[int] = []
        self._results: list[int] = []
        self._arena = 0
        self._hazards = Hazards() if device.separate_buffers else None

    @contextmanager
    def memory(self) -> Iterator[None]:
        """Allocate and fill what the run needs; give it back at the end."""
        device, owned = self.device, list[int]()
        try:
            owned.extend(device.allocate(array.nbytes) for array in self.inputs)
            self._parameters = list(owned)
            self.move_in(self.inputs)
            self._results = [device.allocate(array.nbytes) for array in self.outputs]
            owned += self._results
            if device.separate_buffers:
                for buffer in self._arena_buffers():
                    self.addresses[buffer] = device.allocate(buffer.size_bytes)
                    owned.append(self.addresses[buffer])
            elif self.program.assignment.arena_bytes:
                self._arena = device.allocate(self.program.assignment.arena_bytes)
                owned.append(self._arena)
            yield
        finally:
            for address in owned:
                device.free(address)

    def _arena_buffers(self) -> set[Buffer]:
        assignment = self.program.assignment
        everything = [b for buffers in assignment.of.values() for b in buffers] + list(assignment.workspaces.values())
        return {buffer for buffer in everything if buffer.storage is Storage.ARENA}

    def address(self, buffer: Buffer | None) -> int:
        """The device address of a buffer in this run."""
        if buffer is None:
            return 0
        if buffer.storage is Storage.PARAMETER:
            return self._parameters[buffer.number]
        if buffer.storage is Storage.RESULT:
            return self._results[buffer.number]
        known = self.addresses.get(buffer)
        return self._arena + buffer.offset if known is None else known

    def results(self) -> list[Array]:
        """Fetch the results from the device."""
        self.move_out(self.outputs)
        self.device.finish()
        return self.outputs

    @property
    def parameters(self) -> Sequence[int]:
        """The device addresses of the inputs, while the run has memory."""
        return self._parameters

    def move_in(self, inputs: Sequence[Array | None]) -> None:
        """Fill the parameters' memory, but for those of None."""
        for address, array in zip(self._parameters, inputs, strict=True):
            if array is not None:
                self.device.upload(address, array)

    def move_out(self, outputs: Sequence[Array]) -> None:
        """Fetch the results into these arrays, which are full when the device has finished."""
        for address, array in zip(self._results, outputs, strict=True):
            self.device.download(address, array)

    def run(self, times: dict[str, KernelTime] | None = None) -> None:
        """Do all steps; with `times` one after the other on one stream, noting how long each launch took."""
        self.run_steps(self.program.steps, times)

    def run_steps(self, steps: Sequence[Step], times: dict[str, KernelTime] | None = None) -> None:
        """Do some of the steps."""
        for step in steps:
            match step:
                case LaunchStep() | CopyStep():
                    self._work(step, times)
                case RecordStep() | WaitStep():
                    if times is None:
                        self._order(step)
                case WhileStep() if step.trip_count is not None:
                    for _ in range(step.trip_count):
                        self.run_steps(step.body, times)
                case WhileStep():
                    self.run_steps(step.condition, times)
                    while self.goes_on(step):
                        self.run_steps(step.body, times)
                        self.run_steps(step.condition, times)
                case ConditionalStep():
                    self.run_steps(step.branches[self.branch(step)], times)

    def _order(self, step: RecordStep | WaitStep) -> None:
        if isinstance(step, RecordStep):
            self.device.record(step.event, step.stream)
        else:
            self.device.wait(step.event, step.stream)
        if self._hazards is not None:
            self._hazards.order(step)

    def _work(self, step: Work, times: dict[str, KernelTime] | None) -> None:
        if times is not None:
            step = replace(step, stream=0)
        if self._hazards is not None:
            self._hazards.work(step)
        if isinstance(step, CopyStep):
            source, target = self.address(step.source), self.address(step.target)
            self.device.copy(source, target, step.target.size_bytes, step.stream)
            return
        launch, stream = step.launch, step.stream
        arguments = [*(self.address(buffer) for buffer in step.buffers), *launch.numbers]

        def action() -> None:
            self.loaded.launch(launch, arguments, stream)

        if times is None:
            action()
            return
        start = time.perf_counter_ns()
        times[launch.function] = KernelTime(launch.function, start, int(self.device.timed(action)), 0)

    def _read(self, buffer: Buffer, dtype: np.dtype[np.generic]) -> int:
        value = np.empty((), dtype)
        self.device.download(self.address(buffer), value)
        self.device.finish()
        return int(value)

    def goes_on(self, step: WhileStep) -> bool:
        """Whether a loop has another iteration, by the predicate that its condition has left."""
        return bool(self._read(step.predicate, np.dtype(np.uint8)))

    def branch(self, step: ConditionalStep) -> int:
        """The number of the branch that the selector picks."""
        if step.is_pred:
            return 0 if self._read(step.selector, np.dtype(np.uint8)) else 1
        number = self._read(step.selector, np.dtype(np.int32))
        last = len(step.branches) - 1
        return number if 0 <= number <= last else last
