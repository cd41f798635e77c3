"""A pytest plug-in (`-p tests.on_gpu`): what a test runs in the simulator runs on the GPU of this machine too.

It is the same PTX on the same inputs, called three times: step by step, then as captured graphs.  Both have to have the
same results: to the bit, or within what reordered sums are allowed where tensor cores add up in an order of their own.
So either the simulator is wrong about GPUs, or code is right by luck.  With XLABENCH_GPU_LOG a line of JSON is appended
to that file for every program that had other bits.

After an error that ends a context (an access out of bounds), nothing of the process can use the GPU: it ends, and with
`-n` another one goes on.
"""

from __future__ import annotations

import copy
import json
import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.backends.nvptx.cuda import CudaDevice, capability
from compiler.backends.nvptx.executable import NvptxExecutable
from compiler.backends.nvptx.target import runs
from xlabench.judging.differ import Agreement, compare

CALLS = 3
"""The first is done step by step, the second captures, the third launches what the second one has captured."""
ENDED = 86
"""Exit code of a process whose context an error has ended."""
_TWINS = "_on_gpu"

Array = np.ndarray[Any, np.dtype[Any]]
_simulated = NvptxExecutable.__call__


def pytest_configure(config: pytest.Config) -> None:
    """Let every call of a simulated program be one on the GPU too."""
    del config
    try:
        CudaDevice()
    except compiler.UnsupportedError as error:
        raise pytest.UsageError(f"-p tests.on_gpu needs a GPU: {error}") from error
    NvptxExecutable.__call__ = _on_both  # type: ignore[method-assign]


def pytest_report_header(config: pytest.Config) -> str:
    """Say so."""
    del config
    return "what runs in the simulator runs on the GPU too, and has the same results"


def _on_both(self: NvptxExecutable, *inputs: object) -> list[Array]:
    expected = _simulated(self, *inputs)
    if self.options.device == "sim" and runs(self.arch, capability()):
        for number in range(CALLS):
            _agree(self, expected, _run(self, inputs), number)
    return expected


def _run(simulated: NvptxExecutable, inputs: Sequence[object]) -> list[Array]:
    try:
        if not hasattr(simulated, _TWINS):
            setattr(simulated, _TWINS, _twin(simulated))
        return _simulated(getattr(simulated, _TWINS), *inputs)
    except RuntimeError as error:
        _log(simulated, "error", str(error))
        if "CUDA_ERROR" in str(error) and _has_ended():
            os._exit(ENDED)
        raise


def _twin(simulated: NvptxExecutable) -> NvptxExecutable:
    """The same program, with the same PTX, on the GPU."""
    twin = copy.copy(simulated)
    twin.options = replace(simulated.options, device="")
    twin._constants, twin._replay, twin._is_repeated = {}, None, False
    twin._replay_lock = threading.Lock()
    twin._connect(CudaDevice())
    return twin


def _has_ended() -> bool:
    try:
        CudaDevice().finish()
    except RuntimeError:
        return True
    return False


def _agree(simulated: NvptxExecutable, expected: list[Array], actual: list[Array], number: int) -> None:
    if all(a.tobytes() == b.tobytes() for a, b in zip(expected, actual, strict=True)):
        return
    found = compare(expected, actual)
    words = f"call {number}: {found.describe()}"
    if found.agreement is not Agreement.BITWISE:  # which takes every NaN for the same
        _log(simulated, str(found.agreement), words)
    if found.agreement not in (Agreement.BITWISE, Agreement.WITHIN):
        pytest.fail(f"the GPU has other results than the simulator: {words}", pytrace=False)


def _log(simulated: NvptxExecutable, kind: str, words: str) -> None:
    path = os.environ.get("XLABENCH_GPU_LOG")
    if path is None:
        return
    line = {
        "test": os.environ.get("PYTEST_CURRENT_TEST", ""),
        "kind": kind,
        "said": words,
        "arch": simulated.arch,
        "program": str(simulated.module),
        "mma": "mma.sync" in simulated.ptx,
    }
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
