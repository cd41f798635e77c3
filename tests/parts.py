"""Ranges of which every run of the tests takes a part, spread over them, and `tox -e sweep` the rest.

Of a slow test with many cases it is every third by itself; `every` says so where another part will do, or the cases are
not slow one by one.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pytest


def every(step: int, values: Iterable[Any], *, first: int = 0) -> list[Any]:
    """Parameters of which one in so many is for every run, from the first on that is named; a tuple is for several."""
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    return [
        pytest.param(*row, marks=[] if number % step == first else pytest.mark.sweep) for number, row in enumerate(rows)
    ]


def leave_to_sweep(items: Iterable[pytest.Item]) -> None:
    """Mark two of three cases of every slow test that has many, and of which no part has been taken."""
    slow = [item for item in items if item.get_closest_marker("slow") and not item.get_closest_marker("sweep")]
    cases: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in slow:
        cases[item.nodeid.partition("[")[0]].append(item)
    for many in cases.values():
        for number, item in enumerate(many if len(many) >= _MANY else ()):
            if number % _STEP:
                item.add_marker(pytest.mark.sweep)


_MANY, _STEP = 6, 3
