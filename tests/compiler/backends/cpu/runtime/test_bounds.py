"""The checks that programs call: what is out of bounds, or not aligned, is noted and does not happen."""

from __future__ import annotations

import ctypes

import pytest

from compiler.backends.cpu.runtime import bounds

SITE = ctypes.c_char_p(b"somewhere")
LOW, HIGH = 0x1000, 0x1040
WORD = ctypes.c_uint64


def call(name: str, *numbers: int) -> int:
    """A check on 64-bit numbers, of which addresses are some; the site is added."""
    check = ctypes.CFUNCTYPE(WORD, *[WORD] * len(numbers), ctypes.c_char_p)(bounds.imports()[f"bounds.{name}"])
    return check(*numbers, SITE)


@pytest.mark.parametrize(("address", "size"), [(LOW, 4), (LOW + 4, 60), (HIGH - 4, 4), (LOW, 64)])
def test_what_lies_within_is_let_through(address, size):
    with bounds.watched():
        assert call("check", address, size, 4, LOW, HIGH) == address


@pytest.mark.parametrize(
    ("address", "size", "message"),
    [
        (LOW - 4, 4, "somewhere: 4 bytes at byte -4 of 64$"),
        (LOW - 1, 4, "at byte -1 of 64$"),
        (HIGH - 3, 4, "4 bytes at byte 61 of 64$"),
        (HIGH, 1, "1 bytes at byte 64 of 64$"),
        (LOW, 65, "65 bytes at byte 0 of 64$"),
        (LOW + 2, 4, "at byte 2 of 64, which is not aligned so$"),
        (0, 4, "at byte -4096 of 64$"),
    ],
)
def test_what_does_not_is_led_elsewhere_and_told_of(address, size, message):
    with pytest.raises(bounds.OutOfBounds, match=message), bounds.watched():
        assert call("check", address, size, 4, LOW, HIGH) not in (address, 0)


def test_only_the_first_access_is_told_of_and_nothing_of_an_earlier_call():
    with pytest.raises(bounds.OutOfBounds, match="at byte 64 "), bounds.watched():
        assert [call("check", address, 4, 4, LOW, HIGH) == address for address in (LOW, HIGH, HIGH + 8)] == [1, 0, 0]
    with bounds.watched():
        call("check", LOW, 4, 4, LOW, HIGH)


@pytest.mark.parametrize(
    ("address", "size", "kept"), [(LOW, 64, 64), (HIGH, 0, 0), (0, 0, 0), (LOW + 1, 64, None), (LOW - 1, 2, None)]
)
def test_a_copy_copies_all_or_nothing(address, size, kept):
    if kept is None:
        with pytest.raises(bounds.OutOfBounds), bounds.watched():
            assert call("check_length", address, size, LOW, HIGH) == 0
        return
    with bounds.watched():
        assert call("check_length", address, size, LOW, HIGH) == kept


@pytest.mark.parametrize(
    ("address", "lanes", "kept"),
    [
        (LOW, 0b1111, 0b1111),
        (HIGH - 8, 0b0011, 0b0011),
        (HIGH - 8, 0b0111, 0b0011),
        (LOW - 4, 0b1110, 0b1110),
        (LOW - 4, 0b1111, 0b1110),
        (HIGH, 0, 0),
        (LOW, 1 << 63 | 1, 1),
    ],
)
def test_lanes_that_are_masked_on_must_lie_within(address, lanes, kept):
    if kept == lanes:
        with bounds.watched():
            assert call("check_lanes", address, lanes, 4, 4, LOW, HIGH) == lanes
        return
    with pytest.raises(bounds.OutOfBounds), bounds.watched():
        assert call("check_lanes", address, lanes, 4, 4, LOW, HIGH) == kept
