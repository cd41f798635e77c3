"""Loops whose elements stop at different times: those that are left are put together, and each keeps its own state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler.backends.nvptx.kernels.loop import compacted

MOST = 120
TEXT = """
any { p = pred[] parameter(0)  q = pred[] parameter(1)  ROOT r = pred[] or(p, q) }
on { s = STATE parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(MOST)
  l = pred[] compare(i, n), direction=LT  t = s32[DIMS] get-tuple-element(s), index=1
  z = s32[] constant(0)  y = s32[DIMS] broadcast(z), dimensions={}  a = pred[DIMS] compare(t, y), direction=GT
  f = pred[] constant(false)  e = pred[] reduce(a, f), dimensions={AXES}, to_apply=any
  ROOT go = pred[] and(l, e) }
step { s = STATE parameter(0)  i = s32[] get-tuple-element(s), index=0  t = s32[DIMS] get-tuple-element(s), index=1
  v = TYPE[DIMS] get-tuple-element(s), index=2  x = TYPE[DIMS] get-tuple-element(s), index=3
  z = s32[] constant(0)  y = s32[DIMS] broadcast(z), dimensions={}  a = pred[DIMS] compare(t, y), direction=GT
  o = s32[] constant(1)  w = s32[DIMS] broadcast(o), dimensions={}  m = s32[DIMS] subtract(t, w)
  u = s32[DIMS] select(a, m, t)  g = TYPE[DIMS] CHANGED  h = TYPE[DIMS] select(a, g, v)
  j = s32[] add(i, o)  ROOT r = STATE tuple(j, u, h, x) }
ENTRY e { t = s32[DIMS] parameter(0)  v = TYPE[DIMS] parameter(1)  x = TYPE[DIMS] parameter(2)
  i = s32[] constant(0)  s = STATE tuple(i, t, v, x)  w = STATE while(s), condition=on, body=step
  ROOT r = TYPE[DIMS] get-tuple-element(w), index=2 }"""
TYPES = [
    "pred", "s4", "s8", "u16", "s32", "u64", "bf16", "f16", "f32", "f64", "f8e4m3fn", "c64", "c128",
]  # fmt: skip
SIZES = [(31,), (255,), (256,), (257,), (3, 171), (1025,)]
TRIPS = [0, 1, 2, 15, 16, 17, 47, 48, 49, 111, 112, MOST - 1, MOST, MOST + 1]
"""Iterations that elements take: on both sides of those behind which they are put together, and of the most."""

ALONE = "a thread for each element"


def text_of(type_: str, dims: tuple[int, ...]) -> str:
    changed = "xor(x, v)" if type_ == "pred" else "subtract(x, v)"
    named = {
        "STATE": "(s32[], s32[DIMS], TYPE[DIMS], TYPE[DIMS])", "TYPE": type_, "CHANGED": changed, "MOST": str(MOST),
        "DIMS": ",".join(map(str, dims)), "AXES": ",".join(map(str, range(len(dims)))),
    }  # fmt: skip
    text = TEXT
    for name, value in named.items():
        text = text.replace(name, value)
    return text


def check(type_: str, dims: tuple[int, ...], trips: np.ndarray[Any, Any], gpu: Any) -> None:
    module = compiler.parse(text_of(type_, dims))
    dtype = module.entry.parameters[1].array.element_type.dtype
    rng = np.random.default_rng(0)
    numbers = (rng.integers(0, 2 if type_ == "pred" else 4, dims).astype(dtype) for _ in range(2))
    given = [trips.reshape(dims).astype(np.int32), *numbers]
    (expected,) = compiler.interpret(module, *given)
    (actual,) = gpu(module, *given, global_races=True)
    assert "vote.sync.ballot" in gpu.compile(module).ptx
    assert np.asarray(actual).tobytes() == np.asarray(expected).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("type_", TYPES)
def test_state_of_any_type_goes_along(type_: str, gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacted, "_MANY", 1)
    check(type_, (600,), np.random.default_rng(1).choice(TRIPS, 600), gpu)


@pytest.mark.slow
@pytest.mark.parametrize("dims", SIZES)
def test_blocks_are_whole_or_not(dims: tuple[int, ...], gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacted, "_MANY", 1)
    check("f32", dims, np.random.default_rng(1).choice(TRIPS, dims), gpu)


@pytest.mark.slow
@pytest.mark.parametrize("trips", TRIPS)
def test_all_elements_may_stop_together_or_but_one(trips: int, gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacted, "_MANY", 1)
    for together in (1, compacted._TOGETHER):
        monkeypatch.setattr(compacted, "_TOGETHER", together)
        every = np.full(300, trips)
        check("s32", (300,), every, gpu)
        check("s32", (300,), np.where(np.arange(300) == 299, MOST, every), gpu)


def decided(text: str) -> str:
    (kernel,) = compiler.decide(text, "nvptx", compiler.CompileOptions(arch="sm_90")).to_json()["kernels"]
    return str(kernel["strategy"])


def test_only_many_elements_that_stop_at_different_times_are_put_together() -> None:
    many, few = (text_of("f32", (size,)) for size in (compacted._MANY, compacted._MANY - 1))
    together = many.replace("and(l, e)", "and(l, l)")
    assert [decided(text) for text in (many, few, together)] == ["survivors put together", *2 * [ALONE]]


@pytest.mark.parametrize("asked", [{}, {"share_all": True}])
def test_few_elements_are_put_together_where_every_kernel_is_to_be_shared(asked: dict[str, Any]) -> None:
    module = compiler.parse(text_of("f32", (300,)))
    options = compiler.CompileOptions(device="sim", opt=0, check_races=True, **asked)
    rng = np.random.default_rng(2)
    given = [rng.choice(TRIPS, 300).astype(np.int32), *(rng.integers(0, 4, 300).astype(np.float32) for _ in range(2))]
    executable = compiler.compile(module, "nvptx", options)
    assert ("vote.sync.ballot" in executable.ptx) == bool(asked)
    assert np.array_equal(executable(*given)[0], compiler.interpret(module, *given)[0])
