"""The one door to LLVM: parse IR text, optimise it, and turn it into assembly, an object file or running code.

Nothing else imports `llvmlite.binding`.  `Target` is a machine to compile for; `Target.host()` is this one.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import llvmlite.binding as llvm

NVPTX_TRIPLE = "nvptx64-nvidia-cuda"


@dataclass(frozen=True, slots=True)
class Target:
    """A machine as LLVM names it: triple, CPU and comma-separated features."""

    triple: str
    cpu: str
    features: str

    @staticmethod
    @functools.cache
    def host() -> Target:
        """This machine, with every feature that it has."""
        _initialise()
        features = llvm.get_host_cpu_features().flatten()
        return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), f"{features},-prefer-256-bit")

    @staticmethod
    def nvptx(arch: str = "sm_90", ptx: str = "+ptx80") -> Target:
        """An NVIDIA GPU of that architecture."""
        return Target(NVPTX_TRIPLE, arch, ptx)

    def has(self, feature: str) -> bool:
        """Whether the target has a feature by LLVM's name, e.g. `avx512f`."""
        return feature in self.present

    @property
    def present(self) -> frozenset[str]:
        """The features that the target has."""
        return frozenset(feature[1:] for feature in self.features.split(",") if feature.startswith("+"))


@functools.cache
def _initialise() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


@functools.cache
def target_machine(target: Target, opt: int) -> llvm.TargetMachine:
    """The code generator for a target at an optimisation level 0 to 3."""
    _initialise()
    jit = target.triple != NVPTX_TRIPLE
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=opt, jit=jit, reloc="pic" if jit else "default"
    )


def version() -> str:
    """LLVM's version, for records and cache keys."""
    return ".".join(map(str, llvm.llvm_version_info))


def limit_passes(limit: int) -> None:
    """From now on LLVM skips every pass after that many, where it may, and says on standard error what it did.

    The count runs through the life of the process and is never reset.
    """
    llvm.set_option("compiler", f"-opt-bisect-limit={limit}")


def parse(text: str, target: Target, opt: int) -> llvm.ModuleRef:
    """Parse and verify IR text; a failure here is a bug in emission and shows as LLVM's own message."""
    machine = target_machine(target, opt)
    module = llvm.parse_assembly(text)
    module.triple = target.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    return module


def optimise(module: llvm.ModuleRef, target: Target, opt: int) -> None:
    """Run LLVM's default pipeline for the level, in place; loops are vectorised from level 2 on."""
    machine = target_machine(target, opt)
    options = llvm.create_pipeline_tuning_options(speed_level=opt)
    vectorise = opt >= 2 and target.triple != NVPTX_TRIPLE
    options.loop_vectorization = vectorise
    options.slp_vectorization = vectorise
    options.loop_interleaving = vectorise
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def assembly(module: llvm.ModuleRef, target: Target, opt: int) -> str:
    """Assembly text, or PTX for an NVPTX target."""
    return str(target_machine(target, opt).emit_assembly(module))


def object_code(module: llvm.ModuleRef, target: Target, opt: int) -> bytes:
    """A relocatable object file."""
    return bytes(target_machine(target, opt).emit_object(module))


class Library:
    """Native code linked into this process; lives as long as this object."""

    _numbers = itertools.count(1)

    def __init__(self, module: llvm.ModuleRef | bytes, exports: Sequence[str], target: Target, opt: int) -> None:
        machine = target_machine(target, opt)
        builder = llvm.JITLibraryBuilder()
        builder = builder.add_object_img(module) if isinstance(module, bytes) else builder.add_ir(module)
        builder.add_current_process()
        for symbol in exports:
            builder.export_symbol(symbol)
        self._jit = _lljit(machine)
        self._tracker = builder.link(self._jit, f"library{next(Library._numbers)}")

    def address(self, symbol: str) -> int:
        """The address of an exported function or global."""
        return int(self._tracker[symbol])

    def function(self, symbol: str, result: type | None, *arguments: type) -> Callable[..., int]:
        """A ctypes function that releases the GIL while it runs."""
        return ctypes.CFUNCTYPE(result, *arguments)(self.address(symbol))


_JITS: dict[int, llvm.LLJIT] = {}


def _lljit(machine: llvm.TargetMachine) -> llvm.LLJIT:
    """One JIT per target machine: creating it costs more than linking a small library."""
    key = id(machine)
    if key not in _JITS:
        _JITS[key] = llvm.create_lljit_compiler(machine, use_jit_link=False)
    return _JITS[key]
