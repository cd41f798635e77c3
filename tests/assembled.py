"""NVIDIA's assembler on PTX: what must be so, and a pytest plug-in (`-p tests.assembled`) that asks it of every test.

With the plug-in every PTX text that a test has this process compile is assembled when the test is over, once for each
text and architecture, whatever the test is about; what is written for no architecture in particular is for the oldest.
A text that is refused, or a kernel that spills registers or needs a stack, is an error of the test that it came from.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from compiler.backends.executable import KernelResources, Phases
from compiler.backends.nvptx import executable, ptxas
from compiler.backends.nvptx.target import compute_capability, is_specific, runs
from compiler.ir.module import Module
from compiler.options import CompileOptions

ASSEMBLED_FOR = ("sm_80", "sm_90", *os.environ.get("XLABENCH_ASSEMBLE_FOR", "").split())


def assemble(ptx: str, written_for: str) -> list[KernelResources]:
    """What the kernels of a text need on each architecture that it runs on; none may spill or have a stack."""
    newer = [arch for arch in ASSEMBLED_FOR if runs(written_for, compute_capability(arch))]
    architectures = [written_for] if is_specific(written_for) else newer
    found = [kernel for arch in architectures for kernel in ptxas.assemble(ptx, arch).kernels]
    spilled = [kernel for kernel in found if kernel.spill_bytes or kernel.stack_bytes]
    assert not spilled
    return found


_new: dict[str, str] = {}
"""PTX texts that were not assembled yet, with the architectures that they are written for."""
_done: set[str] = set()


def pytest_configure(config: pytest.Config) -> None:
    """Keep what is compiled from now on."""
    del config
    if not ptxas.available():
        raise pytest.UsageError("-p tests.assembled needs ptxas (of the CUDA toolkit) on the path")
    executable.DEFAULT_ARCHITECTURE = ASSEMBLED_FOR[0]
    original = executable.NvptxExecutable.__init__

    def keep(self: executable.NvptxExecutable, module: Module, options: CompileOptions, phases: Phases) -> None:
        original(self, module, options, phases)
        _new[self.ptx] = self.arch

    executable.NvptxExecutable.__init__ = keep  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def _all_is_assembled() -> Iterator[None]:
    yield
    texts = {ptx: arch for ptx, arch in _new.items() if ptx not in _done}
    _new.clear()
    _done.update(texts)
    for ptx, arch in texts.items():
        assemble(ptx, arch)
