"""Programs for many devices: loops, branches, halves and inputs, on all devices or on some."""

from __future__ import annotations

import numpy as np
import pytest
from device_runs import ADD, X, firsts, rows, run

import compiler
from compiler.diagnostics import InputError, UnsupportedError


@pytest.mark.slow
def test_every_device_knows_its_replica_and_its_partition() -> None:
    lines = "r = u32[] replica-id()\np = u32[] partition-id()\nROOT t = (u32[], u32[]) tuple(r, p)"
    results = run(lines, [[]] * 6, replicas=2, partitions=3)
    assert [[int(v) for v in result] for result in results] == [[r, p] for r in range(2) for p in range(3)]


STARTS = [
    (
        "s = f32[4] all-reduce-start(x), to_apply=add\nROOT r = f32[4] all-reduce-done(s)",
        "ROOT r = f32[4] all-reduce(x), to_apply=add",
    ),
    (
        "s = (f32[4], f32[8]) all-gather-start(x), dimensions={0}\nROOT r = f32[8] all-gather-done(s)",
        "ROOT r = f32[8] all-gather(x), dimensions={0}",
    ),
    (
        (
            "s = (f32[4], f32[4], u32[], u32[]) collective-permute-start(x), source_target_pairs={{0,1}}\n"
            "ROOT r = f32[4] collective-permute-done(s)"
        ),
        "ROOT r = f32[4] collective-permute(x), source_target_pairs={{0,1}}",
    ),
    (
        "s = ((f32[4]), f32[2], s32[]) async-start(x), calls=scatter\nROOT r = f32[2] async-done(s)",
        "ROOT r = f32[2] reduce-scatter(x), dimensions={0}, to_apply=add",
    ),
]


@pytest.mark.parametrize(("pair", "plain"), STARTS)
def test_a_collective_in_two_halves_is_the_collective(pair: str, plain: str) -> None:
    scatter = "scatter { x = f32[4] parameter(0) ROOT r = f32[2] reduce-scatter(x), dimensions={0}, to_apply=add }"
    computations = ADD + "\n" + scatter
    asynchronous = run(X + pair, rows(2), replicas=2, computations=computations)
    assert firsts(asynchronous) == firsts(run(X + plain, rows(2), replicas=2))


INNER = "inner { v = f32[] parameter(0) ROOT s = f32[] all-reduce(v), to_apply=add }"
OUTER = "outer { v = f32[] parameter(0) ROOT r = f32[] call(v), to_apply=inner }"


@pytest.mark.parametrize("applied", ["inner", "outer"])
def test_an_exchange_in_what_is_applied_to_elements_is_refused_however_deep_it_lies(applied: str) -> None:
    lines = f"{X} ROOT m = f32[4] map(x), dimensions={{0}}, to_apply={applied}"
    module = f"HloModule m, replica_count=2\n{ADD}\n{INNER}\n{OUTER}\nENTRY e {{\n{lines}\n}}"
    with pytest.raises(UnsupportedError, match="exchanges data"):
        compiler.compile(compiler.parse(module))
    with pytest.raises(UnsupportedError, match="inner, which it applies to elements, exchanges data"):
        compiler.interpret_devices(compiler.parse(module), rows(2))


LOOP = """
cond { p = (f32[], s32[], s32[]) parameter(0) i = s32[] get-tuple-element(p), index=1
  n = s32[] get-tuple-element(p), index=2 ROOT c = pred[] compare(i, n), direction=LT }
body { p = (f32[], s32[], s32[]) parameter(0) v = f32[] get-tuple-element(p), index=0
  i = s32[] get-tuple-element(p), index=1 n = s32[] get-tuple-element(p), index=2
  s = f32[] all-reduce(v), to_apply=add one = s32[] constant(1) j = s32[] add(i, one)
  ROOT t = (f32[], s32[], s32[]) tuple(s, j, n) }"""
LOOPING = """
v = f32[] parameter(0)
n = s32[] parameter(1)
z = s32[] constant(0)
t = (f32[], s32[], s32[]) tuple(v, z, n)
w = (f32[], s32[], s32[]) while(t), condition=cond, body=body
ROOT r = f32[] get-tuple-element(w), index=0
"""


def test_collectives_work_in_loops_that_all_devices_run() -> None:
    inputs = [[np.float32(d + 1), np.int32(3)] for d in range(2)]
    assert firsts(run(LOOPING, inputs, replicas=2, computations=ADD + LOOP)) == [12.0, 12.0]


def test_a_collective_that_a_device_never_reaches_is_refused() -> None:
    inputs = [[np.float32(d + 1), np.int32(d)] for d in range(2)]
    with pytest.raises(UnsupportedError, match=r"devices \[0\] of its group \[0, 1\] do not reach it"):
        run(LOOPING, inputs, replicas=2, computations=ADD + LOOP)


def test_devices_may_take_different_branches() -> None:
    branches = (
        "f { a = f32[4] parameter(0) ROOT n = f32[4] negate(a) }\ng { a = f32[4] parameter(0) ROOT n = f32[4] abs(a) }"
    )
    lines = """
    x = f32[4] parameter(0)
    i = u32[] replica-id()
    z = u32[] constant(0)
    p = pred[] compare(i, z), direction=EQ
    ROOT r = f32[4] conditional(p, x, x), true_computation=f, false_computation=g
    """
    inputs = rows(2)
    results = run(lines, inputs, replicas=2, computations=branches)
    assert firsts(results) == [(-inputs[0][0]).tolist(), inputs[1][0].tolist()]


def test_more_devices_than_a_process_can_be_are_refused() -> None:
    module = compiler.parse(
        f"HloModule m, replica_count=9223372036854775807\nENTRY e {{\n{X}ROOT r = u32[] replica-id()\n}}"
    )
    with pytest.raises(UnsupportedError, match="at most 65536 are run in one process"):
        compiler.interpret(module, np.zeros(4, np.float32))


def test_inputs_are_asked_for_each_device() -> None:
    with pytest.raises(InputError, match=r"runs on 4 devices \(2 replicas of 2 partitions\), inputs of 1 given"):
        run(X + "ROOT r = f32[4] negate(x)", rows(1), replicas=2, partitions=2)
