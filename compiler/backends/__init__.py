"""Back ends: from an optimised module to something that runs.

`BACKENDS` is the table; adding a back end is its folder and one row.  A back end is loaded when it is first used: that
takes more time than all else of the compiler, and a process needs one of them, or none, as the reference does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pkgutil import resolve_name
from typing import NamedTuple

from compiler.backends.decisions import Decisions
from compiler.backends.executable import Executable, Phases, Serializer
from compiler.codegen.llvm import Target
from compiler.ir.module import Module
from compiler.ir.rewrite import Refusal
from compiler.options import CompileOptions


class Backend(NamedTuple):
    """A back end; functions are named as `module:name`.

    Attributes:
        pipeline: the name of the pipeline that prepares modules for it.
        code: the function from a module so prepared, options and phases to an executable.
        decided: the function from a module so prepared, options and what fusion refused to what would be decided.
        kept: the `Serializer` by which its executables are kept and restored, where they can be.
        files: the function that compiles to files for a machine without a compiler, where there is one.
    """

    pipeline: str
    code: str
    decided: str
    kept: str = ""
    files: str = ""

    def load(self) -> None:
        """Load its code, so that the first compilation does not."""
        resolve_name(self.code)

    def compile(self, module: Module, options: CompileOptions, phases: Phases) -> Executable:
        """Compile a module that the pipeline has prepared.

        Args:
            module: what the back end's pipeline made.
            options: of the compilation.
            phases: is told how long each step takes.
        """
        executable: Executable = resolve_name(self.code)(module, options, phases)
        return executable

    def decide(
        self, module: Module, options: CompileOptions, refusals: Sequence[Refusal] | None, target: Target | None
    ) -> Decisions:
        """The kernels that the back end would make of a module, and why.

        Args:
            module: as the pipeline has prepared it.
            options: those of a compilation.
            refusals: what fusion considered and did not do; None where neither reasons nor estimates are asked for.
            target: the machine, where it is not this one.
        """
        decisions: Decisions = resolve_name(self.decided)(module, options, refusals, target)
        return decisions

    @property
    def serializer(self) -> Serializer | None:
        """The way executables are kept and restored; None where they cannot be."""
        return resolve_name(self.kept) if self.kept else None

    @property
    def compile_ahead(self) -> Callable[..., Mapping[str, bytes]]:
        """The function that makes files of a module that the pipeline has prepared."""
        function: Callable[..., Mapping[str, bytes]] = resolve_name(self.files)
        return function


BACKENDS: dict[str, Backend] = {
    "cpu": Backend(
        "compile",
        "compiler.backends.cpu.executable:compile_module",
        "compiler.backends.cpu.executable:decide_module",
        kept="compiler.backends.cpu.executable:SERIALIZER",
        files="compiler.backends.cpu.ahead:compile_ahead",
    ),
    "nvptx": Backend(
        "compile-nvptx",
        "compiler.backends.nvptx.executable:NvptxExecutable",
        "compiler.backends.nvptx.executable:decide_module",
    ),
}
"""Every back end by name."""
