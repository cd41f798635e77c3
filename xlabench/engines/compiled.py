"""What the back ends of our own compiler share: options of a spec become `CompileOptions`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import compiler
from compiler import CompileOptions
from xlabench.engines.spec import FUEL, LEVEL, NAMES, SWITCH, Option, Program

COMMON_OPTIONS: Mapping[str, Option] = {
    "fusion": SWITCH,
    "opt": LEVEL,
    "fuel": FUEL,
    "disable_passes": NAMES,
    "llvm_limit": FUEL,
}


@dataclass(frozen=True, slots=True)
class CompiledEngine:
    """One back end with one set of options; its programs are the compiler's executables."""

    spec: str
    backend: str
    options: CompileOptions

    def compile(self, module_or_text: Any) -> Program:
        """Compile to an executable, which also offers its artifacts."""
        return compiler.compile(module_or_text, backend=self.backend, options=self.options)

    def trace(
        self, module_or_text: Any, entering: Callable[[str], None], *, withhold_required: bool = False
    ) -> compiler.Trace:
        """What the passes make of a program before the back end sees it.

        Args:
            module_or_text: the program.
            entering: hears the name of each pass before it runs.
            withhold_required: whether fuel limits required rewrites too.
        """
        module = compiler.parse(module_or_text) if isinstance(module_or_text, str) else module_or_text
        return compiler.trace(module, self.options, entering=entering, withhold_required=withhold_required)


_DUMPED = ("dump_as", "dump_pass_re", "dump_snapshots", "dump_unoptimized_snapshots")


def create_compiled(spec: str, backend: str, options: Mapping[str, Any], dump_to: str) -> CompiledEngine:
    """The engine whose options are named as the fields of `CompileOptions` are.

    What a dump shows, and in which forms, is asked of XLA_FLAGS, and whether compiled programs are kept, of
    XLABENCH_CACHE; nothing else is, since all that changes code stands in the spec.  The back end is loaded here: that
    is no part of compiling.

    Args:
        spec: the engine's, as it is written.
        backend: the compiler's name for the back end.
        options: fields of `CompileOptions`.
        dump_to: the folder for dumps, "" for none.
    """
    compiler.load(backend)
    heard = {name: value for name, value in os.environ.items() if dump_to or name != "XLA_FLAGS"}
    asked = compiler.environment_options(heard).options
    dumps = {name: getattr(asked, name) for name in _DUMPED}
    asked_for = CompileOptions(**options, dump_to=dump_to, **dumps, cache=asked.cache)
    return CompiledEngine(spec, backend, asked_for)
