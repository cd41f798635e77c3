"""Limits are those of all computations and arrays of a program, and of whatever a campaign draws."""

import pytest

import compiler
from compiler.generate import Space
from xlabench.fuzzing.limits import UNLIMITED, Limits

LOOP = compiler.parse("""most { s = (s32[], f32[8]) parameter(0)  ROOT c = pred[] constant(false) }
next { ROOT s = (s32[], f32[8]) parameter(0) }
ENTRY e { s = (s32[], f32[8]) parameter(0)  ROOT w = (s32[], f32[8]) while(s), condition=most, body=next }""")
INSTRUCTIONS, ELEMENTS = 5, 8
OPCODES, TYPES = frozenset({"add"}), frozenset({"f32"})


@pytest.mark.parametrize(
    ("limits", "holds"),
    [
        (UNLIMITED, True),
        (Limits(INSTRUCTIONS, ELEMENTS), True),
        (Limits(INSTRUCTIONS - 1), False),
        (Limits(elements=ELEMENTS - 1), False),
    ],
    ids=str,
)
def test_what_is_called_counts_and_so_do_the_elements_of_tuples(limits, holds):
    assert limits.hold(LOOP) == holds


def test_only_limits_that_somebody_gave_are_any():
    assert [bool(limits) for limits in (UNLIMITED, Limits(1), Limits(elements=1))] == [False, True, True]


@pytest.mark.parametrize("instructions", [1, 2, 10])
def test_spaces_leave_room_for_operands(instructions):
    drawn = Limits(instructions, 64).space(Space(OPCODES, TYPES, most_instructions=100, most_elements=4096))
    assert drawn.most_elements == 64
    assert 1 <= drawn.most_instructions <= max(1, instructions // 2)


def test_a_space_that_is_smaller_stays_so():
    space = Space(OPCODES, TYPES, most_instructions=3, most_elements=7)
    assert Limits(100, 100).space(space) == space
    assert UNLIMITED.space(space) == space
