"""Whoever is not computed in the kernel of its users learns why."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

import compiler

SUM = "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }"
REASONS = {
    "it is the computation's result": "ROOT v = f32[512] tanh(x)",
    "each would compute it again": "v = f32[512] tanh(x)  l = f32[512] reverse(v), dimensions={0}"
    "  s = f32[] reduce(v, z), dimensions={0}, to_apply=sum  ROOT r = (f32[512], f32[]) tuple(l, s)",
    "elements would be computed more often than there are": "v = f32[512] tanh(x)"
    "  ROOT b = f32[40,512] broadcast(v), dimensions={1}",
    "takes it from memory": "v = f32[512] tanh(x)  ROOT r = f32[512] sort(v), dimensions={0}, to_apply=less",
    "it is dilated, and what it would be computed in": "v = f32[1024] pad(x, z), padding=1_0_1"
    "  a = f32[1024] tanh(v)  ROOT r = f32[2048] pad(a, z), padding=1_0_1",
    "what follows is not elementwise, at equal indices; and as rows: ": "v = f32[] reduce(x, z), dimensions={0},"
    " to_apply=sum  b = f32[40] broadcast(v), dimensions={}  ROOT r = f32[40] tanh(b)",
}
LESS = "less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT }"


@pytest.mark.parametrize("reason", REASONS)
def test_the_reason_is_told(reason: str) -> None:
    entry = f"ENTRY e {{ x = f32[512] parameter(0)  z = f32[] constant(0)  {REASONS[reason]} }}"
    text = f"HloModule m\n{SUM}\n{LESS}\n{entry}"
    options = compiler.CompileOptions(disable_passes=("algebraic-simplification", "data-movement-simplification"))
    placed = {one.name: one.reason for one in compiler.decide(text, options=options).placed}
    assert reason in placed.get("e/v", "") or reason in placed.get("e/v_fusion", "")


def _scan(size: int, opcode: str, type_: str = "f32") -> str:
    """The prefix combinations of an array as JAX's `associative_scan` writes them: a tree of slices and pads."""
    lines = [f"zero = {type_}[] constant(0)", f"x0 = {type_}[{size}] parameter(0)"]

    def emit(name: str, length: int, rest: str) -> str:
        lines.append(f"{name} = {type_}[{length}] {rest}")
        return name

    def scan(value: str, length: int, depth: int) -> str:
        half, even = length // 2, (length + 1) // 2
        if length < 2:
            return value
        first = emit(f"l{depth}", half, f"slice({value}), slice={{[0:{2 * half - 1}:2]}}")
        second = emit(f"r{depth}", half, f"slice({value}), slice={{[1:{2 * half}:2]}}")
        odds = scan(emit(f"x{depth + 1}", half, f"{opcode}({first}, {second})"), half, depth + 1)
        head = emit(f"h{depth}", 1, f"slice({value}), slice={{[0:1]}}")
        if even > 1:
            before = emit(f"b{depth}", even - 1, f"slice({odds}), slice={{[0:{even - 1}]}}")
            own = emit(f"o{depth}", even - 1, f"slice({value}), slice={{[2:{length}:2]}}")
            later = emit(f"e{depth}", even - 1, f"{opcode}({before}, {own})")
            head = emit(f"c{depth}", even, f"concatenate({head}, {later}), dimensions={{0}}")
        lows = emit(f"p{depth}", length, f"pad({head}, zero), padding=0_{1 - length % 2}_1")
        highs = emit(f"q{depth}", length, f"pad({odds}, zero), padding=1_{length % 2}_1")
        return emit(f"s{depth}", length, f"add({lows}, {highs})")

    root = scan("x0", size, 0)
    return "HloModule m\nENTRY e {\n" + "\n".join(lines) + f"\nROOT t = {type_}[{size}] copy({root})\n}}"


@pytest.mark.parametrize(("opcode", "type_"), [("add", "f32"), ("maximum", "f64"), ("xor", "s32"), ("multiply", "s32")])
@pytest.mark.parametrize("size", [2, 17, 96, 1000, 1023, 1024])
def test_a_level_of_a_scan_is_computed_once_or_from_few_elements(size: int, opcode: str, type_: str) -> None:
    text = _scan(size, opcode, type_)
    names = [one.name.split("/") for one in compiler.decide(text).placed]
    pads = Counter(body for body, name in names if body != "e" and name[0] in "pq")
    combinations = Counter(body for body, name in names if body != "e" and name[0] in "xe")
    assert max(pads.values(), default=0) <= 2
    assert max(combinations.values(), default=0) <= 8
    x = np.random.default_rng(size).integers(-9, 9, size).astype({"f32": "f4", "f64": "f8", "s32": "i4"}[type_])
    got, want = (compiler.compile(text)(x)[0], compiler.interpret(compiler.parse(text), x)[0])
    assert got.tobytes() == want.tobytes()


def test_a_mask_of_numbers_is_made_where_it_is_used_however_often() -> None:
    rows = "\n".join(
        f"x{n} = f32[64,64] parameter({n})  s{n} = f32[64,64] select(mask, x{n}, low)"
        f"  m{n} = f32[64] reduce(s{n}, least), dimensions={{1}}, to_apply=sum"
        f"  b{n} = f32[64,64] broadcast(m{n}), dimensions={{0}}  t{n} = f32[64,64] select(mask, b{n}, s{n})"
        f"  r{n} = f32[64,64] subtract(t{n}, b{n})"
        for n in range(4)
    )
    text = f"""{SUM}
    ENTRY e {{ i = s32[64,64] iota(), iota_dimension=0  j = s32[64,64] iota(), iota_dimension=1
      mask = pred[64,64] compare(i, j), direction=GE  least = f32[] constant(0)
      low = f32[64,64] broadcast(least), dimensions={{}}
      {rows}  ROOT all = ({", ".join(["f32[64,64]"] * 4)}) tuple(r0, r1, r2, r3) }}"""
    assert not [one.name for one in compiler.decide(text).placed if one.name in ("e/mask", "e/mask_fusion")]


FOUR_USES = """
      low = f32[16,64] broadcast(zero), dimensions={}  a = f32[16,64] maximum(v, low)
      b = f32[16] reduce(v, zero), dimensions={1}, to_apply=sum
      c = f32[64] reduce(v, zero), dimensions={0}, to_apply=sum
      s = f32[64,16] transpose(v), dimensions={1,0}
      ROOT all = (f32[16,64], f32[16], f32[64], f32[64,16]) tuple(a, b, c, s)"""


def _kernels_with(value: str, uses: str = FOUR_USES) -> Counter[str]:
    """How many kernels compute what, of a program that uses a value in four."""
    text = f"""{SUM}
    ENTRY e {{ x = f32[16,64] parameter(0)  g = f32[64] parameter(1)  n = f32[] parameter(2)  zero = f32[] constant(0)
      spread = f32[16,64] broadcast(g), dimensions={{1}}  same = f32[16,64] broadcast(n), dimensions={{}}
      {value} {uses} }}"""
    names = [one.name.split("/") for one in compiler.decide(text).placed]
    return Counter(name for computation, name in names if computation != "e")


@pytest.mark.parametrize(
    "value",
    [
        "v = f32[16,64] add(x, spread)",
        "v = f32[16,64] subtract(spread, x)",
        "p = f32[16,64] multiply(x, spread)  v = f32[16,64] add(p, spread)",
        "v = f32[16,64] add(x, same)",
    ],
)
def test_what_is_computed_of_a_spread_array_is_not_kept_in_memory(value: str) -> None:
    assert _kernels_with(value)["v"] == 4


def test_a_factor_of_products_is_not_kept_in_memory() -> None:
    uses = """
      a = f32[16,64] multiply(v, x)
      squares = f32[16,64] multiply(v, v)  b = f32[16] reduce(squares, zero), dimensions={1}, to_apply=sum
      scaled = f32[16,64] multiply(v, same)  c = f32[64] reduce(scaled, zero), dimensions={0}, to_apply=sum
      more = f32[16,64] multiply(v, spread)  s = f32[64,16] transpose(more), dimensions={1,0}
      ROOT all = (f32[16,64], f32[16], f32[64], f32[64,16]) tuple(a, b, c, s)"""
    assert _kernels_with("v = f32[16,64] multiply(x, spread)", uses)["v"] == 4


@pytest.mark.parametrize(
    "value", ["multiply(x, spread)", "multiply(x, same)", "add(x, x)", "divide(x, spread)", "tanh(x)"]
)
def test_what_may_round_otherwise_or_takes_longer_is_computed_once(value: str) -> None:
    assert _kernels_with(f"v = f32[16,64] {value}")["v"] == 1


def test_few_roundings_in_a_row_are_computed_again() -> None:
    chain = ["x", *(f"v{n}" for n in range(9)), "v"]
    steps = [f"{name} = f32[16,64] add({before}, spread)" for before, name in itertools.pairwise(chain)]
    found = _kernels_with("  ".join(steps))
    assert [name for name in chain[1:] if found[name] > 1] == ["v6", "v7", "v8", "v"]
