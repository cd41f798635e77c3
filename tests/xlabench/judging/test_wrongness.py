"""Kinds of wrong results, each by an array that shows it."""

import numpy as np
import pytest

from xlabench.judging.wrongness import kind_of

X = np.linspace(1, 9, 24, dtype=np.float32).reshape(4, 6)
LARGE = X * np.float32(1e6)


def changed(array, change):
    result = array.copy()
    result[1, 2] = change(result[1, 2])
    return result


@pytest.mark.parametrize(
    ("expected", "actual", "kind"),
    [
        (X, X, ""),
        (np.full(2, np.nan), np.full(2, -np.nan), ""),
        (np.zeros(2), -np.zeros(2), "zero"),
        (X, changed(X, lambda _: np.nan), "special"),
        (X, changed(X, lambda _: np.inf), "special"),
        (X, X[::-1].copy(), "index"),
        (np.arange(9), np.roll(np.arange(9), 1), "index"),
        (X, np.nextafter(X, np.float32(0)), "rounding"),
        (X, changed(X, lambda x: x + np.float32(2e-4)), "reassociation"),
        (X, changed(X, lambda _: np.float32(3e30)), "garbage"),
        (X, changed(X, lambda x: x * 2), "value"),
        (np.arange(4), np.arange(4) + np.array([0, 0, 0, 50]), "value"),
        (X.astype(np.complex64), changed(X.astype(np.complex64), lambda x: x * 2j), "value"),
        (X, X[:2], ""),
    ],
)
def test_the_kind_is_told_by_the_arrays(expected, actual, kind):
    assert kind_of([X, expected], [X, actual]) == kind
