"""Run HLO programs on compilers, compare, time, and keep the evidence.

Importing this package costs nothing: what needs NumPy or a compiler is loaded by the function that needs it.  It loads
nothing that Python has not loaded itself, either, because `python -m xlabench` passes here with the working directory
still among the places of packages.
"""

from importlib import import_module

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from compiler import Module
    from xlabench.engines import Engine
    from xlabench.frames import Frames

__all__ = ["engine", "from_jax", "records"]


def engine(spec: str) -> "Engine":
    """The engine that a spec such as `cpu`, `cpu:fusion=off` or `nvptx:sim` names."""
    import_module("xlabench.startup").require_own(("compiler",))
    made: Engine = import_module("xlabench.engines").engine(spec)
    return made


def from_jax(function: "Callable[..., Any]", *arguments: "Any") -> "Module":
    """The module that a JAX function lowers to for these arguments; needs the extra `peers`."""
    import_module("xlabench.startup").require_own(("compiler",))
    made: Module = import_module("xlabench.cases.programs").from_jax(function, *arguments)
    return made


def records(path: "str | Path") -> "Frames":
    """What the nights in a folder, or a JSON file of pytest-benchmark, recorded, as pandas data frames."""
    import_module("xlabench.startup").require_own(("compiler",))
    made: Frames = import_module("xlabench.frames").of_path(path)
    return made
