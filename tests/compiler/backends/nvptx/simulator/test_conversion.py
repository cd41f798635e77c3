"""Conversions round, clamp and wrap as the instruction says."""

import numpy as np
import pytest

FLOATS = np.array([0.0, -0.0, 0.5, 1.5, 2.5, -2.5, 1e10, -1e10, np.inf, -np.inf, np.nan, 255.4], np.float32)
BITS = FLOATS.view(np.uint32)


def signed(raw, bits):
    return raw.astype(f"uint{bits}").view(f"int{bits}").tolist()


@pytest.mark.parametrize(
    ("mode", "rounded"), [("rni", np.rint), ("rzi", np.trunc), ("rmi", np.floor), ("rpi", np.ceil)]
)
def test_floats_become_integers_that_are_clamped(run_instruction, mode, rounded):
    (found,) = run_instruction(f"cvt.{mode}.s32.f32 %x, %a;", ["b32"], ["b32"], [BITS])
    with np.errstate(invalid="ignore"):
        exact = np.clip(rounded(FLOATS.astype(np.float64)), -(2**31), 2**31 - 1)
    expected = [0 if np.isnan(value) else int(value) for value in exact]
    assert signed(found, 32) == expected


@pytest.mark.parametrize(
    ("text", "value", "bits", "expected"),
    [
        ("cvt.s32.s8 %x, %a;", 0x180, 32, -128),
        ("cvt.u32.u8 %x, %a;", 0x180, 32, 128),
        ("cvt.sat.u8.s32 %x, %a;", 0xFFFFFFFF, 16, 0),
        ("cvt.u16.u32 %x, %a;", 0x12345, 16, 0x2345),
    ],
)
def test_integers_are_widened_narrowed_and_clamped(run_instruction, text, value, bits, expected):
    (found,) = run_instruction(text, ["b32"], [f"b{bits}"], [np.array([value], np.uint32)])
    assert signed(found, bits) == [expected]


def test_integers_become_the_nearest_float(run_instruction):
    values = np.array([2**24 + 1, 2**24 + 3, 2**31 - 1, 0], np.uint32)
    (found,) = run_instruction("cvt.rn.f32.u32 %x, %a;", ["b32"], ["b32"], [values])
    assert found.view(np.float32).tolist() == values.astype(np.float32).tolist()


def test_halves_are_widened_exactly_and_rounded_back(run_instruction):
    halves = np.array([0, 1, 0x3C00, 0x7BFF, 0x7C00, 0x8000], np.uint16)
    (wide,) = run_instruction("cvt.f32.f16 %x, %a;", ["b16"], ["b32"], [halves])
    assert wide.view(np.float32).tolist() == halves.view(np.float16).astype(np.float32).tolist()
    (back,) = run_instruction("cvt.rn.f16.f32 %x, %a;", ["b32"], ["b16"], [wide])
    assert back.tolist() == halves.tolist()
