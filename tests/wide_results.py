"""What the wide mode says of a small program."""

from __future__ import annotations

from typing import Any

import compiler
from compiler import WideResult


def wide(*lines: str, inputs: tuple[Any, ...] = (), computations: str = "") -> list[WideResult]:
    text = "\n".join(["HloModule m", computations, "ENTRY e {", *lines, "}"])
    return compiler.interpret(compiler.parse(text), *inputs, wide=True)
