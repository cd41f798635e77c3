"""The curve of compiling from a hundred to a hundred thousand instructions, ours and XLA's, with the memory it takes.

Each compilation has a process of its own, so that a peak is its own, and a limit; an engine that has gone past it is
not asked for anything larger.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from growing_programs import KINDS

pytestmark = pytest.mark.bench

SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
ENGINES = ("ours", "xla")
LIMIT_S = 150
FROM, STEEPEST = 3_000, 2.0
"""Where a program is large enough for its own cost to show, and how much more an instruction may take at the end."""
PROGRAM = Path(__file__).with_name("compile_once.py")


def compiled(engine, kind, size):
    """What compiling took, or None past the limit."""
    command = [sys.executable, str(PROGRAM), engine, kind, str(size)]
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    try:
        done = subprocess.run(command, env=paths, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", KINDS)
def test_compiling_grows_in_proportion(kind, benchmark):
    pytest.importorskip("jaxlib", reason="jaxlib is not installed")
    curves = {engine: {} for engine in ENGINES}
    for size in SIZES:
        for engine, curve in curves.items():
            if None not in curve.values():
                curve[size] = compiled(engine, kind, size)
    benchmark.extra_info.update(curves)
    benchmark.pedantic(lambda: compiled("ours", kind, SIZES[0]), rounds=1)
    each = {size: took["cpu_s"] / size for size, took in curves["ours"].items() if took and size >= FROM}
    assert max(each) > FROM
    assert each[max(each)] <= STEEPEST * each[FROM]
