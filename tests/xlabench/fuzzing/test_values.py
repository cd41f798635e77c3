"""The kinds of values that programs are called with: each for every type, and each what its name says."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from xlabench.cases.inputs import DTYPES
from xlabench.fuzzing.generate import PROFILES, draw_case
from xlabench.fuzzing.values import KINDS, make_inputs, several
from xlabench.judging.tolerance import finfo, is_inexact, raw_bits, real_dtype

DIMS = (4, 9)
LIMIT = 5
SEEDS = range(12)


def drawn(kind, dtype, limit=None, dims=DIMS):
    return [np.asarray(KINDS[kind](np.random.default_rng(seed), dims, dtype, limit)) for seed in SEEDS]


@pytest.mark.parametrize("dims", [(), (0,), (3, 0), (1,), DIMS], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_values_of_every_type(kind, dims):
    for dtype in DTYPES.values():
        for values in drawn(kind, dtype, dims=dims):
            assert (values.dtype, values.shape) == (dtype, dims), dtype


@pytest.mark.parametrize("kind", KINDS)
def test_equal_seeds_give_equal_values(kind):
    for dtype in DTYPES.values():
        first, second = (drawn(kind, dtype) for _ in range(2))
        assert [one.tobytes() for one in first] == [two.tobytes() for two in second]


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"boundary", "special"}))
def test_indices_stay_inside(kind):
    for name in ("s8", "u8", "s16", "s32", "u32", "s64", "u64"):
        for values in drawn(kind, DTYPES[name], LIMIT):
            assert 0 <= int(values.min()) <= int(values.max()) <= LIMIT, name


def test_boundaries_are_both_ends_and_beyond_where_the_type_holds_them():
    for name in ("s8", "s16", "s32", "s64"):
        found = {int(value) for values in drawn("boundary", DTYPES[name], LIMIT) for value in values.flat}
        assert {-1, 0, LIMIT, LIMIT + 1, int(np.iinfo(DTYPES[name]).max)} <= found
    near_the_end = {int(value) for values in drawn("boundary", DTYPES["s8"], 300) for value in values.flat}
    assert {-128, -1, 0, 127} <= near_the_end


def test_edges_are_the_ends_of_other_types_on_both_sides():
    found = {float(value) for values in drawn("edges", DTYPES["f32"], dims=(40, 40)) for value in values.flat}
    assert {
        2.0**31,
        np.nextafter(np.float32(2**31), np.float32(0)),
        -(2.0**31),
        255.5,
        65504.0,
        65520.0,
        448.0,
    } <= found
    found = {int(value) for values in drawn("edges", DTYPES["s32"], dims=(40, 40)) for value in values.flat}
    assert {127, 128, -128, -129, 255, 256, 65535, 65536, (1 << 31) - 1, -(1 << 31)} <= found


FLOATS = [dtype for dtype in DTYPES.values() if is_inexact(dtype)]
WIDE = [DTYPES[name] for name in ("bf16", "f16", "f32", "f64", "c64", "c128")]
INTEGERS = [DTYPES[name] for name in ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64")]


@pytest.mark.parametrize("dtype", WIDE, ids=str)
def test_kinds_of_floats_are_what_they_are_called(dtype):
    parts = {
        kind: np.concatenate([v.reshape(-1).view(real_dtype(dtype)) for v in drawn(kind, dtype)]) for kind in KINDS
    }
    info = finfo(real_dtype(dtype))
    signs = np.signbit(parts["zeros"][parts["zeros"] == 0].astype(np.float64))
    assert signs.any()
    if dtype.kind != "c":
        assert not signs.all()
    wide = {kind: values.astype(np.float64) for kind, values in parts.items()}
    assert np.isnan(wide["special"]).any()
    assert np.isinf(wide["special"]).any()
    assert ((wide["denormal"] != 0) & (np.abs(wide["denormal"]) < float(info.tiny))).any()
    assert (np.abs(wide["extreme"]) > float(info.max) / 32).any()
    bits = raw_bits(parts["payloads"])[np.isnan(wide["payloads"])]
    assert len(np.unique(bits)) > 2


@pytest.mark.parametrize("name", ["f8e4m3fn", "f8e5m2", "bf16", "f16"])
def test_ties_lie_halfway_between_numbers_of_narrower_types(name):
    narrow = DTYPES[name]
    for wide in (np.dtype(np.float32), np.dtype(np.float64)):
        values = np.concatenate([v.ravel() for v in drawn("ties", wide)]).astype(np.float64)
        values = values[np.isfinite(values) & (np.abs(values) < float(finfo(narrow).max) / 2)]
        near = values.astype(narrow)
        steps = [(raw_bits(near) + np.asarray(step).astype(raw_bits(near).dtype)).view(narrow) for step in (1, -1)]
        ties = [np.abs(values - near.astype(float)) == np.abs(values - other.astype(float)) for other in steps]
        assert (np.logical_or(*ties) & (values != near.astype(float))).any()


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_some_arrays_of_extreme_integers_are_of_one_end(dtype):
    """What a maximum begins with must not be larger than all of them."""
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    generators = [np.random.default_rng(seed) for seed in range(40)]
    arrays = [KINDS["extreme"](rng, (20,), dtype, None).astype(object) for rng in generators]
    assert any((values <= low + 3).all() for values in arrays)
    assert any((values >= high - 3).all() for values in arrays)
    assert any(0 < (values >= high - 3).sum() < values.size for values in arrays)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_kinds_of_integers_are_what_they_are_called(dtype):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    assert {low, high} <= {int(value) for values in drawn("extreme", dtype) for value in values.flat}
    assert {0, 1} <= {int(value) for values in drawn("zeros", dtype) for value in values.flat}
    rounded = np.concatenate([v.ravel() for v in drawn("ties", dtype)])
    narrow = {1: DTYPES["f8e4m3fn"], 2: DTYPES["bf16"], 4: DTYPES["f16"], 8: np.dtype(np.float32)}[dtype.itemsize]
    with np.errstate(over="ignore"):
        assert any(int(value) != float(np.asarray(float(value)).astype(narrow)) for value in rounded)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_equal_sorted_and_one_hot_values(dtype):
    for values in drawn("equal", dtype):
        assert len({value.tobytes() for value in values.reshape(-1)}) == 1
    for values in drawn("one-hot", dtype):
        zero = np.zeros((), dtype).tobytes()  # or what stands for it where a type has none
        assert all(sum(one.tobytes() != zero for one in row) <= 1 for row in values)
    if dtype.kind != "c":
        for values in drawn("sorted", dtype):
            steps = np.nan_to_num(np.diff(values.astype(np.float64), axis=-1))  # some types make NaN of negative ones
            assert (steps >= 0).all() or (steps <= 0).all()


def test_a_program_without_inputs_is_called_once():
    module = compiler.parse("ENTRY main { ROOT c = f32[2] constant({1, 2}) }")
    assert several(module, np.random.default_rng(0), 5) == {}
    assert make_inputs(module, np.random.default_rng(0)) == []


@pytest.mark.parametrize("profile", PROFILES)
def test_drawn_programs_meet_several_kinds_and_all_of_them_soon(profile):
    cases = [draw_case(PROFILES[profile], 3, number) for number in range(30)]
    assert set(KINDS) - {"tame"} == {kind for case in cases for kind in case.others}
    for case in cases:
        shapes = [(array.shape, array.dtype) for array in case.inputs]
        assert all(shapes == [(a.shape, a.dtype) for a in case.given(kind)] for kind, _ in case.calls)
        count = 8 if case.note == "small programs side by side" else 5
        assert len(case.others) == (count if case.inputs else 0)


@pytest.mark.parametrize("name", ["c64", "c128"])
def test_imaginary_parts_are_of_a_kind_as_real_ones_are(name):
    module = compiler.parse(f"ENTRY e {{ x = {name}[40] parameter(0) ROOT y = {name}[40] negate(x) }}")
    limits = finfo(real_dtype(DTYPES[name]))

    def shows(kind, is_so):
        drawn = [make_inputs(module, np.random.default_rng(seed), kind)[0] for seed in range(20)]
        return any(is_so(array.imag).any() and is_so(array.real).any() for array in drawn)

    assert shows("special", np.isinf)
    assert shows("special", np.isnan)
    assert shows("zeros", lambda part: np.signbit(part) & (part == 0))
    assert shows("denormal", lambda part: (part != 0) & (np.abs(part) < limits.tiny))
    assert shows("extreme", lambda part: np.abs(part) > limits.max / 100)
    assert shows("uneven", lambda part: np.abs(part) > 1e6)
