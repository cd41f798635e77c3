"""An HLO compiler: text in, reference results, LLVM IR, native code and PTX out.

This is the front door; nothing outside the package needs more than these names.  It loads
`compiler.startup` before anything else, and so not even `__future__`.
"""

import compiler.startup  # noqa: F401 - it comes before all that is loaded

# isort: split
from importlib import import_module
from typing import TYPE_CHECKING, Any

from compiler import edit, frontends, generate, mutation, ops
from compiler.backends.cpu import limits
from compiler.backends.executable import Executable, ExecutableInfo
from compiler.codegen.llvm import version as llvm_version
from compiler.custom_calls import load_custom_calls, register_custom_call
from compiler.devices import Host, interpret_devices
from compiler.diagnostics import CompilerError, InputError, ParseError, UnsupportedError, VerifyError
from compiler.driver import (
    compile,  # noqa: A004  # the name that users of compilers expect
    compile_ahead,
    decide,
    environment_options,
    interpret,
    load,
    optimize,
    prepare,
)
from compiler.inputs import settle_elided
from compiler.ir.module import Module, print_with
from compiler.options import CompileOptions
from compiler.plan import device_count, times_given
from compiler.snapshots import Trace, trace
from compiler.text.parser import parse, parse_many
from compiler.text.printer import to_text
from compiler.verifier import verify
from compiler.wide import WideResult

if TYPE_CHECKING:
    from compiler import tf
    from compiler.backends.nvptx import standalone as ptx

print_with(to_text)


def __getattr__(name: str) -> Any:
    """Load `compiler.ptx`, and the simulator with it, or `compiler.tf`, when it is first asked for."""
    if name == "ptx":
        return import_module("compiler.backends.nvptx.standalone")
    if name == "tf":
        return import_module("compiler.tf")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "CompileOptions",
    "CompilerError",
    "Executable",
    "ExecutableInfo",
    "Host",
    "InputError",
    "Module",
    "ParseError",
    "Trace",
    "UnsupportedError",
    "VerifyError",
    "WideResult",
    "compile",
    "compile_ahead",
    "decide",
    "device_count",
    "edit",
    "environment_options",
    "frontends",
    "generate",
    "interpret",
    "interpret_devices",
    "limits",
    "llvm_version",
    "load",
    "load_custom_calls",
    "mutation",
    "ops",
    "optimize",
    "parse",
    "parse_many",
    "prepare",
    "ptx",
    "register_custom_call",
    "settle_elided",
    "tf",
    "times_given",
    "to_text",
    "trace",
    "verify",
]
