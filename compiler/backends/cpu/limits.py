"""The roofline of this machine: bytes and flops per second that the simplest loops reach, on the same pool of threads.

A share of the limit says more than a time: it shows what is left to gain, and carries over to other machines.  The
loops read, or copy, memory of a given size again and again, or do nothing but multiply-adds in registers; each is
timed by the best of several runs.
"""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Callable

import numpy as np

from compiler.backends.cpu.runtime.cores import available
from compiler.backends.cpu.runtime.threads import emit_share, pool
from compiler.codegen import llvm, llvm_ir
from compiler.codegen.workspace import LINE_BYTES

_RUNS, _RUN_S = 5, 0.02
"""How often a limit is measured, of which the best counts, and the seconds of one measurement."""
_CHAINS = 12
"""Independent multiply-adds: more than the latency of one times what can begin at a time."""

_WORK_NS = int(1e9 * _RUN_S)
_OPT = 2
"""LLVM's level, as for programs."""

_LOOP = """
define void @{name}(ptr %parameters, ptr %results, ptr %arena, ptr %team) {{
  %third = getelementptr ptr, ptr %parameters, i64 2
  %counts = load ptr, ptr %third
  %place = getelementptr i64, ptr %counts, i64 2
  %threads = load i64, ptr %place
  call void {share}(ptr %team, ptr @{name}.phase, ptr %parameters, ptr %results, ptr %arena, ptr null,
                    i64 %threads, i64 %threads, i64 {work})
  ret void
}}

define internal void @{name}.phase(ptr %parameters, ptr %results, ptr %arena, ptr %context, i64 %thread,
                                   i64 %threads) {{
entry:
  %source = load ptr, ptr %parameters
  %second = getelementptr ptr, ptr %parameters, i64 1
  %target = load ptr, ptr %second
  %third = getelementptr ptr, ptr %parameters, i64 2
  %counts = load ptr, ptr %third
  %steps = load i64, ptr %counts
  %place = getelementptr i64, ptr %counts, i64 1
  %iterations = load i64, ptr %place
  %share = udiv i64 %steps, %threads
  %first = mul i64 %share, %thread
  %end = add i64 %first, %share
  br label %iteration
iteration:
  %done = phi i64 [ 0, %entry ], [ %following, %next ]
  br label %step
step:
  %at = phi i64 [ %first, %iteration ], [ %after, %step ]
{state}
{body}
  %after = add i64 %at, 1
  %more = icmp slt i64 %after, %end
  br i1 %more, label %step, label %next
next:
{rest}
  %following = add i64 %done, 1
  %again = icmp slt i64 %following, %iterations
  br i1 %again, label %iteration, label %exit
exit:
  ret void
}}
"""


def bandwidth(kind: str, size_bytes: int, *, threads: int = 0) -> float:
    """Bytes per second that the best loop of a kind, "read" or "copy", moves; it touches `size_bytes` in all.

    Args:
        kind: "read" or "copy".
        size_bytes: what is touched in all.
        threads: at work, 0 for one on each processor.
    """
    threads = threads or available()
    arrays = 2 if kind == "copy" else 1
    step = _CHAINS * _vector_bytes()
    steps = max(threads, size_bytes // (arrays * step)) // threads * threads
    return arrays * steps * step / min(_best(loop, steps * step, steps, threads) for loop in _LOOPS[kind])


def peak_flops(*, threads: int = 0) -> float:
    """The f32 operations per second of multiply-adds in registers; each counts as two."""
    threads = threads or available()
    steps = 1000 * threads
    return 2 * _CHAINS * _vector_bytes() // 4 * steps / _best("multiply", _vector_bytes(), steps, threads)


def _best(kind: str, array_bytes: int, steps: int, threads: int) -> float:
    """Seconds of one iteration through arrays of that size."""
    # Memory that was never written is one page of zeros, whatever its size.
    memory = [np.ones(array_bytes + LINE_BYTES, np.uint8) for _ in range(2)]
    addresses = [array.ctypes.data + -array.ctypes.data % LINE_BYTES for array in memory]
    counts = (ctypes.c_int64 * 3)(steps, 1, threads)
    pointers = (ctypes.c_void_p * 3)(*addresses, ctypes.addressof(counts))
    address = _library().address(kind)

    def run() -> None:
        pool().run(address, pointers, pointers, 0, threads=threads, work=_WORK_NS)

    counts[1] = max(1, int(_RUN_S / max(_seconds(run), 1e-7)))
    counts[1] = max(1, int(counts[1] * _RUN_S / max(_seconds(run), 1e-7)))
    return min(_seconds(run) for _ in range(_RUNS)) / counts[1]


def _seconds(run: Callable[[], None]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _vector_bytes() -> int:
    target = llvm.Target.host()
    return 64 if target.has("avx512f") else 32 if target.has("avx2") else 16


@functools.cache
def _library() -> llvm.Library:
    target = llvm.Target.host()
    module = llvm_ir.Module()
    share = emit_share(module)
    text = "\n".join(
        [
            str(module),
            *(_loop(name, share) for name in _BODIES),
            f"declare {_type()} @llvm.fma({_type()}, {_type()}, {_type()})",
        ]
    )
    text = text.replace("@llvm.fma(", f"@llvm.fma.v{_vector_bytes() // 4}f32(") + "\n!0 = !{i32 1}"
    return llvm.Library(llvm.parse(text, target, _OPT), tuple(_BODIES), target, _OPT)


def _type() -> str:
    return f"<{_vector_bytes() // 4} x float>"


_COPY = (
    "  %p{k} = getelementptr {type}, ptr %source, i64 %i{k}\n"
    "  %q{k} = getelementptr {type}, ptr %target, i64 %i{k}\n"
    "  %v{k} = load {type}, ptr %p{k}, align 64\n"
    "  store {type} %v{k}, ptr %q{k}, align 64"
)
_KEEP = "\n  %n{k} = fadd {type} %s{k}, zeroinitializer"
_BODIES: dict[str, str] = {
    "read": "  %p{k} = getelementptr {type}, ptr %source, i64 %i{k}\n"
    "  %v{k} = load {type}, ptr %p{k}, align 64\n"
    "  %n{k} = fadd {type} %s{k}, %v{k}",
    "copy": _COPY + _KEEP,
    "stream": _COPY + ", !nontemporal !0" + _KEEP,
    "multiply": "  %n{k} = call {type} @llvm.fma({type} %s{k}, {type} %s{k}, {type} %s{k})",
}
"""What a step does to vector k of those that it takes."""

_LOOPS = {"read": ("read",), "copy": ("copy", "stream")}
"""The loops of each kind: past the caches a copy is faster if it does not read what it overwrites."""


def _loop(name: str, share: str) -> str:
    type_, vectors = _type(), range(_CHAINS)
    state = [f"  %s{k} = phi {type_} [ zeroinitializer, %iteration ], [ %n{k}, %step ]" for k in vectors]
    index = ["  %base = mul i64 %at, " + str(_CHAINS), *(f"  %i{k} = add i64 %base, {k}" for k in vectors)]
    body = [_BODIES[name].format(k=k, type=type_) for k in vectors]
    # What is computed has to arrive somewhere, or none of it would be done.
    rest = [f"  store volatile {type_} %n{k}, ptr %target, align 64" for k in vectors if name not in _LOOPS["copy"]]
    blocks = {"state": state, "body": [*index, *body], "rest": rest}
    texts = {name_: "\n".join(lines) for name_, lines in blocks.items()}
    return _LOOP.format(name=name, share=share, work=_WORK_NS, **texts)
