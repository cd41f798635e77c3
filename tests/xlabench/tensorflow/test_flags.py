"""Flags are read as absl reads them."""

import pytest

from xlabench.tensorflow.flags import Error, FlagValues, IllegalFlagValueError, UnrecognizedFlagError, read_boolean


@pytest.fixture
def flags():
    made = FlagValues()
    made.define("rate", 0.5, float)
    made.define("fast", default=False, read=read_boolean)
    made.define("name", "n", str)
    return made


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ([], (0.5, False, "n")),
        (["--rate=2", "-name", "x"], (2.0, False, "x")),
        (["--fast"], (0.5, True, "n")),
        (["--nofast"], (0.5, False, "n")),
        (["--fast=TRUE"], (0.5, True, "n")),
        (["--name=a=b"], (0.5, False, "a=b")),
        (["--name="], (0.5, False, "")),
    ],
)
def test_a_command_line_gives_flags_their_values(flags, words, values):
    assert flags(["program", *words]) == ["program"]
    assert (flags.rate, flags.fast, flags.name) == values


def test_what_is_no_flag_is_left(flags):
    assert flags(["program", "a", "-", "--fast", "--", "--rate=1"]) == ["program", "a", "-", "--rate=1"]
    assert flags.rate == 0.5


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (["--gone=1"], UnrecognizedFlagError, "Unknown command line flag 'gone'"),
        (["--rate=fast"], IllegalFlagValueError, "flag --rate=fast"),
        (["--fast=maybe"], IllegalFlagValueError, "Non-boolean argument"),
        (["--rate"], Error, "Missing value for flag --rate"),
    ],
)
def test_what_cannot_be_read_is_said(flags, words, error, message):
    with pytest.raises(error, match=message):
        flags(["program", *words])


def test_flags_of_others_may_be_left_alone(flags):
    assert flags(["program", "--gone=1"], known_only=True) == ["program", "--gone=1"]


def test_a_flag_that_nobody_defines_is_not_there(flags):
    assert not hasattr(flags, "gone")
