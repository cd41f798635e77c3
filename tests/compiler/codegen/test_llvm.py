"""What LLVM is given back: a process may compile programs without end."""

from __future__ import annotations

import ctypes
import gc
import os
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
    for _ in range(20):
        compiler.compile(PROGRAM, backend, options)
    before = resident_bytes()
    for _ in range(40):
        compiler.compile(PROGRAM, backend, options)
    assert resident_bytes() - before < 3 << 20
