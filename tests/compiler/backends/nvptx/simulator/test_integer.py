"""Integer instructions against Python's integers, on all pairs of telling values."""

import itertools

import numpy as np
import pytest


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def binary(text, bits, truth, sign="u", out_bits=None):
    type_ = f"b{bits}"
    return text, (type_, type_), f"b{out_bits or bits}", truth, sign


def clamp(value, low, high):
    return max(low, min(high, value))


CASES = [
    *(binary(f"add.s{b} %x, %a, %b;", b, lambda a, b: a + b) for b in (16, 32, 64)),
    *(binary(f"sub.s{b} %x, %a, %b;", b, lambda a, b: a - b) for b in (16, 32, 64)),
    *(binary(f"mul.lo.s{b} %x, %a, %b;", b, lambda a, b: a * b) for b in (16, 32, 64)),
    *(binary(f"mul.hi.u{b} %x, %a, %b;", b, lambda a, c, b=b: a * c >> b) for b in (16, 32, 64)),
    *(binary(f"mul.hi.s{b} %x, %a, %b;", b, lambda a, c, b=b: a * c >> b, "s") for b in (16, 32, 64)),
    *(binary(f"mul.wide.u{b} %x, %a, %b;", b, lambda a, b: a * b, "u", 2 * b) for b in (16, 32)),
    *(binary(f"mul.wide.s{b} %x, %a, %b;", b, lambda a, b: a * b, "s", 2 * b) for b in (16, 32)),
    binary("mad.lo.s32 %x, %a, %b, %a;", 32, lambda a, b: a * b + a),
    binary("mad.hi.s32 %x, %a, %b, %a;", 32, lambda a, b: (a * b >> 32) + a, "s"),
    *(binary(f"div.u{b} %x, %a, %b;", b, lambda a, c, b=b: a // c if c else -1) for b in (16, 32, 64)),
    *(binary(f"div.s{b} %x, %a, %b;", b, lambda a, c: quotient(a, c) if c else -1, "s") for b in (16, 32, 64)),
    *(binary(f"rem.u{b} %x, %a, %b;", b, lambda a, c: a % c if c else a) for b in (16, 32, 64)),
    *(
        binary(f"rem.s{b} %x, %a, %b;", b, lambda a, c: a - c * quotient(a, c) if c else a, "s")
        for b in (16, 32, 64)
    ),
    *(binary(f"min.s{b} %x, %a, %b;", b, min, "s") for b in (16, 32, 64)),
    *(binary(f"max.u{b} %x, %a, %b;", b, max) for b in (16, 32, 64)),
    binary("min.relu.s32 %x, %a, %b;", 32, lambda a, b: max(min(a, b), 0), "s"),
    binary("max.relu.s32 %x, %a, %b;", 32, lambda a, b: max(a, b, 0), "s"),
    binary("add.sat.s32 %x, %a, %b;", 32, lambda a, b: clamp(a + b, -(2**31), 2**31 - 1), "s"),
    binary("sub.sat.s32 %x, %a, %b;", 32, lambda a, b: clamp(a - b, -(2**31), 2**31 - 1), "s"),
    *(
        binary(f"{op}.b{b} %x, %a, %b;", b, f)
        for b in (16, 32, 64)
        for op, f in (("and", int.__and__), ("xor", int.__xor__), ("or", int.__or__))
    ),
    *(binary(f"neg.s{b} %x, %a;", b, lambda a, _: -a, "s") for b in (16, 32, 64)),
    *(binary(f"abs.s{b} %x, %a;", b, lambda a, _: abs(a), "s") for b in (16, 32, 64)),
    *(binary(f"not.b{b} %x, %a;", b, lambda a, _: ~a) for b in (16, 32, 64)),
    *(binary(f"cnot.b{b} %x, %a;", b, lambda a, _: a == 0) for b in (16, 32, 64)),
    *(binary(f"brev.b{b} %x, %a;", b, lambda a, _, b=b: int(f"{a:0{b}b}"[::-1], 2)) for b in (32, 64)),
    *(binary(f"popc.b{b} %x, %a;", b, lambda a, _: a.bit_count(), "u", 32) for b in (32, 64)),
    *(binary(f"clz.b{b} %x, %a;", b, lambda a, _, b=b: b - a.bit_length(), "u", 32) for b in (32, 64)),
    *(binary(f"bfind.u{b} %x, %a;", b, lambda a, _: a.bit_length() - 1, "u", 32) for b in (32, 64)),
    *(
        binary(f"bfind.s{b} %x, %a;", b, lambda a, _: (~a if a < 0 else a).bit_length() - 1, "s", 32)
        for b in (32, 64)
    ),
    binary("bfind.shiftamt.u32 %x, %a;", 32, lambda a, _: 32 - a.bit_length() if a else -1),
    binary("sad.s32 %x, %a, %b, %b;", 32, lambda a, b: abs(a - b) + b, "s"),
    binary("sad.u32 %x, %a, %b, %a;", 32, lambda a, b: abs(a - b) + a),
    binary("mul24.lo.u32 %x, %a, %b;", 32, lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
    binary("mul24.hi.s32 %x, %a, %b;", 32, lambda a, b: signed(a, 24) * signed(b, 24) >> 16),
    binary("lop3.b32 %x, %a, %b, %a, 0xE8;", 32, lambda a, b: (a & b) | (a & a) | (b & a)),
    binary("lop3.b32 %x, %a, %b, 0xF0F0F0F0, 0x96;", 32, lambda a, b: a ^ b ^ 0xF0F0F0F0),
    *(
        binary(f"setp.{r}.{t} %p, %a, %b; selp.b32 %x, 1, 0, %p;", 32, f, t[0])
        for r, t, f in (
            ("eq", "s32", int.__eq__), ("ne", "u32", int.__ne__), ("lt", "s32", int.__lt__), ("le", "u32", int.__le__),
            ("gt", "s32", int.__gt__), ("ge", "s32", int.__ge__), ("lo", "u32", int.__lt__), ("hs", "u32", int.__ge__),
        )
    ),
    binary(
        "setp.lt.s32 %q, %b, 0; setp.gt.and.s32 %p|%r, %a, 0, !%q; selp.b32 %x, 1, 2, %p; @%r add.s32 %x, %x, 4;",
        32,
        lambda a, b: (1 if a > 0 and b >= 0 else 2) + (4 if a <= 0 and b >= 0 else 0),
        "s",
    ),
    binary("set.lt.u32.s32 %x, %a, %b;", 32, lambda a, b: -(a < b), "s"),
    binary("slct.b32.s32 %x, %a, %b, %b;", 32, lambda a, b: a if signed(b, 32) >= 0 else b),
]  # fmt: skip


def values(bits: int) -> list[int]:
    some = [0, 1, 2, 3, 7, 31, (1 << (bits - 1)) - 1, 1 << (bits - 1), (1 << bits) - 1, (1 << bits) - 2]
    return [*some, 0x5A5A5A5A5A5A5A5A & ((1 << bits) - 1), 0x123456789ABCDEF1 & ((1 << bits) - 1)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_instruction_agrees_with_python_integers(run_instruction, case) -> None:
    text, inputs, output, truth, sign = case
    bits = int(inputs[0][1:])
    pairs = list(itertools.product(values(bits), repeat=2))
    operands = [np.array(column, np.uint64) for column in zip(*pairs, strict=True)]
    (result,) = run_instruction(text, inputs, (output,), operands)
    mask = (1 << int(output[1:])) - 1
    read = (lambda v: signed(v, bits)) if sign == "s" else int
    expected = [int(truth(read(a), read(b))) & mask for a, b in pairs]
    assert result.tolist() == expected


def shift_cases():
    for bits in (16, 32, 64):
        mask = (1 << bits) - 1
        yield f"shl.b{bits} %x, %a, %b;", bits, lambda a, n, m=mask, b=bits: a << n & m if n < b else 0
        yield f"shr.u{bits} %x, %a, %b;", bits, lambda a, n: a >> n
        yield f"shr.s{bits} %x, %a, %b;", bits, lambda a, n, m=mask, b=bits: signed(a, b) >> n & m
    yield (
        "shf.l.wrap.b32 %x, %a, 0x1234ABCD, %b;",
        32,
        lambda a, n: (0x1234ABCD << 32 | a) << (n & 31) >> 32 & 0xFFFFFFFF,
    )
    yield (
        "shf.l.clamp.b32 %x, %a, 0x1234ABCD, %b;",
        32,
        lambda a, n: (0x1234ABCD << 32 | a) << min(n, 32) >> 32 & 0xFFFFFFFF,
    )
    yield "shf.r.wrap.b32 %x, %a, 0x1234ABCD, %b;", 32, lambda a, n: (0x1234ABCD << 32 | a) >> (n & 31) & 0xFFFFFFFF
    yield "shf.r.clamp.b32 %x, %a, 0x1234ABCD, %b;", 32, lambda a, n: (0x1234ABCD << 32 | a) >> min(n, 32) & 0xFFFFFFFF


SHIFTS = list(shift_cases())


@pytest.mark.parametrize("case", SHIFTS, ids=lambda case: case[0])
def test_shift_keeps_to_the_width(run_instruction, case) -> None:
    text, bits, truth = case
    pairs = list(itertools.product(values(bits), (0, 1, 7, 15, 16, 31, 32, 33, 63, 64, 65, 255, 2**31)))
    operands = [np.array(column, np.uint64) for column in zip(*pairs, strict=True)]
    (result,) = run_instruction(text, (f"b{bits}", "b32"), (f"b{bits}",), operands)
    assert result.tolist() == [truth(a, n) for a, n in pairs]


def extract(a: int, position: int, length: int, bits: int, sign_type: str) -> int:
    """The manual's pseudocode for bfe, bit by bit."""
    position, length, top = position & 0xFF, length & 0xFF, bits - 1
    sign = 0
    if sign_type == "s" and length:
        sign = a >> min(position + length - 1, top) & 1
    result = 0
    for i in range(bits):
        bit = a >> (position + i) & 1 if i < length and position + i <= top else sign
        result |= bit << i
    return result


def insert(a: int, b: int, position: int, length: int, bits: int) -> int:
    """The manual's pseudocode for bfi."""
    for i in range(length & 0xFF):
        place = (position & 0xFF) + i
        if place < bits:
            b = b & ~(1 << place) | (a >> i & 1) << place if i < bits else b
    return b


FIELDS = [(p, n) for p in (0, 1, 8, 31, 32, 40, 63, 64, 255, 256) for n in (0, 1, 5, 8, 31, 32, 64, 255)]


@pytest.mark.parametrize("type_", ["u32", "s32", "u64", "s64"])
def test_bfe_follows_the_manual(run_instruction, type_) -> None:
    bits = int(type_[1:])
    rows = [(a, p, n) for a in values(bits) for p, n in FIELDS]
    operands = [np.array(column, np.uint64) for column in zip(*rows, strict=True)]
    (result,) = run_instruction(f"bfe.{type_} %x, %a, %b, %c;", (type_, "b32", "b32"), (type_,), operands)
    assert result.tolist() == [extract(*row, bits, type_[0]) for row in rows]


@pytest.mark.parametrize("bits", [32, 64])
def test_bfi_follows_the_manual(run_instruction, bits) -> None:
    rows = [(a, 0xC3C3C3C3C3C3C3C3 & ((1 << bits) - 1), p, n) for a in values(bits) for p, n in FIELDS]
    operands = [np.array(column, np.uint64) for column in zip(*rows, strict=True)]
    types = (f"b{bits}", f"b{bits}", "b32", "b32")
    (result,) = run_instruction(f"bfi.b{bits} %x, %a, %b, %c, %d;", types, (f"b{bits}",), operands)
    assert result.tolist() == [insert(*row, bits) for row in rows]


def test_prmt_picks_bytes_and_signs(run_instruction) -> None:
    selectors = [0x3210, 0x7654, 0x0123, 0xFEDC, 0x8888, 0x4567, 0xBA98]
    a, b = 0x89ABCDEF, 0x01F37F80
    (result,) = run_instruction(
        "prmt.b32 %x, %a, %b, %c;",
        ("b32", "b32", "b32"),
        ("b32",),
        [np.full(7, a), np.full(7, b), np.array(selectors)],
    )
    both = b << 32 | a

    def byte(selector: int) -> int:
        value = both >> 8 * (selector & 7) & 0xFF
        return value if selector < 8 else 0xFF * (value >> 7)

    assert result.tolist() == [sum(byte(s >> 4 * i & 15) << 8 * i for i in range(4)) for s in selectors]


def test_dp4a_multiplies_signed_and_unsigned_bytes(run_instruction) -> None:
    a = np.array([0x01FF807F, 0xFFFFFFFF], np.uint32)
    (result,) = run_instruction("dp4a.s32.u32 %x, %a, %a, 5;", ("b32",), ("b32",), [a])
    expected = (a.view(np.int8).reshape(2, 4).astype(int) * a.view(np.uint8).reshape(2, 4)).sum(1) + 5
    assert result.view(np.int32).tolist() == expected.tolist()


@pytest.mark.slow
def test_every_instruction_is_one_that_ptxas_knows(assemble, one_kernel_each) -> None:
    cases = [(text, inputs, (output,)) for text, inputs, output, _, _ in CASES]
    cases += [(text, (f"b{bits}", "b32"), (f"b{bits}",)) for text, bits, _ in SHIFTS]
    assert assemble(one_kernel_each(cases)) == ""


@pytest.mark.parametrize("sign", [1, -1])
def test_carries_run_through_wide_sums(run_body, sign) -> None:
    op = "add" if sign == 1 else "sub"
    body = f"""
 mov.u32 %y, 0xFFFFFFF0;
 sub.u32 %z, %y, %i;
 {op}.cc.u32 %w, %z, %y;
 {op}c.cc.u32 %w, 5, 0xFFFFFFFF;
 {op}c.u32 %x, 7, 0;
"""
    low = [0xFFFFFFF0 - i + sign * 0xFFFFFFF0 for i in range(64)]
    wide = [n + (5 + sign * 0xFFFFFFFF << 32) + (7 << 64) for n in low]
    assert run_body(body).tolist() == [n >> 64 for n in wide]
