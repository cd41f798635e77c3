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


# -- what chunks touch ------------------------------------------------------------------------------------------

READ, WRITE, SILENT = range(3)
FRAME = 0
"""An end of the phase's frame below which nothing lies."""


def tell(name: str, *numbers: int) -> None:
    """Call what yields nothing."""
    ctypes.CFUNCTYPE(None, *[WORD] * len(numbers))(bounds.imports()[f"bounds.{name}"])(*numbers)


def touch(address: int, size: int, how: int, step: int = 4) -> None:
    """Touch elements one behind the other, in either way in which programs say so."""
    site = ctypes.cast(SITE, ctypes.c_void_p).value
    if how == SILENT:
        tell("touch_lanes", address, (1 << size // step) - 1, step, 1, 0, site)
    else:
        tell("touch", address, size, step, how, site)


def phase(chunks: int, *touched: tuple[int, int, int, int]) -> None:
    """A phase whose chunks, from the last one on, touch what stands behind their numbers."""
    for chunk in reversed(range(chunks)):
        tell("begin", chunk, chunks, FRAME)
        for who, address, size, how in touched:
            if who == chunk:
                touch(address, size, how)
        tell("end")


@pytest.mark.parametrize(
    ("later", "earlier", "message"),
    [
        (WRITE, WRITE, "chunk 1 writes what chunk 2 of the same phase has written"),
        (READ, WRITE, "chunk 1 reads what chunk 2 of the same phase has written"),
        (WRITE, READ, "chunk 1 writes what chunk 2 of the same phase has read"),
        (READ, SILENT, "chunk 1 reads what chunk 2 of the same phase has written"),
        (READ, READ, None),
        (SILENT, READ, None),
        (SILENT, WRITE, None),
    ],
)
def test_two_chunks_meet_where_one_changes_what_the_other_touches(later, earlier, message):
    for at, size in ((LOW, 4), (LOW + 12, 4), (LOW - 8, 64)):
        touched = ((2, LOW, 16, earlier), (1, at, size, later))
        with bounds.watched():
            phase(1, *touched)
            phase(4, (2, LOW, 16, earlier))
            phase(4, (1, at, size, later))
            phase(4, (1, LOW, 16, earlier), (1, at, size, later), (2, LOW + 64, 16, WRITE))
        if message is None:
            with bounds.watched():
                phase(4, *touched)
            continue
        with pytest.raises(bounds.ChunkRace, match=f"somewhere: {message}$"), bounds.watched():
            phase(4, *touched)


def test_what_several_have_read_none_may_write():
    told = "chunk 0 writes what several chunks of the same phase have read"
    with pytest.raises(bounds.ChunkRace, match=told), bounds.watched():
        phase(3, (2, LOW, 4, READ), (1, LOW, 4, READ), (0, LOW, 4, WRITE))


@pytest.mark.parametrize("distance", [1 << 22, 1 << 30, 1 << 40])
def test_no_address_is_taken_for_another(distance):
    with bounds.watched():
        phase(2, (1, LOW, 64, WRITE), (0, LOW + distance, 64, WRITE))


def test_lanes_that_are_masked_off_are_not_touched():
    site = ctypes.cast(SITE, ctypes.c_void_p).value
    with bounds.watched():
        tell("begin", 1, 2, FRAME)
        tell("touch_lanes", LOW, 0b0101, 4, 1, 0b0101, site)
        tell("begin", 0, 2, FRAME)
        tell("touch_lanes", LOW, 0b1010, 4, 1, 0b1010, site)
        tell("touch_lanes", LOW, 0b0010, 4, 0, 0, site)
        tell("end")
