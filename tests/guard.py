"""A pytest plug-in (`-p tests.guard`): compiled programs run where the first foreign byte that they touch shows.

`--guard end`, the default, has their arrays end at a page that nobody may touch, `--guard start` begin at one; how a
foreign byte then shows is told in `compiler.backends.cpu.runtime.guarded`.  `--guard bounds` has them compiled to check
each access, as `compiler.backends.cpu.bounds` tells: so neighbours in the arena are guarded too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from compiler.backends import BACKENDS
from compiler.backends.cpu.runtime import entry, guarded
from compiler.backends.executable import Executable, Phases
from compiler.ir.module import Module
from compiler.options import CompileOptions


def pytest_addoption(parser: pytest.Parser) -> None:
    """Ask on which side of the arrays the page without access is nearer, or for checks of every access."""
    parser.addoption(
        "--guard", choices=("end", "start", "bounds"), default="end", help="where arrays touch a guard page; or checks"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let every program that is compiled from now on be called in this way."""
    guard = config.getoption("guard")
    if guard == "bounds":
        BACKENDS["cpu"] = BACKENDS["cpu"]._replace(compile=partial(_checked, BACKENDS["cpu"].compile))
        return
    entry.layout.layouts_hold = lambda: False
    entry._call_portably = partial(guarded.call, at_end=guard == "end")


def _checked(
    compile_module: Callable[[Module, CompileOptions, Phases], Executable],
    module: Module,
    options: CompileOptions,
    phases: Phases,
) -> Executable:
    return compile_module(module, replace(options, check_bounds=True), phases)


def pytest_report_header(config: pytest.Config) -> str:
    """Say so."""
    guard = config.getoption("guard")
    if guard == "bounds":
        return "compiled programs check the bounds of every access"
    return f"compiled programs run between guard pages, which arrays touch at their {guard}"
