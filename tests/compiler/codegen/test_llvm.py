"""What LLVM is given back: a process may compile programs without end."""

from __future__ import annotations

import ctypes
import gc
import os
import statistics
from pathlib import Path

import pytest

import compiler

LIBRARY = ctypes.CDLL(None)
MEMORY = Path("/proc/self/statm")
PROGRAM = """HloModule m
f { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY e { x = f32[65,33] parameter(0)  zero = f32[] constant(0)
  y = f32[65,33] exponential(x)  r = f32[33] reduce(y, zero), dimensions={0}, to_apply=f
  s = f32[33,65] transpose(y), dimensions={1,0}  t = f32[33,65] sine(s)  u = s32[65,33] convert(x)
  ROOT all = (f32[33], f32[33,65], s32[65,33]) tuple(r, t, u) }"""


def resident_bytes() -> int:
    """Memory of this process, but for what is kept for later."""
    gc.collect()
    if hasattr(LIBRARY, "malloc_trim"):
        LIBRARY.malloc_trim(0)
    return int(MEMORY.read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@pytest.mark.skipif(not MEMORY.exists(), reason="this system does not tell how much memory a process has")
@pytest.mark.parametrize("backend", ["cpu", "nvptx"])
def test_compiling_again_takes_no_more_memory(backend: str) -> None:
    options = compiler.CompileOptions(device="sim")
    growths = []
    before = _after_compiling(backend, options)
    for _ in range(5):
        after = _after_compiling(backend, options)
        growths.append(after - before)
        before = after
    assert statistics.median(growths) < 1 << 20, "a leak shows each time, a scattered heap once"


def _after_compiling(backend: str, options: compiler.CompileOptions) -> int:
    for _ in range(12):
        compiler.compile(PROGRAM, backend, options)
    return resident_bytes()
