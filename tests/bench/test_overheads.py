"""What is around compiled programs must cost next to nothing: calls, reading, verifying, `--help`."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from bench.rounds import best, record, seconds

import compiler
from xlabench.cases.suite import load_suite

pytestmark = pytest.mark.bench

PROGRAMS = {program.name: program.path for program in load_suite("smoke").programs}
ALL_PROGRAMS = [path.read_text(encoding="utf-8") for path in PROGRAMS.values()]
MODULES_END = "\n// -----\n"
SCALAR_ADD = "ENTRY main {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y)\n}\n"
SIXTEEN = (
    "ENTRY main {\n"
    + "".join(f"  x{n} = f32[] parameter({n})\n  y{n} = f32[] negate(x{n})\n" for n in range(16))
    + f"  ROOT all = ({', '.join(['f32[]'] * 16)}) tuple({', '.join(f'y{n}' for n in range(16))})\n}}\n"
)
"""Sixteen parameters and as many results."""


@pytest.mark.parametrize(("text", "most_s"), [(SCALAR_ADD, 1e-6), (SIXTEEN, 5e-6)], ids=["add", "sixteen"])
def test_a_call_costs_microseconds(text, most_s, benchmark):
    executable = compiler.compile(text)
    arrays = [np.array(number, np.float32) for number in range(len(compiler.parse(text).entry.parameters))]
    [call_s] = best(lambda: executable(*arrays))
    record(benchmark, lambda: executable(*arrays), call_s=call_s)
    assert call_s <= most_s


def test_a_training_step_compiles_in_half_a_second(benchmark):
    text = PROGRAMS["mnist_softmax_step"].read_text(encoding="utf-8")
    compiler.compile(SCALAR_ADD)
    compile_s = min(seconds(lambda: compiler.compile(text), 1) for _ in range(5))
    record(benchmark, lambda: compiler.compile(text), compile_s=compile_s)
    assert compile_s <= 0.5


def test_text_is_read_and_verified_at_three_megabytes_a_second(benchmark):
    text = MODULES_END.join([*ALL_PROGRAMS, *ALL_PROGRAMS])
    modules = compiler.parse_many(text)
    reading, verifying = best(lambda: compiler.parse_many(text), lambda: [compiler.verify(m) for m in modules])
    record(benchmark, lambda: compiler.parse_many(text), bytes_per_s=len(text) / reading, verify=verifying / reading)
    assert len(text) / reading >= 3e6
    assert verifying <= reading


def test_modules_take_at_most_sixty_times_the_memory_of_their_text():
    text = MODULES_END.join(ALL_PROGRAMS)
    compiler.parse_many(text)  # what is made once for all texts
    tracemalloc.start()
    modules = compiler.parse_many(text)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(modules) == len(ALL_PROGRAMS)
    assert most <= 60 * len(text)


def test_help_comes_at_once(benchmark):
    command = [sys.executable, "-m", "xlabench", "--help"]

    def start():
        subprocess.run(command, check=True, capture_output=True)

    help_s = min(seconds(start, 1) for _ in range(5))
    record(benchmark, start, help_s=help_s)
    assert help_s <= 0.3
