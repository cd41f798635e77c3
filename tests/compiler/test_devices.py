"""Programs for many devices: every collective against what it says in NumPy, in every mode of its groups."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

import compiler
from compiler import Host
from compiler.device_rules import Grid
from compiler.devices.groups import groups
from compiler.diagnostics import InputError, UnsupportedError

ADD = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }"


def run(
    lines: str,
    inputs: list[list[Any]],
    *,
    replicas: int = 1,
    partitions: int = 1,
    computations: str = ADD,
    hosts: list[Host] | None = None,
) -> list[list[Any]]:
    header = f"HloModule m, replica_count={replicas}, num_partitions={partitions}"
    module = compiler.parse(f"{header}\n{computations}\nENTRY e {{\n{lines}\n}}")
    compiler.verify(module)
    results = compiler.interpret_devices(module, inputs, hosts=hosts)
    if hosts is None:
        compiled = compiler.compile(module)(*(value for given in inputs for value in given))
        assert [r.tobytes() for r in compiled] == [r.tobytes() for given in results for r in given]
    return results


def rows(count: int, length: int = 4) -> list[list[Any]]:
    """One array for each device, none equal to another."""
    return [[np.arange(length, dtype=np.float32) + 10 * (device + 1)] for device in range(count)]


def firsts(results: list[list[Any]]) -> list[list[float]]:
    return [result[0].tolist() for result in results]


X = "x = f32[4] parameter(0)\n"
MODES = [
    ("", [(0, 2), (1, 3)]),
    ("replica_groups={{0},{1}}", [(0,), (1,), (2,), (3,)]),
    ("channel_id=1", [(0, 1, 2, 3)]),
    ("channel_id=1, replica_groups={{0},{1}}", [(0, 1), (2, 3)]),
    ("channel_id=1, replica_groups={{1,0}}", [(2, 3, 0, 1)]),
    ("channel_id=1, use_global_device_ids=true, replica_groups={{0,3},{1,2}}", [(0, 3), (1, 2)]),
    ("channel_id=1, use_global_device_ids=true, replica_groups=[2,2]<=[2,2]T(1,0)", [(0, 2), (1, 3)]),
]


@pytest.mark.parametrize(("attributes", "expected"), MODES)
def test_all_reduce_sums_over_its_groups_in_every_mode(attributes: str, expected: list[tuple[int, ...]]) -> None:
    inputs = rows(4)
    comma = ", " if attributes else ""
    line = f"ROOT r = f32[4] all-reduce(x), to_apply=add{comma}{attributes}"
    results = run(X + line, inputs, replicas=2, partitions=2)
    for group in expected:
        total = sum(inputs[device][0] for device in group)
        assert all(np.array_equal(results[device][0], total) for device in group)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("", [(0, 2), (1, 3)]),
        ("channel_id=1", [(0, 1), (2, 3)]),
        ("channel_id=1, replica_groups={{1,0}}", [(1, 0), (3, 2)]),
    ],
)
def test_a_channel_makes_other_collectives_cross_partitions(attributes: str, expected: list[tuple[int, ...]]) -> None:
    comma = ", " if attributes else ""
    text = f"HloModule m\nENTRY e {{ {X} ROOT r = f32[4] all-to-all(x), dimensions={{0}}{comma}{attributes} }}"
    instruction = compiler.parse(text).entry.root
    assert groups(instruction, Grid(2, 2)) == expected


def test_all_gather_concatenates_in_the_order_of_the_group() -> None:
    line = "ROOT r = f32[8] all-gather(x), dimensions={0}, replica_groups={{1,0}}"
    inputs = rows(2)
    wanted = np.concatenate([inputs[1][0], inputs[0][0]]).tolist()
    assert firsts(run(X + line, inputs, replicas=2)) == [wanted, wanted]


def test_reduce_scatter_leaves_each_device_its_part_of_the_sum() -> None:
    inputs = rows(2)
    total = inputs[0][0] + inputs[1][0]
    line = "ROOT r = f32[2] reduce-scatter(x), dimensions={0}, to_apply=add"
    assert firsts(run(X + line, inputs, replicas=2)) == [total[:2].tolist(), total[2:].tolist()]


def test_all_to_all_of_an_array_transposes_parts_and_devices() -> None:
    inputs = rows(2)
    stack = np.stack([given[0].reshape(2, 2) for given in inputs])
    wanted = stack.transpose(1, 0, 2).reshape(2, 4).tolist()
    assert firsts(run(X + "ROOT r = f32[4] all-to-all(x), dimensions={0}", inputs, replicas=2)) == wanted


def test_all_to_all_of_a_tuple_sends_each_operand_to_its_device() -> None:
    inputs = [[np.float32(10 * d), np.float32(10 * d + 1)] for d in range(2)]
    lines = "x = f32[] parameter(0)\ny = f32[] parameter(1)\nROOT r = (f32[], f32[]) all-to-all(x, y)"
    results = run(lines, inputs, replicas=2)
    assert [[float(v) for v in result] for result in results] == [[0, 10], [1, 11]]


def test_collective_permute_sends_along_pairs_and_leaves_zeros() -> None:
    inputs = rows(3)
    line = "ROOT r = f32[4] collective-permute(x), source_target_pairs={{0,1},{1,2}}"
    results = run(X + line, inputs, replicas=3)
    assert firsts(results) == [[0.0] * 4, inputs[0][0].tolist(), inputs[1][0].tolist()]


def test_collective_broadcast_sends_what_the_first_of_a_group_has() -> None:
    inputs = rows(3)
    line = "ROOT r = f32[4] collective-broadcast(x), replica_groups={{1,0}}"
    results = run(X + line, inputs, replicas=3)
    assert firsts(results) == [inputs[1][0].tolist(), inputs[1][0].tolist(), [0.0] * 4]


RAGGED = "\n".join(
    [
        "x = f32[4] parameter(0)",
        "out = f32[4] parameter(1)",
        *(f"p{k} = s64[2] parameter({k})" for k in range(2, 6)),
        "ROOT r = f32[4] ragged-all-to-all(x, out, p2, p3, p4, p5), replica_groups={{0,1}}",
    ]
)


def ragged(device: int, *numbers: list[int]) -> list[Any]:
    given = [np.arange(4, dtype=np.float32) + 10 * device, np.full(4, -1, np.float32)]
    return [*given, *(np.array(n, np.int64) for n in numbers)]


@pytest.mark.slow
def test_ragged_all_to_all_sends_rows_to_offsets_of_the_receiver() -> None:
    # Offsets in the sender, sizes, offsets in the receiver, sizes received.
    inputs = [ragged(0, [0, 1], [1, 3], [0, 0], [1, 2]), ragged(1, [0, 2], [2, 1], [1, 3], [3, 1])]
    assert firsts(run(RAGGED, inputs, replicas=2)) == [[0, 10, 11, -1], [1, 2, 3, 12]]


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (([3, 0], [2, 0], [0, 0], [0, 0]), "rows 3 to 5 of 4 go to rows 0 to 2 of 4"),
        (([0, 0], [0, 2], [0, 3], [0, 0]), "rows 0 to 2 of 4 go to rows 3 to 5 of 4"),
        (([-1, 0], [1, 0], [0, 0], [0, 0]), "rows -1 to 0 of 4"),
    ],
)
def test_rows_that_are_in_no_array_are_refused(numbers: tuple[list[int], ...], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        run(RAGGED, [ragged(device, *numbers) for device in (0, 1)], replicas=2)
    alone = RAGGED.replace("{{0,1}}", "{{0}}")
    with pytest.raises(UnsupportedError, match=message):
        run(alone, [ragged(0, *numbers)])
    with pytest.raises(UnsupportedError, match="3, 2 and 2 offsets and sizes for 1 devices"):
        run(alone.replace("p2 = s64[2]", "p2 = s64[3]"), [ragged(0, [0, 0, 0], *numbers[1:])])


@pytest.mark.slow
def test_every_device_knows_its_replica_and_its_partition() -> None:
    lines = "r = u32[] replica-id()\np = u32[] partition-id()\nROOT t = (u32[], u32[]) tuple(r, p)"
    results = run(lines, [[]] * 6, replicas=2, partitions=3)
    assert [[int(v) for v in result] for result in results] == [[r, p] for r in range(2) for p in range(3)]


STARTS = [
    (
        "s = f32[4] all-reduce-start(x), to_apply=add\nROOT r = f32[4] all-reduce-done(s)",
        "ROOT r = f32[4] all-reduce(x), to_apply=add",
    ),
    (
        "s = (f32[4], f32[8]) all-gather-start(x), dimensions={0}\nROOT r = f32[8] all-gather-done(s)",
        "ROOT r = f32[8] all-gather(x), dimensions={0}",
    ),
    (
        (
            "s = (f32[4], f32[4], u32[], u32[]) collective-permute-start(x), source_target_pairs={{0,1}}\n"
            "ROOT r = f32[4] collective-permute-done(s)"
        ),
        "ROOT r = f32[4] collective-permute(x), source_target_pairs={{0,1}}",
    ),
    (
        "s = ((f32[4]), f32[2], s32[]) async-start(x), calls=scatter\nROOT r = f32[2] async-done(s)",
        "ROOT r = f32[2] reduce-scatter(x), dimensions={0}, to_apply=add",
    ),
]


@pytest.mark.parametrize(("pair", "plain"), STARTS)
def test_a_collective_in_two_halves_is_the_collective(pair: str, plain: str) -> None:
    scatter = "scatter { x = f32[4] parameter(0) ROOT r = f32[2] reduce-scatter(x), dimensions={0}, to_apply=add }"
    computations = ADD + "\n" + scatter
    asynchronous = run(X + pair, rows(2), replicas=2, computations=computations)
    assert firsts(asynchronous) == firsts(run(X + plain, rows(2), replicas=2))


PAIRS = 'frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1}}"}'
SEND = f"""
k = token[] after-all()
v = (f32[4], u32[], token[]) recv(k), channel_id=1, {PAIRS}
s = (f32[4], u32[], token[]) send(x, k), channel_id=1, {PAIRS}
d = (f32[4], token[]) recv-done(v), channel_id=1
e = token[] send-done(s), channel_id=1
ROOT r = f32[4] get-tuple-element(d), index=0
"""


def test_what_one_device_sends_another_receives() -> None:
    inputs = rows(2)
    assert firsts(run(X + SEND, inputs, replicas=2)) == [[0.0] * 4, inputs[0][0].tolist()]


def test_infeed_and_outfeed_work_on_the_queues_of_the_caller() -> None:
    lines = """
    k = token[] after-all()
    i = (f32[2], token[]) infeed(k)
    v = f32[2] get-tuple-element(i), index=0
    t = token[] get-tuple-element(i), index=1
    n = f32[2] negate(v)
    o = token[] outfeed(n, t), outfeed_shape=f32[2]
    ROOT r = f32[2] add(v, v)
    """
    hosts = [Host(infeed=deque([[np.full(2, d, np.float32)]])) for d in range(2)]
    results = run(lines, [[], []], replicas=2, hosts=hosts)
    assert firsts(results) == [[0, 0], [2, 2]]
    assert [host.outfeed[0][0].tolist() for host in hosts] == [[0, 0], [-1, -1]]
    with pytest.raises(InputError, match="its queue is empty"):
        run(lines, [[], []], replicas=2)


INNER = "inner { v = f32[] parameter(0) ROOT s = f32[] all-reduce(v), to_apply=add }"
OUTER = "outer { v = f32[] parameter(0) ROOT r = f32[] call(v), to_apply=inner }"


@pytest.mark.parametrize("applied", ["inner", "outer"])
def test_an_exchange_in_what_is_applied_to_elements_is_refused_however_deep_it_lies(applied: str) -> None:
    lines = f"{X} ROOT m = f32[4] map(x), dimensions={{0}}, to_apply={applied}"
    module = f"HloModule m, replica_count=2\n{ADD}\n{INNER}\n{OUTER}\nENTRY e {{\n{lines}\n}}"
    with pytest.raises(UnsupportedError, match="exchanges data"):
        compiler.compile(compiler.parse(module))
    with pytest.raises(UnsupportedError, match="inner, which it applies to elements, exchanges data"):
        compiler.interpret_devices(compiler.parse(module), rows(2))


LOOP = """
cond { p = (f32[], s32[], s32[]) parameter(0) i = s32[] get-tuple-element(p), index=1
  n = s32[] get-tuple-element(p), index=2 ROOT c = pred[] compare(i, n), direction=LT }
body { p = (f32[], s32[], s32[]) parameter(0) v = f32[] get-tuple-element(p), index=0
  i = s32[] get-tuple-element(p), index=1 n = s32[] get-tuple-element(p), index=2
  s = f32[] all-reduce(v), to_apply=add one = s32[] constant(1) j = s32[] add(i, one)
  ROOT t = (f32[], s32[], s32[]) tuple(s, j, n) }"""
LOOPING = """
v = f32[] parameter(0)
n = s32[] parameter(1)
z = s32[] constant(0)
t = (f32[], s32[], s32[]) tuple(v, z, n)
w = (f32[], s32[], s32[]) while(t), condition=cond, body=body
ROOT r = f32[] get-tuple-element(w), index=0
"""


def test_collectives_work_in_loops_that_all_devices_run() -> None:
    inputs = [[np.float32(d + 1), np.int32(3)] for d in range(2)]
    assert firsts(run(LOOPING, inputs, replicas=2, computations=ADD + LOOP)) == [12.0, 12.0]


def test_a_collective_that_a_device_never_reaches_is_refused() -> None:
    inputs = [[np.float32(d + 1), np.int32(d)] for d in range(2)]
    with pytest.raises(UnsupportedError, match=r"devices \[0\] of its group \[0, 1\] do not reach it"):
        run(LOOPING, inputs, replicas=2, computations=ADD + LOOP)


def test_devices_may_take_different_branches() -> None:
    branches = (
        "f { a = f32[4] parameter(0) ROOT n = f32[4] negate(a) }\ng { a = f32[4] parameter(0) ROOT n = f32[4] abs(a) }"
    )
    lines = """
    x = f32[4] parameter(0)
    i = u32[] replica-id()
    z = u32[] constant(0)
    p = pred[] compare(i, z), direction=EQ
    ROOT r = f32[4] conditional(p, x, x), true_computation=f, false_computation=g
    """
    inputs = rows(2)
    results = run(lines, inputs, replicas=2, computations=branches)
    assert firsts(results) == [(-inputs[0][0]).tolist(), inputs[1][0].tolist()]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ROOT r = f32[4] all-reduce(x), to_apply=add, replica_groups={{0,7}}", "device number 7 is not below 2"),
        ("ROOT r = f32[4] all-reduce(x), to_apply=add, replica_groups={{0}}", r"devices \[1\] run it but are in none"),
        ("ROOT r = f32[4] all-reduce(x), to_apply=add, use_global_device_ids=true", "needs a channel_id"),
        ("ROOT r = f32[4] all-reduce(x), to_apply=add, replica_groups=[2,2]<=[16]", "do not hold the devices"),
        (
            "ROOT r = f32[8] all-gather(x), dimensions={0}, replica_groups={{0},{1}}",
            r"make \[4\] of what is to be f32\[8\]",
        ),
    ],
)
def test_groups_that_fit_no_device_are_refused(line: str, message: str) -> None:
    header = f"HloModule m, replica_count=2\n{ADD}\nENTRY e {{\n{X}{line}\n}}"
    with pytest.raises(UnsupportedError, match=message):
        compiler.interpret_devices(compiler.parse(header), rows(2))


_SLICES = """x = (f32[3], f32[3]) parameter(0)
    y = (f32[3], f32[3]) parameter(1)
    zero = s32[] constant(0) one = s32[] constant(1) two = s32[] constant(2)
    at = (s32[]) tuple(zero) past = (s32[]) tuple(one) last = (s32[]) tuple(two)
    from = ((s32[]), (s32[])) tuple(at, past)
    to = ((s32[]), (s32[])) tuple(past, at)
    far = ((s32[]), (s32[])) tuple(last, at)
    """


def _send(target: str) -> str:
    pairs = "source_target_pairs={{0,1}}, slice_sizes={{2},{1}}"
    return f"{_SLICES} ROOT r = (f32[3], f32[3]) collective-permute(x, y, from, {target}), {pairs}"


def _given() -> list[list[Any]]:
    return [
        [np.float32([1, 2, 3]) * 10**d, np.float32([4, 5, 6]) * 10**d, *np.zeros((2, 3), np.float32)] for d in (0, 1)
    ]


def test_of_several_arrays_each_sends_its_slice() -> None:
    module = compiler.parse(f"HloModule m, replica_count=2\nENTRY e {{\n{_send('to')}\n}}")
    results = compiler.interpret_devices(module, _given())
    assert [[r.tolist() for r in given] for given in results] == [[[0] * 3, [0] * 3], [[0, 1, 2], [5, 0, 0]]]


def test_slices_that_leave_their_array_are_refused() -> None:
    module = compiler.parse(f"HloModule m, replica_count=2\nENTRY e {{\n{_send('far')}\n}}")
    with pytest.raises(UnsupportedError, match=r"a slice of \[2\] from \[0\] to \[2\] is not inside of \[3\]"):
        compiler.interpret_devices(module, _given())


def test_more_devices_than_a_process_can_be_are_refused() -> None:
    module = compiler.parse(
        f"HloModule m, replica_count=9223372036854775807\nENTRY e {{\n{X}ROOT r = u32[] replica-id()\n}}"
    )
    with pytest.raises(UnsupportedError, match="at most 65536 are run in one process"):
        compiler.interpret(module, np.zeros(4, np.float32))


def test_inputs_are_asked_for_each_device() -> None:
    with pytest.raises(InputError, match=r"runs on 4 devices \(2 replicas of 2 partitions\), inputs of 1 given"):
        run(X + "ROOT r = f32[4] negate(x)", rows(1), replicas=2, partitions=2)
