"""Modules of a folder beside XLA, where they lie: real ones, as XLA's own benchmarks have them.

`XLABENCH_MODULES=FOLDER tox -e bench -- tests/bench/test_modules.py`.  Constants that a dump left out are made up, the
same for both.  Both engines take turns within one process, and of each the median call counts.
"""

import functools
import importlib.util
import os
import statistics
import time
from pathlib import Path

import pytest
from bench.test_busy import timed
from bench.test_corpus import OURS, XLA

import compiler
from xlabench import engine
from xlabench.cases import inputs, programs

pytestmark = [
    pytest.mark.bench,
    pytest.mark.skipif(importlib.util.find_spec("jaxlib") is None, reason="jaxlib is not installed"),
]

FOLDER = os.environ.get("XLABENCH_MODULES")
MODULES = {path.stem: path for path in sorted(Path(FOLDER).glob("*.hlo"))} if FOLDER else {}
ROUNDS, ROUND_S = 4, 0.1
NEVER_SLOWER = 1.0


@pytest.mark.skipif(not FOLDER, reason="XLABENCH_MODULES names no folder with modules")
@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_no_slower_than_xlas(name, benchmark):
    module = programs.read(MODULES[name])
    compiler.settle_elided(module, 0)
    arrays = inputs.generate(module, 0)
    calls, compile_s, times = {}, {}, {OURS: [], XLA: []}
    for spec in times:
        start = time.perf_counter()
        calls[spec] = functools.partial(engine(spec).compile(module), *arrays)
        compile_s[spec] = time.perf_counter() - start
        calls[spec]()
    for number in range(ROUNDS):
        for spec in (OURS, XLA) if number % 2 else (XLA, OURS):
            times[spec] += timed(calls[spec], ROUND_S)
    medians = {spec: statistics.median(found) for spec, found in times.items()}
    benchmark.group = "modules"
    benchmark.extra_info.update(ours_s=medians[OURS], xla_s=medians[XLA], compile_s=compile_s)
    benchmark.pedantic(calls[OURS], rounds=1)
    assert medians[XLA] / medians[OURS] >= NEVER_SLOWER
