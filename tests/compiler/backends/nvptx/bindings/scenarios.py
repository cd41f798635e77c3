"""What the back end does with the real bindings, in a process in which the driver's library is the one given."""

from __future__ import annotations

import gc
import sys
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from gpu import Function, Gpu

import compiler
from compiler import CompileOptions
from compiler.backends.nvptx import persistent, streams

GPU = Gpu(sys.argv[1], capability=86)
BRANCHES = """
one { x = f32[20,20] parameter(0)  ROOT n = f32[20,20] negate(x) }
two { x = f32[20,20] parameter(0)  ROOT a = f32[20,20] add(x, x) }
cond { s = (s32[], s32[], f32[20,20]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1  ROOT p = pred[] compare(i, n), direction=LT }
body { s = (s32[], s32[], f32[20,20]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1  x = f32[20,20] get-tuple-element(s), index=2
  j = s32[] add(i, s32[] constant(1))  odd = s32[] and(i, s32[] constant(1))
  y = f32[20,20] conditional(odd, x, x), branch_computations={one, two}
  a = f32[20,20] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[20,20] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  z = f32[20,20] subtract(a, b)  m = f32[20,20] clamp(f32[] constant(-3), z, f32[] constant(3))
  ROOT t = (s32[], s32[], f32[20,20]) tuple(j, n, m) }
ENTRY e { n = s32[] parameter(0)  x = f32[20,20] parameter(1)  i = s32[] constant(0)
  a = f32[20,20] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  b = f32[20,20] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  c = f32[20,20] subtract(a, b)  s = (s32[], s32[], f32[20,20]) tuple(i, n, c)
  w = (s32[], s32[], f32[20,20]) while(s), condition=cond, body=body  y = f32[20,20] get-tuple-element(w), index=2
  ROOT r = (f32[20,20], f32[20,20]) tuple(y, a) }"""
STRAIGHT = """ENTRY e { x = f32[20,20] parameter(0)
  a = f32[20,20] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  b = f32[20,20] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  ROOT r = (f32[20,20], f32[20,20]) tuple(a, b) }"""
PRODUCT = """ENTRY e { x = f32[2048,256] parameter(0)  y = f32[256,2048] parameter(1)
  ROOT r = f32[2048,2048] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"""


def agrees(executable: Any, text: str, *inputs: Any) -> None:
    for one, other in zip(compiler.interpret(text, *inputs), executable(*inputs), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-4)


def matrix(seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal((20, 20)).astype(np.float32)


def a_module_without_decisions_is_one_graph() -> None:
    executable: Any = compiler.compile(STRAIGHT, "nvptx")
    assert ".target sm_86" in executable.ptx
    for seed in range(2):
        agrees(executable, STRAIGHT, matrix(seed))
    assert {"cuStreamWaitEvent", "cuStreamBeginCapture"} <= set(GPU.count())
    agrees(executable, STRAIGHT, matrix(2))
    assert GPU.count() == {"cuGraphLaunch": 1, "cuStreamSynchronize": 1}
    assert {time.duration_ns for time in executable.profile(matrix(0))} == {500_000}


def decisions_lie_between_graphs() -> None:
    executable = compiler.compile(BRANCHES, "nvptx")
    for trip_count in (0, 1, 5, 2):
        agrees(executable, BRANCHES, np.int32(trip_count), matrix(trip_count))


def threads_may_call_while_one_captures() -> None:
    executable, other = compiler.compile(STRAIGHT, "nvptx"), matrix(1)
    agrees(executable, STRAIGHT, other)
    beside: list[Future[None]] = []

    def call() -> None:
        beside.append(threads.submit(agrees, executable, STRAIGHT, other))
        wait(beside)

    # In the middle of what is captured.
    GPU.before["cuStreamWaitEvent"] = call
    with ThreadPoolExecutor(1) as threads:
        agrees(executable, STRAIGHT, matrix(3))
    beside[0].result()


def a_launch_may_use_much_shared_memory() -> None:
    GPU.capability = 90
    executable: Any = compiler.compile(PRODUCT, "nvptx")
    launches: list[Any] = []
    launch = GPU.machine.launch
    GPU.machine.launch = lambda *given, **options: launches.append(options["shared_bytes"])  # type: ignore[assignment]
    executable(np.zeros((2048, 256), np.float32), np.zeros((256, 2048), np.float32))
    GPU.machine.launch = launch
    assert launches[0] > 48 * 1024
    GPU.capability = 86


def what_the_driver_refuses_is_said() -> None:
    said = "CUDA_ERROR_INVALID_PTX: a sentence; PTX for '.target sm_90', the GPU is sm_86: line 3: no$"
    with pytest.raises(RuntimeError, match=said):
        compiler.compile(STRAIGHT, "nvptx", CompileOptions(arch="sm_90"))


def idle_memory_goes_back_where_there_is_no_other() -> None:
    executable = compiler.compile(STRAIGHT, "nvptx")
    agrees(executable, STRAIGHT, matrix(0))
    device = executable.device  # type: ignore[attr-defined]
    most, GPU.most_bytes = GPU.most_bytes, sum(GPU.allocated.values())
    GPU.count()
    device.free(device.allocate(1024))
    assert GPU.count()["cuMemFree"]
    GPU.most_bytes = 0
    with pytest.raises(RuntimeError, match="CUDA_ERROR_OUT_OF_MEMORY"):
        device.allocate(4096)
    GPU.most_bytes = most


def everything_goes_back() -> None:
    gc.collect()
    assert not GPU.allocated
    assert not GPU.pinned
    assert all(isinstance(thing, Function) for thing in GPU.things.values())


if __name__ == "__main__":
    persistent.LAUNCH_NS = persistent.DECISION_NS = -1.0
    streams.LIGHT_BYTES = 0
    for scenario in (
        a_module_without_decisions_is_one_graph,
        decisions_lie_between_graphs,
        threads_may_call_while_one_captures,
        a_launch_may_use_much_shared_memory,
        what_the_driver_refuses_is_said,
        idle_memory_goes_back_where_there_is_no_other,
        everything_goes_back,
    ):
        scenario()
