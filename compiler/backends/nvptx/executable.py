"""A module compiled to PTX, run step by step from the host on a device."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from compiler.analysis.buffers import Buffer, Place
from compiler.backends.executable import Artifacts, KernelTime, Phases
from compiler.backends.nvptx import ptxas
from compiler.backends.nvptx.cuda import CudaDevice
from compiler.backends.nvptx.device import Array, Device, LoadedModule
from compiler.backends.nvptx.program import ConditionalStep, CopyStep, LaunchStep, Program, Step, WhileStep, build
from compiler.backends.nvptx.simulated import SimulatedDevice
from compiler.backends.nvptx.target import compute_capability, target_of
from compiler.codegen import llvm
from compiler.diagnostics import InputError, UnsupportedError
from compiler.interpreter import flatten
from compiler.ir.module import Module
from compiler.ir.shape import leaves
from compiler.options import CompileOptions
from compiler.plan import check_inputs

DEVICES = ("", "sim", "ptxas")


class NvptxExecutable:
    """A module compiled for an NVIDIA GPU; `options.device` says what runs it."""

    def __init__(self, module: Module, options: CompileOptions, phases: Phases) -> None:
        if options.device not in DEVICES:
            known = ", ".join(repr(d) for d in DEVICES)
            raise InputError(
                f"unknown device {options.device!r} of back end 'nvptx'; devices are: {known} (\"\": a GPU)"
            )
        self.module = module
        self.options = options
        target = target_of(options.arch)
        with phases.phase("emit"):
            self._program: Program = build(module, compute_capability(options.arch))
            text = str(self._program.ir)
        with phases.phase("llvm-optimise"):
            native = llvm.parse(text, target, options.opt)
            llvm.optimise(native, target, options.opt)
        with phases.phase("llvm-codegen"):
            self.ptx = llvm.assembly(native, target, options.opt)
        self.resources: tuple[ptxas.KernelResources, ...] = ()
        if options.device == "ptxas":
            with phases.phase("ptxas"):
                self.resources = ptxas.assemble(self.ptx, options.arch).kernels
        self.phases = phases.done
        self.artifacts = Artifacts(
            {
                f"{options.arch}_gpu_after_optimizations.txt": phases.optimised_text,
                "buffer-assignment.txt": self._program.assignment.to_text,
                "thunk_sequence.txt": self._program.to_text,
                "ir-no-opt.ll": lambda: text,
                "ir-with-opt.ll": lambda: str(native),
                "ptx": lambda: self.ptx,
            }
        )
        self.device: Device | None = None
        self._loaded: LoadedModule | None = None
        self._constants: dict[Buffer, int] = {}
        if options.device != "ptxas":
            self._connect(SimulatedDevice() if options.device == "sim" else CudaDevice())

    def _connect(self, device: Device) -> None:
        self.device = device
        self._loaded = device.load(self.ptx)
        for instruction, (buffer, *_) in self._program.assignment.of.items():
            if instruction.opcode == "constant" and instruction.literal.array is not None:
                data = np.ascontiguousarray(instruction.literal.array)
                self._constants[buffer] = device.allocate(data.nbytes)
                device.upload(self._constants[buffer], data)

    def __call__(self, *inputs: object) -> list[Array]:
        """Run the module."""
        call = self._call(inputs)
        with call.memory():
            call.run(self._program.steps)
            return call.results()

    def profile(self, *inputs: object) -> list[KernelTime]:
        """Run once, and say how long each launch took; in a loop the last turn counts."""
        call = self._call(inputs)
        times: dict[str, KernelTime] = {}
        with call.memory():
            call.run(self._program.steps, times)
        return list(times.values())

    def _call(self, inputs: Sequence[object]) -> _Call:
        if self.device is None or self._loaded is None:
            raise UnsupportedError("running a module", "the device 'ptxas'", "it only assembles; use sim or a GPU")
        arrays = [np.ascontiguousarray(a) for value in check_inputs(self.module, inputs) for a in flatten(value)]
        results = [np.empty(leaf.dims, leaf.element_type.dtype) for leaf in leaves(self.module.entry.root.shape)]
        return _Call(self.device, self._loaded, self._program, self._constants, arrays, results)


class _Call:
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

    @contextmanager
    def memory(self) -> Iterator[None]:
        """Allocate and fill what the run needs; give it back at the end."""
        device, owned = self.device, []
        try:
            for array in self.inputs:
                owned.append(device.allocate(array.nbytes))
                device.upload(owned[-1], array)
            self._parameters = list(owned)
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
        return {buffer for buffer in everything if buffer.place is Place.ARENA}

    def address(self, buffer: Buffer | None) -> int:
        """Where a buffer lies in this run."""
        if buffer is None:
            return 0
        if buffer.place is Place.PARAMETER:
            return self._parameters[buffer.number]
        if buffer.place is Place.RESULT:
            return self._results[buffer.number]
        known = self.addresses.get(buffer)
        return self._arena + buffer.offset if known is None else known

    def results(self) -> list[Array]:
        """Fetch the results."""
        for address, array in zip(self._results, self.outputs, strict=True):
            self.device.download(address, array)
        return self.outputs

    def run(self, steps: Sequence[Step], times: dict[str, KernelTime] | None = None) -> None:
        """Do the steps in order; with `times`, wait for each launch and note how long it took."""
        for step in steps:
            match step:
                case LaunchStep():
                    self._launch(step, times)
                case CopyStep():
                    self.device.copy(self.address(step.source), self.address(step.target), step.target.size_bytes)
                case WhileStep():
                    self.run(step.condition, times)
                    while self._read(step.predicate, np.dtype(np.uint8)):
                        self.run(step.body, times)
                        self.run(step.condition, times)
                case ConditionalStep():
                    self.run(step.branches[self._branch(step)], times)

    def _launch(self, step: LaunchStep, times: dict[str, KernelTime] | None) -> None:
        launch = step.launch
        arguments = [*(self.address(buffer) for buffer in step.buffers), *launch.numbers]

        def action() -> None:
            self.loaded.launch(launch.function, launch.blocks, launch.threads, arguments)

        if times is None:
            action()
            return
        start = time.perf_counter_ns()
        times[launch.function] = KernelTime(launch.function, start, int(self.device.timed(action)), 0)

    def _read(self, buffer: Buffer, dtype: np.dtype[np.generic]) -> int:
        value = np.empty((), dtype)
        self.device.download(self.address(buffer), value)
        return int(value)

    def _branch(self, step: ConditionalStep) -> int:
        if step.is_pred:
            return 0 if self._read(step.selector, np.dtype(np.uint8)) else 1
        number = self._read(step.selector, np.dtype(np.int32))
        last = len(step.branches) - 1
        return number if 0 <= number <= last else last
