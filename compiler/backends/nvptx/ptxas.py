"""NVIDIA's assembler, where it is installed: the proof that PTX is valid, and what registers and spills it costs."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from compiler.backends.executable import KernelResources
from compiler.diagnostics import UnsupportedError

_TIMEOUT_S = 300
"""Seconds after which the assembler is taken to hang."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """A cubin and what its kernels need."""

    cubin: bytes
    kernels: tuple[KernelResources, ...]
    log: str


def available() -> bool:
    """Whether `ptxas` is on the path."""
    return shutil.which("ptxas") is not None


def assemble(ptx: str, arch: str) -> Assembled:
    """Assemble PTX for an architecture such as sm_90; a rejection is a bug of ours and shows ptxas's message.

    Raises:
        RuntimeError: ptxas rejects the text.
        UnsupportedError: there is no ptxas on the path, or it does not know the architecture.
    """
    program = shutil.which("ptxas")
    if program is None:
        raise UnsupportedError("assembling PTX", "this machine", "ptxas (of the CUDA toolkit) is not on the path")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "module.ptx"), Path(folder, "module.cubin")
        source.write_text(ptx, encoding="utf-8")
        command = [program, f"-arch={arch}", "-v", str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
        if "is not defined for option 'gpu-name'" in done.stderr:
            raise UnsupportedError(f"assembling for {arch}", "this ptxas", "it is older or newer than the architecture")
        if done.returncode:
            raise RuntimeError(f"ptxas rejects our PTX: {done.stdout}{done.stderr}")
        return Assembled(target.read_bytes(), tuple(_resources(done.stdout + done.stderr)), done.stdout + done.stderr)


def to_text(kernels: Sequence[KernelResources]) -> str:
    """What kernels need as a table, for dumps."""
    if not kernels:
        return "not known: no ptxas (of the CUDA toolkit) that knows the architecture is on the path\n"
    lines = [f"{'registers':>9} {'shared':>7} {'stack':>6} {'spilled':>7}  kernel"]
    for kernel in kernels:
        numbers = f"{kernel.registers:9} {kernel.shared_bytes:7} {kernel.stack_bytes:6} {kernel.spill_bytes:7}"
        lines.append(f"{numbers}  {kernel.name}")
    return "\n".join(lines) + "\n"


def to_sentence(kernels: Sequence[KernelResources], arch: str) -> str:
    """What has been proven by assembling them, with what the largest takes."""
    if not kernels:
        return f"nothing to assemble for {arch}: no kernels"
    spilling = [kernel.name for kernel in kernels if kernel.spill_bytes or kernel.stack_bytes]
    return (
        f"{len(kernels)} kernel{'s' if len(kernels) > 1 else ''} assembled for {arch}: "
        f"up to {max(kernel.registers for kernel in kernels)} registers, "
        f"{max(kernel.shared_bytes for kernel in kernels)} bytes of shared memory; "
        + (f"registers spilled or a stack in {', '.join(spilling)}" if spilling else "nothing spilled")
    )


def _resources(log: str) -> list[KernelResources]:
    found: list[KernelResources] = []
    for entry in re.split(r"Compiling entry function ", log)[1:]:
        name = re.match(r"'([^']+)'", entry)
        found.append(
            KernelResources(
                name.group(1) if name else "?",
                _number(r"Used (\d+) registers", entry),
                _number(r"(\d+) bytes smem", entry),
                _number(r"(\d+) bytes stack frame", entry),
                _number(r"(\d+) bytes spill stores", entry),
            )
        )
    return found


def _number(pattern: str, text: str) -> int:
    match = re.search(pattern, text)
    return int(match.group(1)) if match else 0
