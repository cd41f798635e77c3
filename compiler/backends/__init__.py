"""Back ends: from an optimised module to something that runs.

`BACKENDS` is the table; adding a back end is its folder and one row.
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.backends.cpu import executable as cpu
from compiler.backends.executable import Executable, Keeper, Phases
from compiler.backends.nvptx.executable import NvptxExecutable
from compiler.ir.module import Module
from compiler.options import CompileOptions

Backend = Callable[[Module, CompileOptions, Phases], Executable]
"""Compiles a module that the back end's pipeline has prepared."""

BACKENDS: dict[str, Backend] = {
    "cpu": cpu.compile_module,
    "nvptx": NvptxExecutable,
}
"""Every back end by name."""

PREPARES = {"cpu": "compile", "nvptx": "compile-nvptx"}
"""The pipeline that prepares modules for each."""

KEEPERS: dict[str, Keeper] = {"cpu": cpu.KEEPER}
"""Of back ends whose executables can be kept and restored, how."""
