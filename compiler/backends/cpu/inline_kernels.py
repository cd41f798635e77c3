"""Small kernels of loops, written into the program where they are called.

What an iteration of a loop over scalars computes takes less than the calls of its kernels do.  So of a small kernel
there is a copy that LLVM puts in the call's place, where it knows that one thread does it all.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.codegen.llvm_ir import Function, Module

_MOST_LINES = 200
"""Lines of LLVM IR of a kernel without branches that is written into the loop that calls it: five calls an iteration
took 100 times as long as XLA (11-21). A single one takes, and compiles, as long either way
(`reports/measured/2026-11-26-constants`)."""
_MOST_WITH_BRANCHES = 100
"""And of one with branches, which LLVM takes longer for: an iteration of eleven kernels 35 to 25 ns (11-22)."""


@dataclass(slots=True)
class Copies:
    """The copies that have been made, by the name of the function that each is of."""

    module: Module
    _names: dict[str, str] = field(default_factory=dict)

    def name(self, function: str) -> str:
        """What an iteration calls in place of a function: its copy, or where there is none, the function itself."""
        if function not in self._names:
            (original,) = (candidate for candidate in self.module.functions if candidate.name == function)
            self._names[function] = self._copy(original).name if _is_small(original) else function
        return self._names[function]

    def _copy(self, original: Function) -> Function:
        copy = self.module.function(
            f"{original.name}.iteration",
            original.result,
            original.parameters,
            linkage="internal",
            attributes="alwaysinline nounwind",
        )
        copy.lines, copy.counter = original.lines, original.counter
        return copy


def _is_small(function: Function) -> bool:
    """Whether a function has few instructions, fewer where it has several blocks."""
    blocks = sum(line.endswith(":") for line in function.lines)
    return len(function.lines) <= (_MOST_LINES if blocks == 1 else _MOST_WITH_BRANCHES)
