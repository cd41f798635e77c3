"""Names given are those that a search from 1 gives, whatever was taken and released before."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.ir.names import Names

BASES = st.sampled_from(["a", "a.1", "a.2", "a.02", "a.b", "a.b.3", "b", ".1", "", "a.²", "a." + "9" * 5000])


def searched(base: str, taken: set[str]) -> str:
    """The name by its definition."""
    if base not in taken:
        return base
    stem, dot, suffix = base.rpartition(".")
    stem = stem if dot and suffix.isdigit() else base
    return next(name for number in count(1) if (name := f"{stem}.{number}") not in taken)


@pytest.mark.slow
@given(start=st.sets(BASES, max_size=4), steps=st.lists(st.one_of(BASES, st.integers(0, 9)), max_size=60))
def test_a_name_is_the_first_that_is_free(start: set[str], steps: list[str | int]) -> None:
    names, taken = Names(start), set(start)
    for step in steps:
        if isinstance(step, int):
            released = sorted(taken)[step : step + 2]
            names.release(released)
            taken.difference_update(released)
            continue
        expected = searched(step, taken)
        assert names.take(step) == expected
        taken.add(expected)
