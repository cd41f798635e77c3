"""Programs that call LAPACK by name run on XLA in a process that has made none of them by JAX."""

import json
import subprocess
import sys

import numpy as np
import pytest

import compiler
from xlabench import from_jax
from xlabench.bundles import export
from xlabench.bundles.failure import Failure

pytest.importorskip("jax", reason="jax is not installed")

from jax.scipy import linalg


@pytest.fixture(scope="module")
def program():
    solve = from_jax(
        lambda a, b: linalg.solve_triangular(a, b, lower=True), np.eye(3, dtype=np.float32), np.ones(3, np.float32)
    )
    return compiler.to_text(solve)


def test_xla_solves_by_lapack(program, tmp_path):
    file = tmp_path / "solve.hlo"
    file.write_text(program)
    command = [sys.executable, "-m", "xlabench", "run", file, "--engine", "xla", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert json.loads(done.stdout)["verdict"] in ("bitwise", "within"), done.stdout + done.stderr


def test_so_does_the_exported_script(program, tmp_path):
    inputs = [np.eye(3, dtype=np.float32) * 2, np.ones(3, np.float32)]
    result = [np.full(3, 0.5, np.float32)]
    failure = Failure(program, inputs, result, result, "xla", "reference", None, "wrong", "3 elements are wrong")
    for name, data in export.contents(failure)[0].items():
        (tmp_path / name).write_bytes(data)
    script = [sys.executable, "-I", "run_in_jax.py"]
    done = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
