"""`shard_map` as JAX lowers it, by Shardy and the older way, on all engines: what JAX itself gives on four devices."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import compiler

pytest.importorskip("jax", reason="jax is not installed")

from xlabench.cases import programs

SCRIPT = Path(__file__).with_name("shard_map_programs.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("shard_map")
    subprocess.run([sys.executable, str(SCRIPT), str(made)], check=True, capture_output=True, timeout=300)
    return made


def arrays(path: Path) -> list[np.ndarray]:
    with np.load(path) as stored:
        return list(stored.values())


def test_every_program_gives_what_jax_gives(folder: Path) -> None:
    found = sorted(folder.glob("*.mlir"))
    assert len(found) > 30
    for path in found:
        module, inputs = programs.read(path), arrays(path.with_suffix(".npz"))
        assert compiler.times_given(module) == 1
        answers = {
            "reference": compiler.interpret(module, *inputs),
            "wide": [result.rounded() for result in compiler.interpret(module, *inputs, wide=True)],
            "cpu": compiler.compile(module)(*inputs),
            "unfused": compiler.compile(module, "cpu", compiler.CompileOptions(fusion=False))(*inputs),
            "nvptx": compiler.compile(module, "nvptx", compiler.CompileOptions(device="sim"))(*inputs),
        }
        for name, results in answers.items():
            for result, expected in zip(results, arrays(path.with_suffix(".expected.npz")), strict=True):
                assert (result.dtype, result.shape) == (expected.dtype, expected.shape), f"{path.stem} on {name}"
                np.testing.assert_allclose(result, expected, 1e-5, 1e-5, err_msg=f"{path.stem} on {name}")
