"""Programs for several devices on one: what back ends make of them is what the devices do in lock-step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler.diagnostics import UnsupportedError, VerifyError
from compiler.ir.rewrite import Fuel
from compiler.pipeline import PASSES
from compiler.plan import device_count

ADD = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }"
ODD = """odd { a = f32[] parameter(0) b = f32[] parameter(1) two = f32[] constant(2) c = f32[] multiply(b, two)
  ROOT r = f32[] add(a, c) }"""
OF_BF16 = "add16 { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT r = bf16[] add(a, b) }"
OR = "any { a = pred[] parameter(0) b = pred[] parameter(1) ROOT r = pred[] add(a, b) }"
COUNTED = """
cond { p = (f32[4], s32[]) parameter(0) i = s32[] get-tuple-element(p), index=1 n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT }
body { p = (f32[4], s32[]) parameter(0) v = f32[4] get-tuple-element(p), index=0
  i = s32[] get-tuple-element(p), index=1 s = f32[4] all-reduce(v), to_apply=add
  one = s32[] constant(1) j = s32[] add(i, one) ROOT t = (f32[4], s32[]) tuple(s, j) }"""
PARTED = """
cond { p = (f32[4], s32[], s32[]) parameter(0) i = s32[] get-tuple-element(p), index=1
  n = s32[] get-tuple-element(p), index=2 ROOT c = pred[] compare(i, n), direction=LT }
body { p = (f32[4], s32[], s32[]) parameter(0) v = f32[4] get-tuple-element(p), index=0
  i = s32[] get-tuple-element(p), index=1 n = s32[] get-tuple-element(p), index=2
  s = f32[4] all-reduce(v), to_apply=add, replica_groups={{0,1},{2,3}}
  one = s32[] constant(1) j = s32[] add(i, one) ROOT t = (f32[4], s32[], s32[]) tuple(s, j, n) }"""
BRANCHES = """
first { a = f32[4] parameter(0) ROOT r = f32[4] all-reduce(a), to_apply=add, replica_groups={{0,1},{2,3}} }
second { a = f32[4] parameter(0) ROOT r = f32[4] negate(a) }
third { a = f32[4] parameter(0) i = u32[] replica-id() f = f32[] convert(i) b = f32[4] broadcast(f), dimensions={}
  ROOT r = f32[4] multiply(a, b) }"""
NUMBERED = """
cond { p = (f32[4], u32[]) parameter(0) i = u32[] get-tuple-element(p), index=1 n = u32[] replica-id()
  ROOT c = pred[] compare(i, n), direction=LT }
body { p = (f32[4], u32[]) parameter(0) v = f32[4] get-tuple-element(p), index=0
  i = u32[] get-tuple-element(p), index=1 s = f32[4] add(v, v)
  one = u32[] constant(1) j = u32[] add(i, one) ROOT t = (f32[4], u32[]) tuple(s, j) }"""
INNER = "inner { a = f32[4] parameter(0) ROOT r = f32[4] all-reduce(a), to_apply=add }"
X = "x = f32[4] parameter(0)\n"

PROGRAMS: dict[str, tuple[str, str]] = {
    "all-reduce": (ADD, X + "ROOT r = f32[4] all-reduce(x), to_apply=add, replica_groups={{0,3},{2,1}}"),
    "all-reduce of several": (ADD, X + "ROOT r = (f32[4], f32[4]) all-reduce(x, x), to_apply=add"),
    "all-reduce in order": (ODD, X + "ROOT r = f32[4] all-reduce(x), to_apply=odd, replica_groups={{3,1,2,0}}"),
    "all-reduce of predicates": (
        OR,
        X + "z = f32[4] constant({12, 12, 12, 12}) c = pred[4] compare(x, z), direction=LT\n"
        "ROOT r = pred[4] all-reduce(c), to_apply=any",
    ),
    "all-reduce of bf16": (OF_BF16, X + "h = bf16[4] convert(x) ROOT r = bf16[4] all-reduce(h), to_apply=add16"),
    "all-gather": ("", X + "ROOT r = f32[8] all-gather(x), dimensions={0}, replica_groups={{1,0},{2,3}}"),
    "reduce-scatter": (ADD, X + "ROOT r = f32[1] reduce-scatter(x), dimensions={0}, to_apply=add"),
    "all-to-all": ("", X + "ROOT r = f32[4] all-to-all(x), dimensions={0}"),
    "all-to-all of a tuple": ("", X + "ROOT r = (f32[4], f32[4]) all-to-all(x, x), replica_groups={{0,2},{1,3}}"),
    "collective-permute": ("", X + "ROOT r = f32[4] collective-permute(x), source_target_pairs={{0,1},{1,2},{2,0}}"),
    "collective-broadcast": ("", X + "ROOT r = f32[4] collective-broadcast(x), replica_groups={{2,0}}"),
    "numbers": ("", "r = u32[] replica-id() p = u32[] partition-id() ROOT t = (u32[], u32[]) tuple(r, p)"),
    "called": (ADD + INNER, X + "ROOT r = f32[4] call(x), to_apply=inner"),
    "counted loop": (
        ADD + COUNTED,
        X + "z = s32[] constant(0) t = (f32[4], s32[]) tuple(x, z)\n"
        "w = (f32[4], s32[]) while(t), condition=cond, body=body ROOT r = f32[4] get-tuple-element(w), index=0",
    ),
    "loop that devices leave one by one": (
        ADD + PARTED,
        X + "i = u32[] replica-id() h = u32[] constant(2) g = u32[] divide(i, h) s = s32[] convert(g)\n"
        "one = s32[] constant(1) n = s32[] add(s, one) z = s32[] constant(0)\n"
        "t = (f32[4], s32[], s32[]) tuple(x, z, n) w = (f32[4], s32[], s32[]) while(t), condition=cond, body=body\n"
        "ROOT r = f32[4] get-tuple-element(w), index=0",
    ),
    "loop of each device's own": (
        NUMBERED,
        X + "z = u32[] constant(0) t = (f32[4], u32[]) tuple(x, z)\n"
        "w = (f32[4], u32[]) while(t), condition=cond, body=body ROOT r = f32[4] get-tuple-element(w), index=0",
    ),
    "branches": (
        ADD + BRANCHES,
        X + "c = u32[] replica-id() one = u32[] constant(1) m = u32[] maximum(c, one) z = u32[] subtract(m, one)\n"
        "i = s32[] convert(z)\n"
        "ROOT r = f32[4] conditional(i, x, x, x), branch_computations={first, second, third}",
    ),
}


def parsed(name: str, replicas: int = 4, partitions: int = 1) -> compiler.Module:
    computations, lines = PROGRAMS[name]
    header = f"HloModule m, replica_count={replicas}, num_partitions={partitions}"
    return compiler.parse(f"{header}\n{computations}\nENTRY e {{\n{lines}\n}}")


def inputs_of(module: compiler.Module) -> list[list[Any]]:
    given = len(module.entry.parameters)
    return [[np.arange(4, dtype=np.float32) + 10 * (d + 1)] * given for d in range(device_count(module))]


def flat(rows: list[list[Any]]) -> list[Any]:
    return [value for row in rows for value in row]


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_device_does_what_all_do_in_lock_step(name: str) -> None:
    module = parsed(name)
    inputs = inputs_of(module)
    expected = [result.tobytes() for result in flat(compiler.interpret_devices(module, inputs))]
    expanded = module.clone()
    assert PASSES["device-expander"](expanded, Fuel(None, "device-expander"))
    compiler.verify(expanded)
    assert device_count(expanded) == 1
    assert [result.tobytes() for result in compiler.interpret(expanded, *flat(inputs))] == expected


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("backend", ["cpu", "nvptx"])
def test_back_ends_run_programs_for_several_devices(name: str, backend: str) -> None:
    module = parsed(name)
    inputs = inputs_of(module)
    expected = [result.tobytes() for result in compiler.interpret(module, *flat(inputs))]
    options = compiler.CompileOptions(verify_each=True, device="sim" if backend == "nvptx" else "")
    assert [r.tobytes() for r in compiler.compile(module, backend, options)(*flat(inputs))] == expected


def test_partitions_of_replicas_are_numbered_in_rows() -> None:
    module = parsed("numbers", replicas=2, partitions=3)
    results = [int(result) for result in compiler.compile(module)(*flat(inputs_of(module)))]
    assert results == [number for r in range(2) for p in range(3) for number in (r, p)]


def test_a_loop_that_counts_from_constants_selects_nothing() -> None:
    counted, parted = (parsed(name) for name in ("counted loop", "loop that devices leave one by one"))
    for module in (counted, parted):
        PASSES["device-expander"](module, Fuel(None, "device-expander"))
    selects = [any(i.opcode == "select" for i in module.instructions()) for module in (counted, parted)]
    assert selects == [False, True]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ROOT r = f32[4] all-reduce(x), to_apply=add, replica_groups={{0}}", "replica 1 is in none of its groups"),
        ("ROOT r = f32[4] all-reduce(x), to_apply=add, replica_groups={{0,7}}", "its groups name replica 7 of 2"),
        ("ROOT r = f32[4] all-to-all(x), dimensions={0}, replica_groups={{0,1,2}}", "its groups name replica 2 of 2"),
    ],
)
def test_groups_that_fit_no_device_are_violations_before_any_pass(line: str, message: str) -> None:
    module = compiler.parse(f"HloModule m, replica_count=2\n{ADD}\nENTRY e {{\n{X}{line}\n}}")
    with pytest.raises(VerifyError, match=message):
        compiler.compile(module)


OTHER_SIZES = {
    "reduce-scatter": "ROOT r = f32[4] reduce-scatter(x), dimensions={0}, to_apply=add",
    "all-gather": "ROOT r = f32[4] all-gather(x), dimensions={0}",
    "all-gather-start": "s = (f32[4], f32[4]) all-gather-start(x), dimensions={0} ROOT r = f32[4] all-gather-done(s)",
}


@pytest.mark.parametrize("opcode", OTHER_SIZES)
def test_a_program_for_another_number_of_devices_is_refused_by_all(opcode: str) -> None:
    text = f"HloModule m, replica_count=2\n{ADD}\nENTRY e {{ x = f32[4] parameter(0) {OTHER_SIZES[opcode]} }}"
    with pytest.raises(UnsupportedError, match=rf"{opcode} .* as many devices as there are make \[\d\] of"):
        compiler.compile(compiler.parse(text))
    with pytest.raises(UnsupportedError, match=rf"{opcode} .* as many devices as there are make \[\d\] of"):
        compiler.interpret(compiler.parse(text), *[np.zeros(4, np.float32)] * 2)


def test_bounds_of_several_devices_hold_their_results() -> None:
    module = parsed("all-reduce")
    inputs = inputs_of(module)
    wide = compiler.interpret(module, *flat(inputs), wide=True)
    results = compiler.interpret(module, *flat(inputs))
    assert len(wide) == len(results) == 4
    for bounded, result in zip(wide, results, strict=True):
        assert np.all(np.abs(bounded.value - result) <= bounded.bound)
