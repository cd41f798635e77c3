"""Whether a program answers the same question alike: in a second call, beside others, and on arrays that lie otherwise.

It has to, to the bit, but for what a routine of LAPACK leaves open (`xlabench.judging.left_open`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from xlabench.judging.left_open import left_open
from xlabench.judging.tolerance import Array
from xlabench.timing.stats import share_interval

Call = Callable[[], Sequence[Array]]

_MORE_CALLS = 20
_CALLS_AT_ONCE = 3
"""How often each of several threads calls: of the first calls a busy machine may begin one when the other is done."""


def same_bytes(results: Sequence[Array], again: Sequence[Array], but: frozenset[int] = frozenset()) -> bool:
    """Whether a call gave what another did, to the bit.

    Args:
        results: of the one.
        again: of the other.
        but: numbers of results that are left out.
    """
    pairs = enumerate(zip(results, map(np.asarray, again), strict=True))
    return all(n in but or (one.shape == two.shape and one.tobytes() == two.tobytes()) for n, (one, two) in pairs)


def differing(first: Sequence[Array], again: Callable[[], Sequence[Array]], but: frozenset[int] = frozenset()) -> int:
    """How many of some more calls give other results than the first did.

    Args:
        first: results of the first call.
        again: calls it once more.
        but: numbers of results that are left out.
    """
    return sum(not same_bytes(first, again(), but) for _ in range(_MORE_CALLS))


def flakiness(calls: int) -> str:
    """How often a call gives other results than the first did, in words, with the interval of the rate."""
    low, high = share_interval(calls, _MORE_CALLS)
    return f"{calls} of {_MORE_CALLS} more calls gave other results, a rate of {low:.0%} to {high:.0%}"


def unsteadiness(module: Any, first: Sequence[Array], again: Callable[[], Sequence[Array]]) -> str:
    """What it says of an engine that a second call gave other results than the first; "" where it may do so.

    Args:
        module: the program.
        first: results of the first call.
        again: calls it once more.
    """
    calls = differing(first, again, but := left_open(module))
    return flakiness(calls) if calls or not but else ""


def differs_at_once(calls: Sequence[Call], alone: Sequence[Sequence[Array]], but: frozenset[int] = frozenset()) -> bool:
    """Whether calls that threads make at the same time give other results than they did alone; raises what they raise.

    Args:
        calls: those that are made, each by a thread of its own.
        alone: their results.
        but: numbers of results that are left out.
    """
    begin = threading.Barrier(len(calls))

    def differs(call: Call, results: Sequence[Array]) -> bool:
        begin.wait()
        return not all(same_bytes(results, call(), but) for _ in range(_CALLS_AT_ONCE))

    with ThreadPoolExecutor(len(calls)) as threads:
        return any(list(threads.map(differs, calls, alone)))


def by_layout(layout: str, module: Any, results: Sequence[Array], aligned: Sequence[Array]) -> str:
    """What it says of an engine that it gives other results where its arrays lie in a layout; "" where it does not.

    Args:
        layout: a name of `xlabench.cases.layouts`.
        module: the program.
        results: of a call on arrays that lie so.
        aligned: of one on the same numbers in arrays that are taken as they are.
    """
    is_same = same_bytes(results, aligned) or same_bytes(results, aligned, left_open(module))
    return "" if is_same else f"answers otherwise where its arrays are {layout}"
