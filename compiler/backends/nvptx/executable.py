"""A module compiled to PTX, run step by step from the host on a device."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from compiler.analysis.storage import Buffer
from compiler.backends.decisions import Decisions
from compiler.backends.executable import (
    Artifacts,
    ExecutableInfo,
    KernelResources,
    KernelTime,
    LaunchModel,
    Phases,
)
from compiler.backends.nvptx import ptxas
from compiler.backends.nvptx.call import Call
from compiler.backends.nvptx.cuda import CudaDevice, capability
from compiler.backends.nvptx.device import Array, Device, LoadedModule
from compiler.backends.nvptx.estimate import estimates
from compiler.backends.nvptx.kernels.grid import Gpu
from compiler.backends.nvptx.program import Program, build, decisions, emit
from compiler.backends.nvptx.replay import Replay, replay
from compiler.backends.nvptx.simulated import SimulatedDevice
from compiler.backends.nvptx.steps import launches_of
from compiler.backends.nvptx.target import (
    ARCHITECTURES,
    DEFAULT_ARCHITECTURE,
    compute_capability,
    has_warp_groups,
    newest_for,
    ptx_of,
    target_of,
)
from compiler.codegen import llvm
from compiler.codegen.llvm_ir import Module as LlvmModule
from compiler.diagnostics import InputError, UnsupportedError
from compiler.interpreter import flatten
from compiler.ir.module import Module
from compiler.ir.rewrite import Refusal, path_of
from compiler.ir.shape import leaves
from compiler.ir.types import TOKEN
from compiler.options import CompileOptions
from compiler.plan import check_bytes, check_inputs, interface_bytes

DEVICES = ("", "sim", "ptxas")


def decide_module(module: Module, options: CompileOptions, refusals: Sequence[Refusal] | None, _: object) -> Decisions:
    """What would be decided about a module that the pipeline `compile-nvptx` has prepared; options name the GPU.

    Args:
        module: what the pipeline `compile-nvptx` made.
        options: of the compilation, which name the GPU.
        refusals: what fusion left apart, and why; None where neither reasons nor estimates are asked for.
        _: nothing is made of it.
    """
    arch = _architecture(options)
    target_of(arch)
    gpu = _gpu(arch, options)
    words = f"{arch}, {gpu.shared_bytes >> 10} KiB of shared memory{', atomics' if gpu.atomics else ''}"
    kernels = emit(module, gpu)
    estimated = {}
    if refusals is not None:
        estimated = estimates(kernels.emitted, kernels.ir, gpu, target_of(arch), options.opt)
    return decisions(kernels, module, words, refusals, estimated)


def _architecture(options: CompileOptions) -> str:
    return options.arch or (newest_for(capability()) if options.device == "" else DEFAULT_ARCHITECTURE)


def _gpu(arch: str, options: CompileOptions) -> Gpu:
    """What kernels are decided for."""
    shared_bytes = 1024 * ARCHITECTURES[arch].shared_kib
    return Gpu(compute_capability(arch), shared_bytes, options.atomics, has_warp_groups(arch), options.share_all)


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
        self.arch = _architecture(options)
        target = target_of(self.arch)
        with phases.phase("emit"):
            self._program: Program = build(module, _gpu(self.arch, options), persistent=options.persistent)
            text = str(self._program.ir)
        with phases.phase("llvm-optimise"):
            native = llvm.parse(text, target, options.opt)
            llvm.optimise(native, target, options.opt)
        with phases.phase("llvm-codegen"):
            self.ptx = ptx_of(native, target, options.opt)
        if options.device == "ptxas":
            with phases.phase("ptxas"):
                self._assembled = ptxas.assemble(self.ptx, self.arch)
        self.phases = phases.done
        self.artifacts = Artifacts(
            {
                f"{self.arch}_gpu_after_optimizations.txt": phases.optimised_text,
                "buffer-assignment.txt": self._program.assignment.to_text,
                "thunk_sequence.txt": self._program.to_text,
                "ir-no-opt.ll": lambda: text,
                "ir-with-opt.ll": lambda: str(native),
                "ptx": lambda: self.ptx,
                "kernel-resources.txt": lambda: ptxas.to_text(self.resources),
            }
        )
        self.device: Device | None = None
        self._loaded: LoadedModule | None = None
        self._constants: dict[Buffer, int] = {}
        self._replay: Replay | None = None
        self._replay_lock = threading.Lock()
        self._is_repeated = False
        if options.device != "ptxas":
            self._connect(
                SimulatedDevice(check_global_races=options.check_races) if options.device == "sim" else CudaDevice()
            )

    @cached_property
    def _assembled(self) -> ptxas.Assembled | None:
        """What NVIDIA's assembler makes of the PTX, None where none that knows the architecture is installed."""
        try:
            return ptxas.assemble(self.ptx, self.arch)
        except UnsupportedError:
            return None

    @property
    def resources(self) -> tuple[KernelResources, ...]:
        """Registers, shared memory and spills of every kernel; none where they are not known."""
        if self._assembled is None:
            return ()
        asked = {step.launch.function: step.launch.shared_bytes for step in launches_of(self._program.steps)}
        return tuple(
            replace(kernel, shared_bytes=kernel.shared_bytes + asked.get(kernel.name, 0))
            for kernel in self._assembled.kernels
        )

    @property
    def facts(self) -> ExecutableInfo:
        """What the assembler says, and what ran so far."""
        if self.device is None:
            return ExecutableInfo(self.resources, proven=ptxas.to_sentence(self.resources, self.arch))
        return ExecutableInfo(self.resources, ran=self.device.account())

    @property
    def decisions_digest(self) -> str:
        """A digest of all that was decided about it."""
        return decisions(self._program, self.module, "", None, {}).digest

    @property
    def launch_models(self) -> tuple[LaunchModel, ...]:
        """What a GPU is expected to take for each launch, by some of its blocks in the simulator."""
        gpu, target = _gpu(self.arch, self.options), target_of(self.arch)
        ir = LlvmModule(gpu.features)
        # The program's own functions may be parts of launches by now.
        again = {i: replace(kernel, launches=kernel.emit(ir)) for i, kernel in self._program.emitted.items()}
        found = estimates(again, ir, gpu, target, self.options.opt)
        return tuple(model for i, estimate in found.items() for model in estimate.models(path_of(i)))

    def _connect(self, device: Device) -> None:
        self.device = device
        self._loaded = device.load(self.ptx)
        for instruction, buffers in self._program.assignment.of.items():
            if instruction.opcode == "constant" and instruction.literal.array is not None:
                (buffer,) = buffers
                data = np.ascontiguousarray(instruction.literal.array)
                self._constants[buffer] = device.allocate(data.nbytes)
                device.upload(self._constants[buffer], data)

    def __call__(self, *inputs: object) -> list[Array]:
        """Run the module."""
        call = self._call(inputs)
        if self._replay_lock.acquire(blocking=False):
            try:
                if self._replay is None and self._is_repeated:
                    self._replay = replay(call)
                self._is_repeated = True
                if self._replay is not None:
                    return self._replay(call.inputs)
            finally:
                self._replay_lock.release()
        with call.memory():
            call.run()
            return call.results()

    def profile(self, *inputs: object) -> list[KernelTime]:
        """Run once, and say how long each launch took; in a loop the last iteration counts."""
        call = self._call(inputs)
        times: dict[str, KernelTime] = {}
        with call.memory():
            call.run(times)
        return list(times.values())

    def _call(self, inputs: Sequence[object]) -> Call:
        if self.device is None or self._loaded is None:
            raise UnsupportedError("running a module", "the device 'ptxas'", "it only assembles; use sim or a GPU")
        arena = self._program.assignment.arena_bytes if self.options.device == "sim" else 0
        check_bytes(self.module, interface_bytes(self.module) + arena, by="this machine")
        arrays = [np.ascontiguousarray(a) for value in check_inputs(self.module, inputs) for a in flatten(value)]
        shapes = [leaf for leaf in leaves(self.module.entry.root.shape) if leaf.element_type is not TOKEN]
        results = [np.empty(leaf.dims, leaf.element_type.dtype) for leaf in shapes]
        return Call(self.device, self._loaded, self._program, self._constants, arrays, results)
