"""Every collective against what it says in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from device_runs import X, firsts, rows, run

import compiler
from compiler.diagnostics import UnsupportedError
from compiler.ir.combiner import COMBINERS, ufunc_of
from compiler.ir.types import TYPES


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


@pytest.mark.parametrize("groups", ["{{0},{1}}", "{{0,1}}"])
@pytest.mark.parametrize("kind", ["c64", "c128", "f32", "bf16", "s8", "pred"])
@pytest.mark.parametrize("opcode", sorted(COMBINERS))
def test_nothing_is_combined_but_what_devices_have(opcode: str, kind: str, groups: str) -> None:
    is_float = TYPES[kind].is_float or TYPES[kind].is_complex
    if ufunc_of(opcode, TYPES[kind]) is None or (is_float and opcode in ("and", "or", "xor")):
        pytest.skip("no such combiner")
    special = [np.inf, -0.0, np.nan, 2, complex(np.inf, 1), complex(0, -np.inf)]
    numbers = special if TYPES[kind].is_complex else special[:4] if is_float else [0, 1, 1, 0]
    x, y = (np.array(values).astype(TYPES[kind].dtype) for values in (numbers, numbers[::-1]))
    line = f"c {{ a = {kind}[] parameter(0) b = {kind}[] parameter(1) ROOT r = {kind}[] {opcode}(a, b) }}"
    shape = f"{kind}[{x.size}]"
    program = f"""HloModule m, replica_count=2
      {line} ENTRY e {{ x = {shape} parameter(0)
        ROOT r = {shape} all-reduce(x), replica_groups={groups}, to_apply=c }}"""
    pair = f"x = {shape} parameter(0) y = {shape} parameter(1)"
    (alone,) = compiler.interpret(compiler.parse(f"ENTRY e {{ {pair} ROOT r = {shape} {opcode}(x, y) }}"), x, y)
    first, second = compiler.interpret(compiler.parse(program), x, y)
    wanted = (x, y) if groups == "{{0},{1}}" else (alone, alone)
    assert [first.tobytes(), second.tobytes()] == [one.tobytes() for one in wanted]
