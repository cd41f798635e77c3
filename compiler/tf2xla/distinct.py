"""Which slices of an array are the same: what `Unique` computes, where a program is made and where a host runs it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def first_seen(x: Array, axis: int) -> tuple[Array, Array]:
    """Where each of different slices is first, in that order, and for each slice which of them it is."""
    _, first, number = np.unique(x, return_index=True, return_inverse=True, axis=axis, equal_nan=False)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return first[order], rank[number.reshape(-1)]
