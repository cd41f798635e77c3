"""Run HLO programs on compilers, compare, time, and keep the evidence.

Importing this package costs nothing: what needs NumPy or a compiler is loaded by the function that needs it.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from compiler import Module
    from xlabench.engines import Engine
    from xlabench.frames import Frames

__all__ = ["engine", "from_jax", "records"]


def engine(spec: str) -> Engine:
    """The engine that a spec such as `cpu`, `cpu:fusion=off` or `nvptx:sim` names."""
    made: Engine = import_module("xlabench.engines").engine(spec)
    return made


def from_jax(function: Callable[..., Any], *arguments: Any) -> Module:
    """The module that a JAX function lowers to for these arguments; needs the extra `peers`."""
    made: Module = import_module("xlabench.cases.programs").from_jax(function, *arguments)
    return made


def records(folder: str | Path) -> Frames:
    """What the nights in a folder recorded, as pandas data frames: runs, verdicts, timings, bundles, kernels."""
    made: Frames = import_module("xlabench.frames").of_folder(Path(folder))
    return made
