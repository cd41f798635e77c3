"""Compiling a program again gives the same bytes: in another process, with other hashes, beside other programs."""

import os
import subprocess
import sys

import pytest

from xlabench.cases.suite import load_suite

PROGRAMS = {program.name: program.path for program in load_suite("corpus").programs}
KINDS = (
    "lenet_train_step", "mnist_softmax_step", "sort_64k", "fft_batch_1024", "attention_causal", "conv_grads",
    "kmeans_step", "lstm_scan",
)  # fmt: skip
"""Programs with kernels of every kind, of many units and of few."""

SCRIPT = """
import hashlib, sys
import compiler
from compiler import CompileOptions
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        executable = compiler.compile(file.read(), options=CompileOptions(threads=2))
    print(path, *(hashlib.sha256(code).hexdigest() for code in executable.image.objects))
"""


def objects(paths, seed):
    """For each program the digests of its object files, compiled one after the other by a process of its own."""
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    command = [sys.executable, "-c", SCRIPT, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=600)
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


@pytest.mark.slow
def test_object_files_are_the_same_whatever_the_hashes_and_whatever_was_compiled_before():
    paths = [PROGRAMS[name] for name in KINDS]
    first, second = objects(paths, seed=1), objects(paths[::-1], seed=2)
    assert len(first) == len(KINDS)
    assert first == second
