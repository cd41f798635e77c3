"""Routines are written once in a process: modules that need one that another has had get a copy of its text.

A routine is the same in every program that has one of its name, and to write hundreds of instructions takes longer than
to copy them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import replace

from compiler.codegen.llvm_ir.module import Module

_MOST = 1024
"""Routines whose text is kept in a process, some tens of kilobytes each (chosen)."""

_WRITTEN: dict[Hashable, Module] = {}
"""Modules that hold nothing but a routine and what it calls, by all that their text depends on."""

_NODE = re.compile(r"!(\d+)")


def write_once(module: Module, name: Hashable, write: Callable[[Module], object]) -> None:
    """Define a routine, with the routines that it calls, in a module.

    Args:
        module: where it is defined, and it and what it calls may be known already.
        name: says all that the routine's text depends on beside the target's features.
        write: defines it in the module that it is given; it may define routines and declare functions, nothing else.
    """
    key = name, module.features, module.unrolls
    written = _WRITTEN.get(key)
    if written is None:
        written = Module(module.features, unrolls=module.unrolls)
        write(written)
        if len(_WRITTEN) < _MOST:
            _WRITTEN[key] = written
    _copy(written, module)


def _copy(written: Module, module: Module) -> None:
    assert not written.globals, "a routine that is copied has no globals, whose names may mean something else"
    first = len(module.nodes)

    def moved(text: str) -> str:
        return _NODE.sub(lambda found: f"!{int(found[1]) + first}", text) if "!" in text else text

    for name, declaration in written.declarations.items():
        module.add_declaration(name, declaration)
    for function in written.functions:
        if not module.has_function(function.name):
            copy = replace(function, module=module, lines=[*map(moved, function.lines)], shared={}, codes={})
            module.add(copy)
    module.nodes += map(moved, written.nodes)
