"""The reference interpreter: NumPy, one function per opcode; what the other engines are judged by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import compiler
from xlabench.engines.spec import Array, Option, Program
from xlabench.errors import BenchError

OPTIONS: Mapping[str, Option] = {}
DEVICES: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReferenceEngine:
    """Evaluates a module as it stands."""

    spec: str

    def compile(self, module_or_text: Any) -> Program:
        """Parse and verify; nothing else is left to do before the inputs are there."""
        module = compiler.parse(module_or_text) if isinstance(module_or_text, str) else module_or_text
        compiler.verify(module)

        def run(*inputs: Array) -> list[Array]:
            return compiler.interpret(module, *inputs)

        return run


def create(spec: str, options: Mapping[str, Any], *, dump_to: str) -> ReferenceEngine:
    """The interpreter; it has no intermediate forms to dump."""
    assert not options, "the table OPTIONS is empty"
    if dump_to:
        raise BenchError(f"engine {spec!r} compiles nothing and has nothing to dump; leave out the dump folder")
    return ReferenceEngine(spec)
