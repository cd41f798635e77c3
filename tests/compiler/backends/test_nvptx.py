"""Whole programs on the simulated GPU, each at a size that it can carry, judged by the reference's error bounds.

Programs are the `.hlo` files of the folder in `XLABENCH_PROGRAMS`, with their recipes; without it there is nothing to
do.  Sizes are halved, largest first, as long as the program stays one, until all of its values are small; last, an
even size or two become odd, so that no tile and no block fits.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import compiler
from compiler import edit
from compiler.backends.nvptx.simulated import SimulatedDevice
from compiler.backends.nvptx.simulator import LaunchOptions
from xlabench.cases.inputs import generate, recipe_beside
from xlabench.judging.judge import judge

FOLDER = os.environ.get("XLABENCH_PROGRAMS", "")
PROGRAMS = sorted(Path(FOLDER).glob("*.hlo")) if FOLDER else []
MOST_ELEMENTS = 150_000
LEAST_SIZE = 24


def sizes(module: compiler.Module) -> set[int]:
    return {d for i in module.instructions() if isinstance(i.shape, edit.ArrayShape) for d in i.shape.dims}


def elements(module: compiler.Module) -> int:
    return sum(i.shape.size for i in module.instructions() if isinstance(i.shape, edit.ArrayShape))


def resized(module: compiler.Module, old: int, new: int) -> compiler.Module | None:
    """The module with one size smaller, and its multiples or its neighbours too, if it is still one."""
    multiples = {d: d // old * new for d in range(old, max(sizes(module)) + 1, old)}
    neighbours = {d: d - old + new for d in range(old - 4, old + 5)}
    for change in (multiples, neighbours, {old: new}):
        edited = edit.resize(module, change)
        try:
            if edited is not None and elements(edited.module) < elements(module):
                compiler.verify(edited.module)
                return edited.module
        except compiler.CompilerError:
            continue
    return None


def shrunk(module: compiler.Module) -> compiler.Module:
    """A program of the same instructions with small values."""
    tried: set[int] = set()
    while elements(module) > MOST_ELEMENTS:
        old = max((d for d in sizes(module) - tried if d > LEAST_SIZE), default=0)
        if not old:
            break
        smaller = resized(module, old, -(-old // 2))
        tried |= {old} if smaller is None else set()
        module = smaller or module
    return module


def odd(module: compiler.Module) -> Iterator[compiler.Module]:
    """The program once more with sizes that nothing divides, if there is one."""
    start = module
    for size in sorted(sizes(module) - {1, 2, 3}, reverse=True):
        if size % 2 == 0 and size in sizes(module):
            module = resized(module, size, size - 1) or module
    if module is not start:
        yield module


def inputs_of(path: Path, module: compiler.Module) -> list[Any]:
    recipe = recipe_beside(path)
    if recipe is None:
        return generate(module, 0)
    shapes = [p.shape.dims for p in module.entry.parameters]
    parameters = [replace(p, shape=dims) for p, dims in zip(recipe.parameters, shapes, strict=True)]
    return replace(recipe, parameters=tuple(parameters)).make()


@pytest.mark.slow
@pytest.mark.skipif(not PROGRAMS, reason="XLABENCH_PROGRAMS names no folder with programs")
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_is_right_on_the_simulator(path: Path, gpu: Any) -> None:
    small = shrunk(compiler.parse(path.read_text(encoding="utf-8")))
    for module in (small, *odd(small)):
        inputs = inputs_of(path, module)
        executable = gpu.compile(module)
        assert isinstance(executable.device, SimulatedDevice)
        executable.device.options = LaunchOptions(check_races=True, check_global_races=True)
        judgement = judge(module, inputs, compiler.interpret(module, *inputs), executable(*inputs))
        assert judgement.verdict in ("bitwise", "within", "undecided"), judgement.message
