"""Excuses as patients: programs on which it is known what an engine with a liberty gives, and what none does.

Engines of our own take no liberties, so a campaign on them never comes to an excuse; one that holds too often hides
what engines with liberties do wrong, one that does not hold gives alarms.  What trials of the reference give is no
witness, since an excuse is made of them.  So each liberty has programs small enough to be worked out by hand, of a
size, a type and numbers that are drawn.  With what the liberty gives in some elements, it is the excuse of an engine
that takes it and of no other; with anything else beside that, there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import compiler
from xlabench.judging.bounds import Basis
from xlabench.judging.judge import Standard, judge
from xlabench.judging.liberties import LIBERTIES
from xlabench.judging.self_check import JudgeError
from xlabench.judging.tolerance import Array

Rng = np.random.Generator
_FEW, _MOST, _LARGEST = 2, 9, 64
"""Elements of a result, and the largest numbers."""
_WINDOW = 32
"""Elements of a dimension that XLA:CPU reduces at once, each time from the initial value."""
_DTYPES: Mapping[str, np.dtype[Any]] = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}


class Known(NamedTuple):
    """A program with its input, what the language makes of it and what an engine may.

    Attributes:
        text: the program.
        given: its input.
        free: its result by an engine with the liberty.
        wrong: a result that no engine gives, of the same type, and another in every element.
        basis: the bounds, None for the program's own.
    """

    text: str
    given: Array
    free: Callable[[Array], Array]
    wrong: Callable[[Array], Array]
    basis: Basis | None = None


def _drawn(rng: Rng) -> tuple[str, int]:
    """A type of floats, and how many elements a result has."""
    return str(rng.choice(list(_DTYPES))), int(rng.integers(_FEW, _MOST))


def _denormals(rng: Rng) -> Known:
    """The least number above 0 is 1 when it is rounded up, or a zero."""
    kind, size = _drawn(rng)
    least = np.asarray(np.nextafter(np.zeros((), _DTYPES[kind]), np.ones((), _DTYPES[kind])))
    given = least * rng.integers(1, _LARGEST, size).astype(least.dtype)
    text = f"ENTRY e {{ x = {kind}[{size}] parameter(0) ROOT y = {kind}[{size}] ceil(x) }}"
    return Known(text, given, lambda y: y * 0, lambda y: y * 2)


def _added_zeros(rng: Rng) -> Known:
    """One over -0 is another infinity than one over 0, which the sum of both is."""
    kind, size = _drawn(rng)
    text = f"""ENTRY e {{ x = {kind}[{size}] parameter(0) z = {kind}[] constant(0) o = {kind}[] constant(1)
      zs = {kind}[{size}] broadcast(z), dimensions={{}} os = {kind}[{size}] broadcast(o), dimensions={{}}
      s = {kind}[{size}] add(x, zs) ROOT r = {kind}[{size}] divide(os, s) }}"""
    return Known(text, np.full(size, -0.0, _DTYPES[kind]), np.negative, np.zeros_like)


def _initial_values(rng: Rng) -> Known:
    """What a sum begins with is added to no single element, and once more for each window of a long dimension."""
    kind, size = _drawn(rng)
    start, count = (
        int(rng.integers(1, _LARGEST)),
        int(rng.choice(np.array([1, rng.integers(_WINDOW + 1, _WINDOW * _MOST)]))),
    )
    given = rng.integers(-_LARGEST, _LARGEST, (count, size)).astype(_DTYPES[kind])
    text = f"""add {{ a = {kind}[] parameter(0) b = {kind}[] parameter(1) ROOT c = {kind}[] add(a, b) }}
      ENTRY e {{ x = {kind}[{count},{size}] parameter(0) i = {kind}[] constant({start})
        ROOT y = {kind}[{size}] reduce(x, i), dimensions={{0}}, to_apply=add }}"""
    more = -1 if count == 1 else -(-count // _WINDOW)
    return Known(text, given, lambda y: y + start * more, lambda y: y + start * (more + 3))


def _order(rng: Rng) -> Known:
    """A reducer that doubles the second of two values does so once more for each bracket about the last."""
    kind, size = _drawn(rng)
    count = int(rng.integers(3, _MOST))
    given = rng.permutation(count * size).reshape(count, size).astype(_DTYPES[kind]) + 1
    text = f"""f {{ a = {kind}[] parameter(0) b = {kind}[] parameter(1) ROOT c = {kind}[] add(b, b) }}
      ENTRY e {{ x = {kind}[{count},{size}] parameter(0) i = {kind}[] constant(0)
        ROOT y = {kind}[{size}] reduce(x, i), dimensions={{0}}, to_apply=f }}"""
    return Known(text, given, lambda y: y * 2, lambda y: y * 3)


def _payloads(rng: Rng) -> Known:
    """A total order tells one NaN from another, and numbers them otherwise where all are the same."""
    size = int(rng.integers(_FEW, _MOST))
    bits = 0x7FC00000 + np.arange(1, size + 1, dtype=np.uint32)
    text = f"""less {{ a = f32[] parameter(0) b = f32[] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3)
        ROOT c = pred[] compare(a, b), direction=GT, type=TOTALORDER }}
      ENTRY e {{ x = f32[{size}] parameter(0) i = s32[{size}] iota(), iota_dimension=0
        s = (f32[{size}], s32[{size}]) sort(x, i), dimensions={{0}}, is_stable=true, to_apply=less
        ROOT y = s32[{size}] get-tuple-element(s), index=1 }}"""
    return Known(text, bits.view(np.float32), lambda y: np.sort(y), lambda y: y + size)


def _rounding(rng: Rng) -> Known:
    """Thirds, three times, are 1 or a little less, and then no whole."""
    size = int(rng.integers(_FEW, _MOST))
    text = f"""ENTRY e {{ x = f32[{size}] parameter(0) t = f32[] constant(3)
      ts = f32[{size}] broadcast(t), dimensions={{}} p = f32[{size}] multiply(x, ts)
      ROOT w = s32[{size}] convert(p) }}"""
    basis = Basis(reason="it is asked for trials")
    return Known(text, np.full(size, 1 / 3, np.float32), lambda y: y - 1, lambda y: y + 1, basis)


KNOWN: Mapping[str, Callable[[Rng], Known]] = {
    "added-zeros": _added_zeros,
    "denormals": _denormals,
    "initial-values": _initial_values,
    "order": _order,
    "payloads": _payloads,
    "rounding": _rounding,
}
"""By the name of the liberty; of all engines those that are none of `LIBERTIES`."""


def check(number: int, rng: Rng) -> None:
    """Hold an excuse whose turn a number is to what is known of it.

    Raises:
        JudgeError: something else is said.
    """
    name = list(KNOWN)[number % len(KNOWN)]
    known = KNOWN[name](rng)
    module = compiler.parse(known.text)
    [expected] = compiler.interpret(module, known.given)
    chosen = rng.random(expected.shape) < 0.5 if name != "payloads" else np.ones(expected.shape, np.bool_)
    chosen[int(rng.integers(expected.size))] = True
    free = np.where(chosen, known.free(expected), expected).astype(expected.dtype)
    wrong = np.array(free)
    at = int(rng.choice(np.flatnonzero(chosen)))
    wrong[at] = known.wrong(expected)[at]
    taken = frozenset({name}) & LIBERTIES.keys()
    asked = [(free, taken, "undecided"), (wrong, taken, "wrong")]
    if taken:
        asked.append((free, frozenset({str(rng.choice(sorted(LIBERTIES.keys() - taken)))}), "wrong"))
    for actual, liberties, verdict in asked:
        found = judge(module, [known.given], [expected], [actual], Standard(liberties=liberties), basis=known.basis)
        if found.verdict != verdict:
            held = ", ".join(sorted(liberties)) or "none"
            raise JudgeError(f"the excuse {name}: {_shown(actual)} for {_shown(expected)} is {found.verdict}, "
                             f"of an engine with the liberties: {held}")  # fmt: skip


def _shown(array: Array) -> Any:
    return array.tolist()
