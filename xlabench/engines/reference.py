"""The reference interpreter: NumPy, one function per opcode; what the other engines are judged by.

`reference:wide` evaluates in f64 throughout: the results that all others approximate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import compiler
from xlabench.engines.spec import SWITCH, Array, Option, Program
from xlabench.errors import BenchError

OPTIONS: Mapping[str, Option] = {"wide": SWITCH}
DEVICES: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReferenceEngine:
    """Evaluates a module as it stands; `wide` in f64 throughout, rounded to the program's own types at the end."""

    spec: str
    wide: bool = False

    def compile(self, module_or_text: Any) -> Program:
        """Parse and verify; nothing else is left to do before the inputs are there."""
        module = compiler.parse(module_or_text) if isinstance(module_or_text, str | bytes) else module_or_text
        compiler.verify(module)
        prepared = cache(lambda: compiler.prepare(module))  # what cannot be run is an error of the call

        def run(*inputs: Array) -> list[Array]:
            return prepared()(*inputs)

        def run_wide(*inputs: Array) -> list[Array]:
            return [result.rounded() for result in compiler.interpret(module, *inputs, wide=True)]

        return run_wide if self.wide else run


def create(spec: str, options: Mapping[str, Any], *, dump_to: str) -> ReferenceEngine:
    """The interpreter; it has no intermediate forms to dump.

    Args:
        spec: as it was written.
        options: their values, by names.
        dump_to: without meaning here.

    Raises:
        BenchError: a folder for dumps is given.
    """
    if dump_to:
        raise BenchError(f"engine {spec!r} compiles nothing and has nothing to dump; leave out the dump folder")
    return ReferenceEngine(spec, bool(options.get("wide", False)))
