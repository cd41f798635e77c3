"""Options of engines as part of what is drawn: each program is compiled in a variant of its own.

Memory and races are watched in a share of the programs: between guard pages in poisoned arenas, with every access
compared with its array, and on threads that share every kernel however small, or with the chunks of each phase done one
by one, the last one first.  Of races in global memory most are told: a simulator takes a fifth more time for that, and
what a race changes on a GPU the order in which it runs lanes hides.  Products that are large enough for tiles on a GPU
no simulator multiplies in the time that a campaign has, so half of the programs have tiles for smaller ones too.

With every pass on, a later one hides what an earlier one does wrong; a processor with every feature runs one kernel of
several.  What a spec says stays as it is said: `cpu:opt=0` is compiled without optimisation, `cpu` at any level.  The
variant is a spec like any other, so whatever follows up a failure (reducing, blaming, its bundle, `replay`) keeps it.

Of a machine that lacks a feature anyway, code without it is the same code: equal seeds draw equal variants everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from xlabench.diagnosis.probe import with_options
from xlabench.engines import OF_GRAPHS, compiled_by, nested
from xlabench.engines.spec import split_spec

Options = Mapping[str, str]
Weighted = Mapping[str, int]
"""Values of an option with the percentage in which each is drawn; "" leaves the option alone."""

CHOICES: Mapping[str, Mapping[str, Weighted]] = {
    "cpu": {
        "threads": {"": 65, "1": 8, "2": 12, "7": 15},
        "opt": {"0": 88, "1": 3, "2": 3, "3": 6},
        "without": {"": 76, "fma": 8, "avx2": 8, "avx512": 8},
        "share_all": {"": 60, "on": 40},
        "backwards": {"": 60, "on": 40},
        "check_memory": {"": 78, "on": 22},
        "check_bounds": {"": 94, "on": 6},
    },
    "nvptx": {
        "opt": {"": 50, "0": 50},
        "arch": {"": 55, "sm_80": 20, "sm_90a": 25},
        "atomics": {"": 70, "on": 30},
        "check_races": {"": 40, "on": 60},
        "share_all": {"": 50, "on": 50},
    },
}
"""What is drawn for the engines of a name, besides passes: what shows more often the less it takes.

Guard pages and poisoned memory take a tenth more CPU time of a program of kernels, checked bounds 70 % (measured on 12
modules of kernels), so the former are drawn four times as often."""

OF_KERNELS: Mapping[str, Mapping[str, Weighted]] = {
    **CHOICES,
    "nvptx": {
        **CHOICES["nvptx"],
        "arch": {"": 30, "sm_80": 15, "sm_90a": 55},
        "atomics": {"": 50, "on": 50},
        "share_all": {"": 30, "on": 70},
    },
}
"""The same for programs of a few kernels: only where there are warp groups, and tiles for small products, are any
multiplied by warp groups, for which there is a tenth of the simulator; and updates of floats, which stand in few other
programs, are made at once in half of them: in none of 1,560 programs were any."""

OF_OTHERS: Mapping[str, Mapping[str, Weighted]] = {"xla": {"opt": {"": 20, "0": 80}}}
"""What is drawn for engines of others: a third of the time that XLA compiles a program is LLVM's."""

PASSES = (
    "tuple-simplification",
    "algebraic-simplification",
    "data-movement-simplification",
    "window-simplification",
    "constant-folding",
    "cse",
    "dce",
    "conditional-simplification",
    "loop-simplification",
    "loop-unrolling",
    "transpose-folding",
    "scatter-sorting",
    "index-tables",
    "loop-invariant-code-motion",
    "loop-interchange",
    "fusion",
    "in-place-updates",
)
"""The passes of the compiler that may be left out."""

_QUICKEST = {"cpu": {"opt": "0"}, "nvptx": {"opt": "0"}, "xla": {"opt": "0"}}
_LEAVING_OUT = ("without", "disable_passes")
_EVERYTHING: Mapping[str, Options] = {"nvptx": {"arch": "sm_90a"}}
"""What has all features of processors that code is written for."""
_SOME_PERCENT, _FEW_PERCENT = 25, 10
_LEFT_OUT = 0.25
_MOST_KEPT = 3


def draw(rng: np.random.Generator, *, of_kernels: bool = False) -> dict[str, dict[str, str]]:
    """Options by the names of engines; whatever an engine's programs are to be, the passes are the same for all.

    Args:
        rng: what is drawn by.
        of_kernels: whether the program is of a few kernels.
    """
    drawn = _drawn(rng, OF_KERNELS if of_kernels else CHOICES)
    passes = "+".join(_disabled(rng))
    drawn = {name: {**options, "disable_passes": passes} for name, options in drawn.items()} | _drawn(rng, OF_OTHERS)
    return {name: {key: value for key, value in options.items() if value} for name, options in drawn.items()}


def _drawn(rng: np.random.Generator, table: Mapping[str, Mapping[str, Weighted]]) -> dict[str, dict[str, str]]:
    return {name: {key: one_of(rng, values) for key, values in choices.items()} for name, choices in table.items()}


def whole(options: Mapping[str, Options]) -> dict[str, dict[str, str]]:
    """The options but for those that leave something out, features of processors and passes, and compiled quickly."""
    kept = {name: {key: value for key, value in of.items() if key not in _LEAVING_OUT} for name, of in options.items()}
    return {name: {**of, **_EVERYTHING.get(name, {}), **_QUICKEST.get(name, {})} for name, of in kept.items()}


def one_of(rng: np.random.Generator, values: Weighted) -> str:
    """One of several values, each as often as its percentage says."""
    at = int(rng.integers(sum(values.values())))
    for value, share in values.items():
        at -= share
        if at < 0:
            return value
    raise AssertionError("the shares of all values are their sum")


def _disabled(rng: np.random.Generator) -> list[str]:
    """Mostly none of the passes, else some, or all but a few."""
    kind = int(rng.integers(100))
    if kind < _SOME_PERCENT:
        return [name for name in PASSES if rng.random() < _LEFT_OUT]
    if kind < _SOME_PERCENT + _FEW_PERCENT:
        kept = rng.permutation(len(PASSES))[: int(rng.integers(_MOST_KEPT + 1))]
        return [name for number, name in enumerate(PASSES) if number not in kept]
    return []


def varied(spec: str, options: Mapping[str, Options]) -> str:
    """A spec with the options drawn for its engine, but for those that it gives itself."""
    name, written = split_spec(spec)
    if name in OF_GRAPHS and (inner := compiled_by(spec)) != varied(inner, options):
        return varied(with_options(spec, {"on": nested(varied(inner, options))}), {name: options.get(name, {})})
    more = {key: value for key, value in options.get(name, {}).items() if key not in written}
    return with_options(spec, more) if more else spec


def quickest(spec: str) -> str:
    """The variant of a spec that compiles in the least time, to ask what an engine supports."""
    return varied(spec, _QUICKEST)
