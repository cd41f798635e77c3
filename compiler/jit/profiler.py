"""Whether it pays to compile a cluster, from what happened to it before.

A cluster is compiled the first time that it runs: most graphs have one set of shapes.  A later signature is compiled
when it is asked for the second time, since the first may have been the last.  A cluster that was compiled often and
seldom ran what was compiled, because its shapes change all the time, is *megamorphic*: for ever it is compiled no more.
"""

from __future__ import annotations

from dataclasses import dataclass

REQUESTS_BEFORE_COMPILATION = 2
"""Requests of a signature after which it is compiled (TensorFlow, device_compilation_profiler.cc)."""
MOST_COMPILATIONS = 10
"""Compilations from which on a cluster may be megamorphic."""
LEAST_EXECUTIONS = 50
"""Executions for each compilation with which it is not."""


@dataclass(slots=True)
class Statistics:
    """What happened to a cluster.

    Attributes:
        compilations: how often it was compiled.
        executions: how often it was asked for.
        compile_ns: how long compiling took in all.
        is_megamorphic: whether it is compiled no more.
    """

    compilations: int = 0
    executions: int = 0
    compile_ns: int = 0
    is_megamorphic: bool = False

    def executed(self) -> None:
        """Count that a cluster was asked for once more."""
        self.executions += 1
        too_few = self.executions < LEAST_EXECUTIONS * self.compilations
        self.is_megamorphic |= self.compilations > MOST_COMPILATIONS and too_few

    def compiled(self, duration_ns: int) -> None:
        """Count that a cluster was compiled once more, and how long that took."""
        self.compilations += 1
        self.compile_ns += duration_ns

    def pays(self, requests: int) -> bool:
        """Whether to compile a signature that was asked for so often, this time included."""
        if self.is_megamorphic:
            return False
        return self.executions == 1 or requests >= REQUESTS_BEFORE_COMPILATION
