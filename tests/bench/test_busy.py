"""The suite `corpus` beside XLA while other processes want the same cores: a busy neighbour costs what it takes.

Both engines take turns within one process, and of each the median call counts: the best says what a call costs when
nobody else is there, and that is not the question here.
"""

import functools
import importlib.util
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from bench.rounds import geometric_mean
from bench.test_corpus import OURS, PROGRAMS, XLA

from xlabench import engine
from xlabench.cases import programs
from xlabench.cases.inputs import recipe_beside

pytestmark = [
    pytest.mark.bench,
    pytest.mark.skipif(importlib.util.find_spec("jaxlib") is None, reason="jaxlib is not installed"),
]

NEIGHBOURS = [0, 1, 2, 4]
ROUNDS, ROUND_S = 16, 0.02
FEWEST = 3
"""Calls in a round."""
MEAN_OVER_XLA, NEVER_SLOWER = 2.0, 0.9
SMALL = ["matmul_64", "fma_reduce_1k", "mnist_softmax_step", "softmax_1k"]
CALLS, WORST_OVER_MEDIAN = 10_000, 3.0


@contextmanager
def neighbours(count):
    """So many processes that never rest."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
        for process in busy:
            process.wait()


@functools.cache
def calls(name):
    """The calls of a program, by engine."""
    path = PROGRAMS[name]
    module = programs.read(path)
    arrays = recipe_beside(path).make()
    return {spec: functools.partial(engine(spec).compile(module), *arrays) for spec in (OURS, XLA)}


def timed(call, seconds):
    """The times of calls, one after the other, for so long."""
    times = []
    end = time.perf_counter() + seconds
    while len(times) < FEWEST or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


def medians(name):
    """The median call of each engine."""
    times = {spec: [] for spec in (OURS, XLA)}
    for round_ in range(ROUNDS):
        for spec in (OURS, XLA) if round_ % 2 else (XLA, OURS):
            times[spec] += timed(calls(name)[spec], ROUND_S)
    return {spec: statistics.median(found) for spec, found in times.items()}


@pytest.mark.parametrize("count", NEIGHBOURS)
def test_a_busy_neighbour_costs_what_it_takes(count, benchmark):
    benchmark.group = "busy"
    with neighbours(count):
        rows = {name: medians(name) for name in PROGRAMS}
    ratios = {name: row[XLA] / row[OURS] for name, row in rows.items()}
    benchmark.extra_info.update(
        neighbours=count,
        over_xla=geometric_mean(ratios.values()),
        ours_s={n: row[OURS] for n, row in rows.items()},
        xla_s={n: row[XLA] for n, row in rows.items()},
    )
    benchmark.pedantic(calls(SMALL[0])[OURS], rounds=10)
    assert geometric_mean(ratios.values()) >= MEAN_OVER_XLA
    assert {name: ratio for name, ratio in ratios.items() if ratio < NEVER_SLOWER} == {}


@pytest.mark.parametrize("name", SMALL)
def test_few_calls_take_much_longer_than_most(name, benchmark):
    benchmark.group = "busy"
    spread = {}
    for spec, call in calls(name).items():
        times = sorted(timed(call, 0)[0] for _ in range(CALLS))
        spread[spec] = times[CALLS * 99 // 100] / times[CALLS // 2]
    benchmark.extra_info.update({f"{spec}_p99_over_median": value for spec, value in spread.items()})
    benchmark.pedantic(calls(name)[OURS], rounds=10)
    assert spread[OURS] <= max(WORST_OVER_MEDIAN, spread[XLA])
