"""Dumps of runs: snapshots of what a program was given and what it gave, read by a reader of protocol buffers."""

import json
import struct

import numpy as np
import proto_reader
import pytest

import compiler
from compiler.backends import BACKENDS
from compiler.options import CompileOptions

TUPLES = """HloModule both
ENTRY main { p = (f32[2], s32[]) parameter(0) a = f32[2] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=1 b = f32[2] negate(a) ROOT t = (f32[2], s32[]) tuple(b, n) }
"""
SUM = """HloModule sum, replica_count=2
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY main { x = f32[1] parameter(0) ROOT y = f32[1] all-reduce(x), to_apply=add, replica_groups={} }
"""
BOUNDED = "ENTRY main { x = f32[<=4] parameter(0) ROOT y = f32[<=4] negate(x) }"


def dumped(folder, backend, text, **asked):
    options = CompileOptions(device="sim", dump_to=str(folder), **asked)
    return compiler.compile(text, backend, options)


def floats(literal):
    packed = proto_reader.one(literal, 8, default=b"")
    return list(struct.unpack(f"<{len(packed) // 4}f", packed))


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_run_is_kept_with_what_it_was_given_and_what_it_gave(tmp_path, backend):
    executable = dumped(tmp_path, backend, TUPLES, dump_snapshots=True)
    for run in range(2):
        results = executable(np.array([1, 2 + run], np.float32), np.int32(7))
        assert results[0].tolist() == [-1, -2 - run]
        snapshot = (tmp_path / f"module_0001.both.snapshot.{run}.pb").read_bytes()
        assert proto_reader.one(snapshot, 1, 1, 1) == b"both"
        (argument,) = proto_reader.every(snapshot, 2)
        assert floats(proto_reader.every(argument, 10)[0]) == [1, 2 + run]
        assert proto_reader.numbers(proto_reader.one(proto_reader.every(argument, 10)[1], 4)) == [7]
        first, second = proto_reader.every(snapshot, 3, 10)
        assert floats(first) == [-1, -2 - run]
        assert proto_reader.numbers(proto_reader.one(second, 4)) == [7]
        assert proto_reader.one(snapshot, 4) == backend.encode()
    (row,) = json.loads((tmp_path / "index.json").read_text())
    listed = {file["file"] for file in row["files"]}
    assert listed == {path.name for path in tmp_path.iterdir()} - {"index.json"}


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_each_device_is_given_is_kept_before_the_run(tmp_path, backend):
    executable = dumped(tmp_path, backend, SUM, dump_unoptimized_snapshots=True)
    results = executable(np.array([1], np.float32), np.array([2], np.float32))
    assert [r.tolist() for r in results] == [[3], [3]]
    snapshot = (tmp_path / "module_0001.sum.execution_0000.hlo_unoptimized_snapshot.pb").read_bytes()
    assert proto_reader.one(snapshot, 1, 1) == b"sum"
    assert [floats(proto_reader.one(p, 1)) for p in proto_reader.every(snapshot, 2)] == [[1], [2]]
    assert b"all-reduce" in snapshot


@pytest.mark.parametrize("backend", BACKENDS)
def test_of_sizes_known_at_run_time_the_true_ones_are_kept_and_what_the_code_was_given(tmp_path, backend):
    executable = dumped(tmp_path, backend, BOUNDED, dump_snapshots=True, dump_unoptimized_snapshots=True)
    assert executable(np.array([1, 2], np.float32))[0].tolist() == [-1, -2]
    (given,) = tmp_path.glob("*.hlo_unoptimized_snapshot.pb")
    assert floats(proto_reader.one(given.read_bytes(), 2, 1)) == [1, 2]
    (snapshot,) = tmp_path.glob("*.snapshot.0.pb")
    array, size = proto_reader.every(snapshot.read_bytes(), 2)
    assert floats(array) == [1, 2, 0, 0]
    assert proto_reader.numbers(proto_reader.one(size, 4)) == [2]


@pytest.mark.parametrize("inputs", [(), (np.zeros(3, np.float32), np.int32(1)), (np.zeros(2), np.int32(1))])
def test_inputs_that_do_not_fit_are_an_error_and_leave_no_snapshot(tmp_path, inputs):
    executable = dumped(tmp_path, "cpu", TUPLES, dump_snapshots=True, dump_unoptimized_snapshots=True)
    with pytest.raises(compiler.InputError):
        executable(*inputs)
    assert not list(tmp_path.glob("*snapshot*"))


def test_a_program_that_has_no_fields_is_refused_by_name(tmp_path):
    text = "HloModule m, alias_passthrough_params=true\nENTRY e { ROOT x = f32[] parameter(0) }"
    with pytest.raises(compiler.UnsupportedError, match="alias_passthrough_params has no field"):
        dumped(tmp_path, "cpu", text, dump_as=("proto",))
