"""Ranges of which every run of the tests takes a part, spread over them, and `tox -e sweep` the rest."""

from collections.abc import Iterable
from typing import Any

import pytest


def every(step: int, values: Iterable[Any], *, first: int = 0) -> list[Any]:
    """Parameters of which one in so many is for every run, from the first on that is named; a tuple is for several."""
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    return [
        pytest.param(*row, marks=[] if number % step == first else pytest.mark.sweep) for number, row in enumerate(rows)
    ]
