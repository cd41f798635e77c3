"""Every kernel in every form on a real GPU, where there is one; `compute-sanitizer` can watch it (tests/README.md)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu_programs import OF_CONTROL, PROGRAMS, draw, text_of

import compiler
from compiler.backends.nvptx.cuda import CudaDevice
from xlabench.judging.differ import compare

pytestmark = pytest.mark.gpu

CALLS = 3
"""Step by step, by graphs that are captured, by the same graphs again."""


@pytest.fixture(autouse=True)
def _needs_a_gpu() -> None:
    try:
        CudaDevice()
    except compiler.UnsupportedError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", [*PROGRAMS, *OF_CONTROL])
def test_a_gpu_computes_what_the_interpreter_does(name: str) -> None:
    module = compiler.parse(text_of(name))
    arrays = draw(module)
    executable = compiler.compile(module, "nvptx")
    first: list[np.ndarray[Any, Any]] | None = None
    for _ in range(CALLS):
        results = executable(*arrays)
        first = first or results
        assert [a.tobytes() for a in results] == [a.tobytes() for a in first]
    comparison = compare(compiler.interpret(module, *arrays), first)
    assert comparison.agreement in ("bitwise", "within"), comparison.describe()
