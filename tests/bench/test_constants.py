"""What programs take with other numbers in place of the compiler's constants, where no record of the machine says them.

Two kinds of rows.  A threshold is put so low and so high that programs of every size are on one side of it: where the
two times cross is where it belongs.  A setting is tried at a quarter, half, twice and four times of what it is, on one
program: what it is should lie where times are flat.

CPU times of one thread, the least of many calls by turns, so that neighbours on the machine add little; of compilations
the least of three.  `pytest -m bench tests/bench/test_constants.py` writes `constants.md`, a table as
`reports/measured/2026-11-26-constants` has it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from bench import constant_programs as programs

import compiler
from compiler.graph.checksum import crc32c

OPTIONS = compiler.CompileOptions(threads=1, cache="")
ROUNDS, ROUND_S, COMPILATIONS = 20, 0.003, 2
NEVER, ALWAYS = 0, 1 << 40


class Row(NamedTuple):
    """A constant, a program that tells of it for each size, and the numbers that are put in the constant's place."""

    constant: str
    program: Callable[[int], str]
    sizes: tuple[int, ...]
    values: tuple[float, ...]
    measure: str = "run"


class Made(NamedTuple):
    """A compiled program: how it is called, what compiling it took, and its code."""

    call: Callable[[], object]
    compile_s: float
    code: object


def threshold(constant, program, sizes, *, most=True, measure="run"):
    """A row of a constant up to which, or from which on if not `most`, something is done; done comes last."""
    return Row(constant, program, sizes, (NEVER, ALWAYS) if most else (ALWAYS, 1), measure)


def around(value):
    """A quarter, half, once, twice and four times."""
    return tuple(value * 2**n if n >= 0 else max(1, value // 2**-n) for n in range(-2, 3))


def setting(constant, program, value, *, measure="run", size=0, values=()):
    """A row of a constant that sets how something is done."""
    return Row(constant, program, (size,), values or around(value), measure)


def cpu_seconds(call, count=1):
    """The CPU seconds of a call, of all threads, on average over as many."""
    start = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - start) / count


def arguments(module):
    """Numbers for each parameter, the same every time."""
    rng = np.random.default_rng(1)
    for parameter in module.entry.parameters:
        dims, dtype = parameter.array.dims, parameter.array.element_type.dtype
        numbers = rng.integers(0, 64, dims) if dtype.kind in "iu" else rng.standard_normal(dims)
        yield np.ascontiguousarray(numbers.astype(dtype))


def compiled(row, size, value):
    """The program with this number in the constant's place, and what compiling it took."""
    name, _, constant = row.constant.rpartition(".")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module(f"compiler.{name}"), constant, value)
        module = compiler.parse(row.program(size))
        made = []
        times = [
            cpu_seconds(lambda: made.append(compiler.compile(module, backend="cpu", options=OPTIONS)))
            for _ in range(1 if row.measure == "run" else COMPILATIONS)
        ]
    return Made(partial(made[-1], *arguments(module)), min(times), made[-1].artifacts["ir-no-opt.ll"])


def best(calls):
    """The CPU seconds of each call, the least of rounds by turns."""
    counts = [max(1, int(ROUND_S / max(cpu_seconds(call), 1e-7))) for call in calls]
    least = [math.inf] * len(calls)
    for _ in range(ROUNDS):
        for number, (call, count) in enumerate(zip(calls, counts, strict=True)):
            least[number] = min(least[number], cpu_seconds(call, count))
    return least


def measured(row):
    """The microseconds of each number, by the program's size; none where all of them give the same code."""
    found = {}
    for size in row.sizes:
        made = [compiled(row, size, value) for value in row.values]
        if len({str(one.code) for one in made}) == 1:
            found[size] = []
            continue
        seconds = best([one.call for one in made]) if row.measure == "run" else [one.compile_s for one in made]
        found[size] = [one * 1e6 for one in seconds]
    return found


def table(rows):
    """The measurements as a table in Markdown."""
    lines = ["| constant | measure | size | microseconds, by the number in its place |", "|---|---|---|---|"]
    for row, found in rows:
        names = ["not", "done"] if len(row.values) == 2 else [f"{value:,.4g}" for value in row.values]
        for size, times in found.items():
            cells = ", ".join(f"{name}: {one:,.1f}" for name, one in zip(names, times)) or "the same code"  # noqa: B905
            program = f"`{getattr(row.program, '__name__', '')}` {size or ''}".rstrip()
            lines.append(f"| `{row.constant}` | {row.measure} | {program} | {cells} |")
    return "\n".join(lines) + "\n"


def named(function, name):
    """A program under a name of its own."""

    def program(size):
        return function(size)

    program.__name__ = name
    return program


def corpus(name):
    """A program of the suite."""
    return named(lambda _: programs.of_corpus(name), name)


@pytest.mark.bench
def test_what_programs_take_with_other_numbers():
    rows = [(row, measured(row)) for row in ROWS]
    Path("constants.md").write_text(table(rows))


@pytest.mark.bench
@pytest.mark.parametrize("lanes", around(4096))
def test_what_a_checksum_takes(lanes, benchmark, monkeypatch):
    monkeypatch.setattr("compiler.graph.checksum._LANES", lanes)
    benchmark.pedantic(crc32c, (bytes(1 << 20),), rounds=5)


CONVOLUTION, GEMM = "backends.cpu.kernels.convolution", "backends.cpu.kernels.gemm"
KERNELS = "backends.cpu.kernels"
ROWS = (
    threshold("analysis.groups._WIDEST_CONCATENATE", programs.concatenation, around(8)),
    threshold("analysis.groups._WIDEST_CONCATENATE", programs.concatenation, around(8), measure="compile"),
    threshold("analysis.iteration._LARGEST_BODY", programs.iterated_elements, (64, 256, 512), measure="compile"),
    threshold("analysis.iteration._LARGEST_BODY", programs.iterated_elements, (4, 16, 64, 256)),
    threshold("analysis.iteration._LARGEST_BODY",
              named(lambda n: programs.iterated_elements(n, 65536, 20), "iterated_elements of 65536"), around(64)),
    threshold("analysis.joining._MOST_COPIES", programs.reversed_users, (2, 4, 8, 16)),
    setting("analysis.joining.LARGEST_GROUP", programs.arithmetic, 512, size=2048, measure="compile"),
    setting("analysis.joining.LARGEST_GROUP", programs.arithmetic, 512, size=2048),
    threshold("analysis.joining._LARGEST_BESIDE_EDGES", programs.padded, around(32), measure="compile"),
    threshold("analysis.joining._LARGEST_BESIDE_EDGES", programs.padded, around(32)),
    threshold("analysis.joining._MOST_BESIDE_SCATTER", programs.scattered, around(12)),
    setting("analysis.merging._MOST_RESULTS", programs.results, 8, size=4),
    threshold("backends.cpu.inline_kernels._MOST_LINES", programs.called_in_loop, (4, 12, 50, 200, 400)),
    threshold("backends.cpu.inline_kernels._MOST_LINES", programs.called_in_loop, around(200), measure="compile"),
    setting(f"{CONVOLUTION}.choice._FEWEST_STEPS", programs.convolution, 64, size=64),
    setting(f"{CONVOLUTION}.nest._LONG_TILE", programs.convolution, 4096, size=32),
    setting(f"{CONVOLUTION}.nest._LONG_TILE", programs.convolution, 4096, size=32, measure="compile"),
    setting(f"{GEMM}.plan._DEPTH_BYTES", named(lambda _: programs.product(768, 2048, 256), "768x2048x256"), 2048),
    setting(f"{GEMM}.plan._DISTANT_DEPTH_BYTES",
            named(lambda _: programs.product(16, 2048, 1024), "16x2048x1024"), 512),
    setting(f"{GEMM}.plan._MOST_SUMMED_ROWS",
            named(lambda _: programs.product(256, 1024, 2, by_rows=True), "256x1024x2 by rows"), 8),
    setting(f"{KERNELS}.linear_algebra.implicit._MOST_STEPS", programs.eigenvalues, 128, size=96),
    setting(f"{KERNELS}.loop.iteration._MOST_VECTORS", corpus("mandelbrot_512"), 4),
    setting(f"{KERNELS}.reduce.columns.WIDEST_TILE", programs.column_sums, 256, size=4096),
    setting(f"{KERNELS}.reduce.kernel._MOST_CHUNKS", programs.total, 64, size=1 << 20),
    threshold(f"{KERNELS}.scatter.kernel._FEWEST_CHUNKED", programs.updates, around(16384), most=False),
    threshold(f"{KERNELS}.vectors.lanes._MANY_ROWS", programs.softmax, around(64), most=False),
    threshold("expansion.sliced_products._FEW_ROWS", programs.recurrent, around(16)),
    threshold("passes.loop_unrolling._MOST_ITERATIONS", programs.few_iterations, around(32)),
    threshold("passes.loop_unrolling._MOST_ITERATIONS", programs.few_iterations, around(32), measure="compile"),
)  # fmt: skip
