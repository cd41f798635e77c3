"""Which devices take part together follows from channels and numbers; groups that fit no device are refused."""

from __future__ import annotations

import numpy as np
import pytest
from device_runs import ADD, X, rows, run

import compiler
from compiler.device_rules import Grid
from compiler.devices.groups import groups
from compiler.diagnostics import UnsupportedError

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
