"""The LLVM code of this folder, compiled and linked when first needed.

It never changes, so it is written by hand, in a file beside the module that calls it; what only this process or this
machine knows, an address or a system call's number, stands there as `$name`.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from importlib.resources import files
from string import Template
from typing import TypeVar

from compiler.codegen import llvm

_Made = TypeVar("_Made")

# The code mostly waits or calls Python, so a quick compile (2.5 ms for 11 at level 1) is worth more than its speed.
_OPT = 0


def text(name: str, **meanings: object) -> str:
    """The code of `name`.ll with a meaning in place of each `$name`."""
    return Template((files(__package__) / f"{name}.ll").read_text(encoding="ascii")).substitute(meanings)


def link(code: str, exports: Sequence[str]) -> llvm.Library:
    """Compile code for this machine and link it into this process."""
    target = llvm.Target.host()
    return llvm.Library(llvm.parse(code, target, _OPT), exports, target, _OPT)


def pointer(address: int) -> str:
    """An address as an operand."""
    return f"inttoptr (i64 {address} to ptr)"


def once(make: Callable[[], _Made]) -> Callable[[], _Made]:
    """A function that makes the one of this process: whoever comes first makes it, the others wait for it."""
    lock, made = threading.Lock(), functools.cache(make)

    @functools.wraps(make)
    def get() -> _Made:
        with lock:
            return made()

    return get
