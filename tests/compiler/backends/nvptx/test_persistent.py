"""Small launches in a row, loops and branches: one launch of one block, with barriers where launches waited."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler import CompileOptions, inputs
from compiler.backends.nvptx import persistent
from compiler.backends.nvptx.simulator import LaunchOptions, SimulationError
from compiler.backends.nvptx.steps import WhileStep

# A loop of unknown length around a branch; its reductions have barriers of their own, and fewer threads than the block.
BRANCHES = """
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
one { x = f32[SIZE] parameter(0)  n = f32[SIZE] negate(x)  ROOT r = f32[SIZE] reverse(n), dimensions={0} }
two { x = f32[SIZE] parameter(0)  ROOT r = f32[SIZE] add(x, x) }
cond { s = (s32[], f32[SIZE]) parameter(0)  x = f32[SIZE] get-tuple-element(s), index=1
  z = f32[] constant(0)  sum = f32[] reduce(x, z), dimensions={0}, to_apply=add
  i = s32[] get-tuple-element(s), index=0  few = pred[] compare(i, s32[] constant(9)), direction=LT
  small = pred[] compare(sum, f32[] constant(100)), direction=LT  ROOT p = pred[] and(few, small) }
body { s = (s32[], f32[SIZE]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[SIZE] get-tuple-element(s), index=1
  j = s32[] add(i, s32[] constant(1))  r = s32[] remainder(i, s32[] constant(3))
  y = f32[SIZE] conditional(r, x, x), branch_computations={one, two}  ROOT t = (s32[], f32[SIZE]) tuple(j, y) }
ENTRY e { x = f32[SIZE] parameter(0)  i = s32[] constant(0)  s = (s32[], f32[SIZE]) tuple(i, x)
  w = (s32[], f32[SIZE]) while(s), condition=cond, body=body
  y = f32[SIZE] get-tuple-element(w), index=1  e = f32[SIZE] exponential(f32[SIZE] negate(y))
  n = s32[] get-tuple-element(w), index=0  ROOT r = (s32[], f32[SIZE]) tuple(n, e) }"""
# An odd and an even trip count, after which the state is in the other of its two buffers or in the same.
COUNTED = """
cond { s = (s32[], f32[SIZE]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  ROOT p = pred[] compare(i, s32[] constant(ITERATIONS)), direction=LT }
body { s = (s32[], f32[SIZE]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[SIZE] get-tuple-element(s), index=1  r = f32[SIZE] reverse(x), dimensions={0}
  q = f32[SIZE] broadcast(f32[] convert(i)), dimensions={}
  j = s32[] add(i, s32[] constant(1))  y = f32[SIZE] add(q, r)  ROOT t = (s32[], f32[SIZE]) tuple(j, y) }
ENTRY e { i = s32[] constant(0)  x = f32[SIZE] parameter(0)  s = (s32[], f32[SIZE]) tuple(i, x)
  w = (s32[], f32[SIZE]) while(s), condition=cond, body=body  ROOT y = f32[SIZE] get-tuple-element(w), index=1 }"""

# What is small and stands between two loops of the host could be done before the first, in whose memory it would lie.
BETWEEN_LOOPS = COUNTED.replace("ITERATIONS", "4").replace(
    "ROOT y = f32[SIZE] get-tuple-element(w), index=1",
    """y = f32[SIZE] get-tuple-element(w), index=1
  n = f32[SIZE] negate(x), control-predecessors={w}  k = s32[] constant(2)  t = (s32[], f32[SIZE]) tuple(k, n)
  v = (s32[], f32[SIZE]) while(t), condition=cond.1, body=body.1
  z = f32[SIZE] get-tuple-element(v), index=1  ROOT r = f32[SIZE] subtract(y, z)""",
)
_head, _entry = BETWEEN_LOOPS.split("ENTRY")
BETWEEN_LOOPS = _head + _head.replace("cond {", "cond.1 {").replace("body {", "body.1 {") + "ENTRY" + _entry


def steps_of(executable: Any) -> list[str]:
    lines = str(executable.artifacts["thunk_sequence.txt"]).splitlines()
    return [line for line in lines if not line.startswith((" ", "copy in", "copy out"))]


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 8, 300, 500])
@pytest.mark.parametrize(
    "text", [BRANCHES, *(COUNTED.replace("ITERATIONS", trip_count) for trip_count in ("0", "1", "4", "5"))]
)
def test_what_is_small_is_one_launch(text: str, size: int, gpu: Any) -> None:
    text = text.replace("SIZE", str(size))
    executable = gpu.compile(text)
    executable.device.options = LaunchOptions(check_global_races=True)
    assert len(steps_of(executable)) == 1
    for start in (0.5, -2.0, 30.0):
        x = np.arange(size, dtype=np.float32) * np.float32(start)
        for one, other in zip(compiler.interpret(compiler.parse(text), x), executable(x), strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-6)


@pytest.mark.usefixtures("small_launches")
@pytest.mark.parametrize("trip_count", ["4", "5"])
def test_the_state_of_a_counted_loop_is_not_copied(trip_count: str, gpu: Any) -> None:
    text = COUNTED.replace("SIZE", "8").replace("ITERATIONS", trip_count)
    executable = gpu.compile(text)
    lines = str(executable.artifacts["thunk_sequence.txt"]).splitlines()
    assert not [line for line in lines if line.startswith("  copy")]
    x = np.arange(8, dtype=np.float32)
    assert np.array_equal(executable(x)[0], compiler.interpret(compiler.parse(text), x)[0])


def test_what_is_large_stays_with_the_host() -> None:
    text = BRANCHES.replace("SIZE", "3000000")
    executable = compiler.compile(text, "nvptx", CompileOptions(device="sim"))
    (loop,) = (line for line in steps_of(executable) if line.startswith("while"))
    assert "a block would take" in loop


def test_a_missing_barrier_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    text = COUNTED.replace("SIZE", "300").replace("ITERATIONS", "4")
    monkeypatch.setattr(persistent.Emission, "_barrier", lambda self: None)
    executable: Any = compiler.compile(text, "nvptx", CompileOptions(device="sim"))
    executable.device.options = LaunchOptions(check_global_races=True)
    with pytest.raises(SimulationError, match="race"):
        executable(np.zeros(300, np.float32))


@pytest.mark.parametrize("size", [8, 300])
def test_what_is_between_two_loops_stays_there(size: int, gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    worth_it = persistent._Persistent._is_worth_it
    monkeypatch.setattr(
        persistent._Persistent, "_is_worth_it", lambda self, s: not isinstance(s, WhileStep) and worth_it(self, s)
    )
    executable = gpu.compile(BETWEEN_LOOPS.replace("SIZE", str(size)))
    (x,) = inputs.draw(executable.module, 0)
    assert [line[0] for line in steps_of(executable) if "iterations" in line] == ["2", "1"]
    np.testing.assert_array_equal(executable(x)[0], compiler.interpret(executable.module, x)[0])


@pytest.mark.parametrize("text", [BRANCHES, COUNTED.replace("ITERATIONS", "5"), BETWEEN_LOOPS])
def test_launches_stay_apart_where_that_is_asked_for_and_compute_the_same(text):
    module = compiler.parse(text.replace("SIZE", "64"))
    given = inputs.draw(module, 1)
    together, apart = (
        compiler.compile(module, backend="nvptx", options=CompileOptions(opt=0, device="sim", persistent=is_asked))
        for is_asked in (True, False)
    )
    assert any("persistent" in step for step in steps_of(together))
    assert not any("persistent" in step for step in steps_of(apart))
    for one, other in zip(together(*given), apart(*given), strict=True):
        np.testing.assert_array_equal(one, other)
