"""Machines for tests: older CPUs, and a GPU.

The GPU is the simulator, with every PTX text assembled for real where `ptxas` is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import x86
from assembled import assemble

import compiler
from compiler.backends.nvptx import persistent, ptxas
from compiler.backends.nvptx.executable import NvptxExecutable
from compiler.backends.nvptx.simulated import SimulatedDevice
from compiler.backends.nvptx.simulator import LaunchOptions
from compiler.codegen.llvm import Target

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class Gpu:
    """Compiles for sm_80, assembles for that and others, runs on the simulator with all its checks."""

    options: compiler.CompileOptions = field(
        default_factory=lambda: compiler.CompileOptions(device="sim", arch="sm_80", verify_each=True)
    )
    resources: list[ptxas.KernelResources] = field(default_factory=list)

    def compile(self, module: compiler.Module | str, options: compiler.CompileOptions | None = None) -> NvptxExecutable:
        """Compile and assemble; no kernel may spill registers or need a stack."""
        executable = compiler.compile(module, "nvptx", options or self.options)
        assert isinstance(executable, NvptxExecutable)
        if ptxas.available():
            self.resources += assemble(executable.ptx, executable.arch)
        return executable

    def __call__(self, module: compiler.Module | str, *inputs: Array, global_races: bool = False) -> list[Array]:
        """The results of a module."""
        executable = self.compile(module)
        assert isinstance(executable.device, SimulatedDevice)
        executable.device.options = LaunchOptions(check_global_races=global_races)
        return executable(*inputs)


@pytest.fixture
def gpu() -> Callable[..., list[Array]]:
    """The simulated GPU."""
    return Gpu()


@pytest.fixture
def small_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches stay what the host does, however small they are."""
    monkeypatch.setattr(persistent, "LAUNCH_NS", -1.0)
    monkeypatch.setattr(persistent, "DECISION_NS", -1.0)


@pytest.fixture(params=[x86.HOST, x86.AVX2, x86.SSE2], ids=["host", "avx2", "sse2"])
def each_cpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Target:
    """What programs are compiled for: this CPU, and older ones whose code it runs."""
    target: Target = request.param
    x86.require(target)
    monkeypatch.setattr(Target, "host", staticmethod(lambda: target))
    return target
