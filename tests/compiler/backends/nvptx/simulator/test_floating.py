"""Float instructions against rational arithmetic, and conversions against the rules of the PTX manual."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

TYPES = {
    "f16": (np.uint16, np.float16, 11, -24),
    "bf16": (np.uint16, ml_dtypes.bfloat16, 8, -133),
    "f32": (np.uint32, np.float32, 24, -149),
    "f64": (np.uint64, np.float64, 53, -1074),
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 1.5, math.inf, -math.inf, math.nan]


def raw_values(type_: str, count: int, seed: int) -> np.ndarray:
    """Special values, subnormals, and random bits, half of them of similar exponents."""
    raw, native, *_ = TYPES[type_]
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 1 << 8 * raw().itemsize, count, dtype=np.uint64).astype(raw)
    close = (rng.standard_normal(count // 2) * 2.0 ** rng.integers(-3, 3, count // 2)).astype(native).view(raw)
    tiny = np.arange(1, 5, dtype=raw)
    return np.concatenate([np.array(SPECIAL, native).view(raw), tiny, bits, close])


def decoded(raw: np.ndarray, type_: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        return raw.view(TYPES[type_][1]).astype(np.float64)


def largest(type_: str) -> float:
    return float(ml_dtypes.finfo(TYPES[type_][1]).max)


EXACT = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "fma": lambda a, b, c: a * b + c,
    "div": lambda a, b: a / b,
}


def arithmetic_cases():
    for op in EXACT:
        for type_ in ("f32", "f64"):
            for mode in ("rn", "rz", "rm", "rp"):
                yield op, type_, mode
        if op != "div":
            yield op, "f16", "rn"
            yield op, "bf16", "rn"


ARITHMETIC = list(arithmetic_cases())


def text_of(op: str, type_: str, mode: str) -> str:
    return f"{op}.{mode}.{type_} %x, " + ", ".join("%" + c for c in "abc"[: 3 if op == "fma" else 2]) + ";"


@pytest.mark.parametrize(("op", "type_", "mode"), ARITHMETIC)
def test_arithmetic_rounds_the_exact_value_once(run_instruction, round_exactly, op, type_, mode) -> None:
    arity = 3 if op == "fma" else 2
    rng = np.random.default_rng(7)
    raws = [rng.permutation(raw_values(type_, 300, seed)) for seed in range(arity)]
    (result,) = run_instruction(text_of(op, type_, mode), [type_] * arity, [type_], raws)
    _, _, precision, lowest = TYPES[type_]
    columns = [decoded(raw, type_) for raw in raws]
    for *operands, got in zip(*columns, decoded(result, type_), strict=True):
        if not np.isfinite(operands).all() or (op == "div" and operands[1] == 0):
            continue
        exact = EXACT[op](*map(Fraction, operands))
        assert got == round_exactly(exact, precision, lowest, largest(type_), mode), operands


@pytest.mark.parametrize("type_", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("op", ["add", "mul", "fma"])
def test_special_values_follow_ieee_754(run_instruction, op, type_) -> None:
    arity = 3 if op == "fma" else 2
    grid = np.array(np.meshgrid(*[SPECIAL] * arity)).reshape(arity, -1)
    raws = [row.astype(TYPES[type_][1]).view(TYPES[type_][0]) for row in grid]
    (result,) = run_instruction(text_of(op, type_, "rn"), [type_] * arity, [type_], raws)
    with np.errstate(all="ignore"):
        expected = {"add": lambda: grid[0] + grid[1], "mul": lambda: grid[0] * grid[1]}.get(
            op, lambda: grid[0] * grid[1] + grid[2]
        )()
    got = decoded(result, type_)
    assert np.array_equal(got, expected, equal_nan=True)
    is_number = ~np.isnan(expected)
    assert np.array_equal(np.signbit(got[is_number]), np.signbit(expected[is_number]))
    assert len(set(result[~is_number].tolist())) == 1  # the canonical NaN


@pytest.mark.parametrize(("op", "sign"), [("min", -1.0), ("max", 1.0)])
@pytest.mark.parametrize("type_", ["f16", "bf16", "f32", "f64"])
def test_min_and_max_order_zeros_and_skip_nan(run_instruction, op, sign, type_) -> None:
    a = np.array([0.0, -0.0, math.nan, 2.0, math.nan, 1.0], TYPES[type_][1]).view(TYPES[type_][0])
    b = np.array([-0.0, 0.0, 3.0, math.nan, math.nan, 2.0], TYPES[type_][1]).view(TYPES[type_][0])
    (result,) = run_instruction(f"{op}.{type_} %x, %a, %b;", [type_] * 2, [type_], [a, b])
    got = decoded(result, type_)
    assert np.copysign(1.0, got[:2]).tolist() == [sign, sign]
    assert got[2:4].tolist() == [3.0, 2.0]
    assert math.isnan(got[4])
    assert got[5] == (1.0 if op == "min" else 2.0)


def test_max_with_nan_modifier_propagates_nan(run_instruction) -> None:
    a, b = np.array([math.nan, 1.0], np.float32).view(np.uint32), np.array([1.0, 2.0], np.float32).view(np.uint32)
    (result,) = run_instruction("max.NaN.f32 %x, %a, %b;", ["f32"] * 2, ["f32"], [a, b])
    assert result.tolist() == [0x7FFFFFFF, 0x40000000]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("add.ftz.f32 %x, %a, 0f80000000;", [0.0, -0.0, 1.0, -2.0, math.inf]),
        ("add.sat.f32 %x, %a, 0f00000000;", [2.0**-140, 0.0, 1.0, 0.0, 1.0]),
        ("neg.ftz.f32 %x, %a;", [-0.0, 0.0, -1.0, 2.0, -math.inf]),
        ("abs.f32 %x, %a;", [2.0**-140, 2.0**-140, 1.0, 2.0, math.inf]),
        ("copysign.f32 %x, 0fBF800000, %a;", [-(2.0**-140), -(2.0**-140), -1.0, -2.0, -math.inf]),
        ("sqrt.rn.f32 %x, %a;", [2.0**-70, math.nan, 1.0, math.nan, math.inf]),
        ("rcp.rn.f32 %x, %a;", [math.inf, -math.inf, 1.0, -0.5, 0.0]),
    ],
)
def test_modifiers_and_unary_operations(run_instruction, text, expected) -> None:
    a = np.array([2.0**-140, -(2.0**-140), 1.0, -2.0, math.inf], np.float32).view(np.uint32)
    (result,) = run_instruction(text, ["f32"], ["f32"], [a])
    want = np.array(expected, np.float32)
    want[np.isnan(want)] = np.uint32(0x7FFFFFFF).view(np.float32)
    assert result.tolist() == want.view(np.uint32).tolist()


APPROXIMATE = [
    ("rcp.approx.f32 %x, %a;", lambda x: 1 / x, 1.0),
    ("sqrt.approx.f32 %x, %a;", np.sqrt, 1.0),
    ("rsqrt.approx.f32 %x, %a;", lambda x: 1 / np.sqrt(x), 2.0),
    ("ex2.approx.f32 %x, %a;", np.exp2, 2.0),
    ("lg2.approx.f32 %x, %a;", np.log2, 2.0),
    ("sin.approx.f32 %x, %a;", np.sin, 2.0),
    ("cos.approx.f32 %x, %a;", np.cos, 2.0),
    ("tanh.approx.f32 %x, %a;", np.tanh, 2.0),
]


@pytest.mark.parametrize(("text", "truth", "ulps"), APPROXIMATE)
def test_approximate_instructions_are_within_an_ulp_or_two(run_instruction, text, truth, ulps) -> None:
    a = np.abs(np.random.default_rng(3).standard_normal(500)).astype(np.float32) + np.float32(0.01)
    (result,) = run_instruction(text, ["f32"], ["f32"], [a.view(np.uint32)])
    expected = truth(a.astype(np.float64))
    assert (np.abs(result.view(np.float32) - expected) <= ulps * np.spacing(np.abs(expected.astype(np.float32)))).all()


def test_div_approx_loses_huge_divisors(run_instruction) -> None:
    a = np.array([1.0, math.inf, 6.0], np.float32).view(np.uint32)
    b = np.array([2.0**127, 2.0**127, 3.0], np.float32).view(np.uint32)
    (result,) = run_instruction("div.approx.f32 %x, %a, %b;", ["f32"] * 2, ["f32"], [a, b])
    assert np.array_equal(result.view(np.float32), np.float32([0.0, math.nan, 2.0]), equal_nan=True)


RELATIONS = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b and a == a and b == b,
    "lt": lambda a, b: a < b,
    "ge": lambda a, b: a >= b,
    "equ": lambda a, b: a == b or a != a or b != b,
    "neu": lambda a, b: a != b,
    "ltu": lambda a, b: not a >= b,
    "leu": lambda a, b: not a > b,
    "gtu": lambda a, b: not a <= b,
    "geu": lambda a, b: not a < b,
    "num": lambda a, b: a == a and b == b,
    "nan": lambda a, b: a != a or b != b,
}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("type_", ["f16", "bf16", "f32", "f64"])
def test_comparisons_order_nan_as_the_manual_says(run_instruction, relation, type_) -> None:
    grid = np.array(np.meshgrid(SPECIAL, SPECIAL)).reshape(2, -1)
    raws = [row.astype(TYPES[type_][1]).view(TYPES[type_][0]) for row in grid]
    text = f"setp.{relation}.{type_} %p, %a, %b; selp.b32 %x, 1, 0, %p;"
    (result,) = run_instruction(text, [type_] * 2, ["b32"], raws)
    assert result.tolist() == [int(RELATIONS[relation](a, b)) for a, b in grid.T]


@pytest.mark.parametrize("type_", ["f16x2", "bf16x2"])
def test_packed_operations_act_on_both_halves(run_instruction, type_) -> None:
    half = type_.removesuffix("x2")
    raws = [raw_values(half, 200, seed)[:300] for seed in range(3)]
    (low,) = run_instruction(f"fma.rn.{half} %x, %a, %b, %c;", [half] * 3, ["b16"], raws)
    words = [raw.astype(np.uint32) | raw[::-1].astype(np.uint32) << 16 for raw in raws]
    (both,) = run_instruction(f"fma.rn.{type_} %x, %a, %b, %c;", ["b32"] * 3, ["b32"], words)
    assert (both & 0xFFFF).tolist() == low.tolist()
    assert (both >> 16).tolist() == low[::-1].tolist()


NARROWING = [
    (t, s, m) for t, s in (("f16", "f32"), ("bf16", "f32"), ("f32", "f64"), ("f16", "f64")) for m in ("rn", "rz")
]
NARROWING += [("f32", "f64", "rm"), ("f32", "f64", "rp")]


@pytest.mark.parametrize(("target", "source", "mode"), NARROWING)
def test_float_narrowing_rounds_once(run_instruction, round_exactly, target, source, mode) -> None:
    raw = raw_values(source, 300, 1)
    exponent = np.linspace(-20, 20, 100)
    raw = np.concatenate([raw, (2.0**exponent).astype(TYPES[source][1]).view(TYPES[source][0])])
    (result,) = run_instruction(f"cvt.{mode}.{target}.{source} %x, %a;", [source], [target], [raw])
    _, _, precision, lowest = TYPES[target]
    for value, got in zip(decoded(raw, source), decoded(result, target), strict=True):
        if math.isfinite(value):
            assert got == round_exactly(Fraction(value), precision, lowest, largest(target), mode)
        else:
            assert got == value or (math.isnan(got) and math.isnan(value))


@pytest.mark.parametrize("target", ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("source", ["f16", "f32", "f64"])
@pytest.mark.parametrize(
    ("mode", "rounding"), [("rni", round), ("rzi", math.trunc), ("rmi", math.floor), ("rpi", math.ceil)]
)
def test_float_to_integer_saturates(run_instruction, target, source, mode, rounding) -> None:
    bits = int(target[1:])
    out = f"b{max(bits, 16)}"
    values = [0.5, 1.5, 2.5, -0.5, -1.5, 127.5, 255.5, -128.5, 40000.7, 3e9, -3e9, 1e19, -1e19, 2e19, *SPECIAL]
    raw = np.array(np.clip(values, -6e4, 6e4) if source == "f16" else values, TYPES[source][1]).view(TYPES[source][0])
    (result,) = run_instruction(f"cvt.{mode}.{target}.{source} %x, %a;", [source], [out], [raw])
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if target[0] == "s" else (0, (1 << bits) - 1)

    def truth(value: float) -> int:
        if math.isnan(value):
            return 1 << (bits - 1) if source == "f64" or bits == 64 else 0
        return max(low, min(high, rounding(value) if math.isfinite(value) else int(math.copysign(1 << 70, value))))

    mask = (1 << bits) - 1
    assert [int(r) & mask for r in result] == [truth(v) & mask for v in decoded(raw, source)]


@pytest.mark.parametrize("source", ["s32", "u32", "s64", "u64"])
@pytest.mark.parametrize(
    ("target", "mode"), [("f16", "rn"), ("f32", "rn"), ("f32", "rz"), ("f32", "rp"), ("f64", "rn"), ("f64", "rm")]
)
def test_integer_to_float_rounds_once(run_instruction, round_exactly, source, target, mode) -> None:
    bits = int(source[1:])
    values = [0, 1, (1 << bits) - 1, 1 << (bits - 1), (1 << 24) + 1, (1 << 25) + 3, 2049, 2051, 65519, 65520, 4100 << 5]
    values += [(1 << 53) + 1, (1 << 54) + 3, (1 << 60) + (1 << 36) + 1, 0x7FFFFFBFFFFFFFFF]
    raw = np.array([v & ((1 << bits) - 1) for v in values], np.uint64)
    (result,) = run_instruction(f"cvt.{mode}.{target}.{source} %x, %a;", [source], [target], [raw])
    native = raw.astype(f"u{bits // 8}").view(f"{'i' if source[0] == 's' else 'u'}{bits // 8}")
    _, _, precision, lowest = TYPES[target]
    expected = [round_exactly(Fraction(int(v)), precision, lowest, largest(target), mode) for v in native]
    assert decoded(result, target).tolist() == expected


@pytest.mark.parametrize(
    ("text", "source", "value", "expected"),
    [
        ("cvt.s64.s8 %x, %a;", "b16", 0x80, 0xFFFFFFFFFFFFFF80),
        ("cvt.u64.u16 %x, %a;", "b16", 0xFFFF, 0xFFFF),
        ("cvt.sat.u8.s32 %x, %a;", "b32", 0xFFFFFFFF, 0),
        ("cvt.sat.s8.s32 %x, %a;", "b32", 1000, 127),
        ("cvt.sat.s16.u32 %x, %a;", "b32", 0xFFFFFFFF, 32767),
        ("cvt.u16.u32 %x, %a;", "b32", 0x12345678, 0x5678),
        ("cvt.rni.f32.f32 %x, %a;", "b32", 0x40200000, 0x40000000),
        ("cvt.rna.tf32.f32 %x, %a;", "b32", 0x3F801000, 0x3F802000),
        ("cvt.rn.f16x2.f32 %x, %a, 0f3F800000;", "b32", 0x40000000, 0x40003C00),
        ("cvt.rn.bf16x2.f32 %x, %a, 0f3F800000;", "b32", 0x40000000, 0x40003F80),
        ("cvt.rn.relu.bf16.f32 %x, %a;", "b32", 0xC0000000, 0),
        ("cvt.f32.bf16 %x, %a;", "b16", 0x3FC0, 0x3FC00000),
        ("cvt.sat.f32.f32 %x, %a;", "b32", 0x40000000, 0x3F800000),
    ],
)  # fmt: skip
def test_other_conversions(run_instruction, text, source, value, expected) -> None:
    target = text.split()[0].split(".")[-2].strip(";")
    wide = {"s64": "b64", "u64": "b64", "u8": "b16", "s8": "b16", "s16": "b16", "u16": "b16", "bf16": "b16"}
    out = wide.get(target, "b32")
    (result,) = run_instruction(text, [source], [out], [np.array([value])])
    assert int(result[0]) == expected


def test_testp_tells_numbers_apart(run_instruction) -> None:
    values = np.array([1.0, 1e-40, math.inf, math.nan, 0.0], np.float32).view(np.uint32)
    expected = {
        "finite": [1, 1, 0, 0, 1], "infinite": [0, 0, 1, 0, 0], "number": [1, 1, 1, 0, 1],
        "notanumber": [0, 0, 0, 1, 0], "normal": [1, 0, 0, 0, 0], "subnormal": [0, 1, 0, 0, 0],
    }  # fmt: skip
    for name, want in expected.items():
        (got,) = run_instruction(f"testp.{name}.f32 %p, %a; selp.b32 %x, 1, 0, %p;", ["f32"], ["b32"], [values])
        assert got.tolist() == want, name


@pytest.mark.slow
def test_every_instruction_is_one_that_ptxas_knows(assemble, one_kernel_each) -> None:
    cases = [(text_of(*case), [case[1]] * (3 if case[0] == "fma" else 2), [case[1]]) for case in ARITHMETIC]
    cases += [(text, ["f32"], ["f32"]) for text, _, _ in APPROXIMATE]
    cases += [(f"cvt.{mode}.{t}.{s} %x, %a;", [s], [t]) for t, s, mode in NARROWING]
    assert assemble(one_kernel_each(cases)) == ""
