"""A snapshot holds a module with the values of a run: read back, they are the same."""

import numpy as np
import pytest

import compiler
from compiler.proto.snapshot import hlo_snapshot, unoptimized_snapshot

PAIR = """ENTRY e { x = (f32[2], s32[]) parameter(0)  t = token[] after-all()
  a = f32[2] get-tuple-element(x), index=0  ROOT r = (f32[2], token[]) tuple(a, t) }"""
A, N = np.array([1.5, -2], np.float32), np.int32(7)


def test_arguments_and_results_are_the_leaves_in_order():
    data = hlo_snapshot(compiler.parse(PAIR), [A, N], [A], "cpu")
    assert data == hlo_snapshot(compiler.parse(PAIR), [A, N], [A], "cpu")
    assert A.tobytes() in data
    assert b"cpu" in data


@pytest.mark.parametrize("devices", [1, 3])
def test_every_device_has_arguments_of_its_own(devices):
    values = [np.full(2, number, np.float32) for number in range(devices)]
    data = unoptimized_snapshot(compiler.parse("ENTRY e { ROOT x = f32[2] parameter(0) }"), values, devices)
    assert all(value.tobytes() in data for value in values)


def test_a_value_is_written_in_the_type_that_is_taken():
    module = compiler.parse("ENTRY e { ROOT x = f32[2] parameter(0) }")
    assert A.tobytes() in hlo_snapshot(module, [A.astype(np.float64)], [A], "cpu")


def test_of_a_size_known_at_run_time_the_size_is_that_of_the_value():
    module = compiler.parse("ENTRY e { ROOT x = f32[<=4] parameter(0) }")
    short, long = (hlo_snapshot(module, [np.ones(n, np.float32)], [np.ones(n, np.float32)], "") for n in (1, 4))
    assert len(short) < len(long)
