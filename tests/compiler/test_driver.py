"""What compiling costs grows in proportion to the program: counted in calls of functions, which no machine changes."""

import sys

import pytest
from growing_programs import KINDS

import compiler
from compiler import CompileOptions

SMALL, TIMES, ALLOWED = 200, 4, 1.2


def calls_of(text):
    """How many calls of Python functions a compilation makes in its own thread."""
    made = 0

    def count(_, event, __):
        nonlocal made
        made += event == "call"

    sys.setprofile(count)
    try:
        compiler.compile(text, options=CompileOptions(opt=0))
    finally:
        sys.setprofile(None)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_four_times_the_instructions_take_four_times_the_calls(kind):
    calls_of(KINDS[kind](SMALL))
    small, large = (calls_of(KINDS[kind](SMALL * times)) for times in (1, TIMES))
    assert large <= TIMES * ALLOWED * small
