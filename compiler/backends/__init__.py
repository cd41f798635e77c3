"""Back ends: from an optimised module to something that runs.

`BACKENDS` is the table; adding a back end is its folder and one row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from compiler.backends.cpu import executable as cpu
from compiler.backends.executable import Executable, Keeper, Phases
from compiler.backends.nvptx.executable import NvptxExecutable
from compiler.ir.module import Module
from compiler.options import CompileOptions


class Backend(NamedTuple):
    """A back end.

    Attributes:
        pipeline: the name of the pipeline that prepares modules for it.
        compile: compiles a module so prepared.
        keeper: how its executables are kept and restored, where they can be.
    """

    pipeline: str
    compile: Callable[[Module, CompileOptions, Phases], Executable]
    keeper: Keeper | None = None


BACKENDS: dict[str, Backend] = {
    "cpu": Backend("compile", cpu.compile_module, cpu.KEEPER),
    "nvptx": Backend("compile-nvptx", NvptxExecutable),
}
"""Every back end by name."""
