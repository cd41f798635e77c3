"""Every strategy of every kernel kind is taken; every form is run on the simulator with its checks, and on a GPU.

`compute-sanitizer` can watch the latter (tests/README.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu_programs import OF_CONTROL, PROGRAMS, draw, text_of
from strategy_programs import kernels

import compiler
from compiler.backends.nvptx.cuda import CudaDevice
from compiler.backends.nvptx.kernels.grid import Gpu
from compiler.backends.nvptx.kernels.scatter import kernel as scatter
from compiler.backends.nvptx.kernels.table import KINDS
from xlabench.judging.differ import compare


def check(name: str, gpu: Any, *, global_races: bool = False) -> None:
    module = compiler.parse(text_of(name))
    arrays = draw(module)
    comparison = compare(compiler.interpret(module, *arrays), gpu(module, *arrays, global_races=global_races))
    assert comparison.agreement in ("bitwise", "within"), comparison.describe()


@pytest.mark.slow
@pytest.mark.parametrize("name", [*PROGRAMS, *OF_CONTROL])
def test_a_program_computes_what_the_interpreter_does(name: str, gpu: Any) -> None:
    check(name, gpu)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name.startswith(("scatter", "select and"))])
def test_no_two_threads_write_one_element(name: str, gpu: Any) -> None:
    check(name, gpu, global_races=True)


WAYS = {"asks": (1, 0), "asks ahead": (1, 1 << 40), "applies": (1 << 30, 0)}
"""By how many windows threads ask all of them, and by how many questions in any case, updates loaded ahead."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name.startswith("scatter")])
def test_scattering_in_any_way_is_right(name: str, way: str, gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, value in zip(("_MANY_WINDOWS", "_FEW_QUESTIONS"), WAYS[way], strict=True):
        monkeypatch.setattr(scatter, limit, value)
    check(name, gpu, global_races=True)


STRATEGIES = [(kind, strategy.name) for kind, row in KINDS.items() for strategy in row.strategies]


@pytest.mark.parametrize(("kind", "strategy"), STRATEGIES, ids=str)
def test_every_strategy_is_taken_for_some_kernel(kind: Any, strategy: str) -> None:
    gpu = Gpu(80, 96 << 10, atomics=strategy == "updates by atomic operations")
    assert strategy in {KINDS[kind].decide(kernel, gpu).strategy for kernel in kernels("nvptx", kind, strategy)}


CALLS = 3
"""Step by step, by graphs that are captured, by the same graphs again."""


@pytest.fixture
def real_gpu() -> None:
    try:
        CudaDevice()
    except compiler.UnsupportedError as error:
        pytest.skip(str(error))


@pytest.mark.gpu
@pytest.mark.usefixtures("real_gpu")
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
