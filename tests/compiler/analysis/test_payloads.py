"""What is rounded to bf16 without a look at NaN: only what can have none that would be lost."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.analysis import payloads
from compiler.ir.types import TYPES
from compiler.ops import OPS

BF16 = TYPES["bf16"].dtype
PATTERNS = np.arange(1 << 16, dtype=np.uint16).view(BF16)
HEAD = "HloModule m\nf { p = f32[] parameter(0)  q = f32[] parameter(1)  ROOT m = f32[] BODY(p, q) }\nENTRY e {"
ELEMENTWISE = sorted(o for o in payloads._PASSING if OPS[o].elementwise and OPS[o].operands[1] in (1, 2))

SHORT = {
    "x = bf16[4] parameter(0)  v = f32[4] convert(x)": True,
    "x = f32[4] parameter(0)  v = f32[4] negate(x)": False,
    "x = s32[4] parameter(0)  v = f32[4] convert(x)": True,
    "x = f16[4] parameter(0)  v = f32[4] convert(x)": False,
    "x = f64[4] parameter(0)  v = f32[4] convert(x)": False,
    "x = u32[4] parameter(0)  v = f32[4] bitcast-convert(x)": False,
    "x = bf16[4] parameter(0)  y = f32[4] convert(x)  v = f32[4] sine(y)": False,
    "x = bf16[4] parameter(0)  y = f32[4] convert(x)  z = f32[4] multiply(y, y)  v = f32[4] exponential(z)": True,
    "x = pred[4] parameter(0)  y = f32[4] parameter(1)  v = f32[4] select(x, y, y)": False,
    "v = f32[2] constant({nan, -nan})": True,
    "v = f32[2] constant({nan(0x7fffff), 1})": False,
    "v = f32[4] iota(), iota_dimension=0": True,
}
REDUCED = (
    "x = bf16[4] parameter(0)  y = f32[4] convert(x)  i = f32[] constant(0)"
    "  ROOT v = f32[] reduce(y, i), dimensions={0}, to_apply=f }"
)


@pytest.mark.parametrize("body", SHORT)
def test_payloads_are_followed_to_where_they_come_from(body):
    root = compiler.parse("ENTRY e { " + body.replace("v = ", "ROOT v = ") + " }").entry.root
    assert payloads.has_short_payloads(root) == SHORT[body]


@pytest.mark.parametrize(("combiner", "expected"), [("add", True), ("maximum", True), ("atan2", False)])
def test_bodies_are_looked_into(combiner, expected):
    text = HEAD.replace("BODY", combiner) + REDUCED
    assert payloads.has_short_payloads(compiler.parse(text).entry.root) == expected


def test_long_ways_are_not_followed():
    steps = "".join(f"  v{n + 1} = f32[4] negate(v{n})" for n in range(payloads._MOST + 1))
    text = f"ENTRY e {{ x = bf16[4] parameter(0)  v0 = f32[4] convert(x){steps} }}"
    assert not payloads.has_short_payloads(compiler.parse(text).entry.root)


@pytest.mark.parametrize("opcode", ELEMENTWISE)
def test_no_nan_is_lost_or_gets_a_long_payload(opcode):
    count = OPS[opcode].operands[1]
    text = f"""ENTRY e {{ x = bf16[65536] parameter(0)  y = bf16[65536] parameter(1)
      v = f32[65536] convert(x)  w = f32[65536] convert(y)
      a = f32[65536] {opcode}({"v, w" if count == 2 else "v"})
      b = bf16[65536] convert(a)  c = u32[65536] bitcast-convert(a)
      ROOT t = (bf16[65536], u32[65536]) tuple(b, c) }}"""
    module, other = compiler.parse(text), np.random.default_rng(1).permutation(PATTERNS)
    rounded, bits = compiler.compile(module)(PATTERNS, other)
    wanted, _ = compiler.interpret(module, PATTERNS, other)
    assert (np.isnan(rounded.astype(np.float32)) == np.isnan(wanted.astype(np.float32))).all()
    assert not (bits[np.isnan(bits.view(np.float32))] & 0xFFFF).any()
