"""A pytest plug-in (`-p tests.guard`): compiled programs run between pages that nobody may touch.

`--guard end`, the default, has their arrays end at such a page, `--guard start` begin at one; how a foreign byte then
shows is told in `compiler.backends.cpu.runtime.guarded`.
"""

from __future__ import annotations

from functools import partial

import pytest

from compiler.backends.cpu.runtime import entry, guarded


def pytest_addoption(parser: pytest.Parser) -> None:
    """Ask on which side of the arrays the page without access is nearer."""
    parser.addoption("--guard", choices=("end", "start"), default="end", help="where arrays touch a guard page")


def pytest_configure(config: pytest.Config) -> None:
    """Let every program that is compiled from now on be called in this way."""
    entry.layout.layouts_hold = lambda: False
    entry._call_portably = partial(guarded.call, at_end=config.getoption("guard") == "end")


def pytest_report_header(config: pytest.Config) -> str:
    """Say so."""
    return f"compiled programs run between guard pages, which arrays touch at their {config.getoption('guard')}"
