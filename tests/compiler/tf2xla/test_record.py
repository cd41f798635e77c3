"""A record counts outputs as its signature says, and a table is records by name."""

import pytest

from compiler.tf2xla.record import Trait, record, table, with_shapes


def op(text):
    return record("It", text, lambda operation: None, "It.")


@pytest.mark.parametrize(
    ("text", "numbers", "count"),
    [
        ("x: T -> y: T", {}, 1),
        ("x: T ->", {}, 0),
        ("x: T -> y: N*T", {"N": 3}, 3),
        ("x: T -> y: N*T, z: T", {"N": 0}, 1),
        ("x: T -> y: N*T", {}, None),
    ],
)
def test_outputs_are_counted(text, numbers, count):
    assert op(text).outputs(numbers.get) == count


def test_a_rule_for_shapes_is_added_to_a_record_and_not_put_into_it():
    row = op("x: T -> y: T")
    ruled = with_shapes(row, lambda node: ())
    assert (row.shapes, ruled.name, ruled.traits) == (None, "It", Trait.NONE)
    assert ruled.shapes(None) == ()
    assert table(row, ruled) == {"It": ruled}
