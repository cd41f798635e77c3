"""Routines are compiled once: by a process, and where compiled programs are kept, by all processes.

A routine's text is the same in every program that has it, so a program that nobody has compiled before finds there what
takes longest: networks that sort, stages of transforms, register tiles.  Files are for those whose code is worth the
reading.
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.cache import Cache, key_of

_MOST = 1024
"""Routines that are kept in a process, some kilobytes each (chosen)."""

_COMPILED: dict[tuple[str, ...], bytes] = {}
"""Object files, by all that they depend on."""


def compiled(depends_on: tuple[str, ...], make: Callable[[], bytes], cache: Cache | None) -> bytes:
    """The object file of a routine: from this process, from a cache, or made now.

    Args:
        depends_on: its text, and whatever else its code depends on beside this compiler.
        make: compiles it.
        cache: where other processes find it, None where they need not.
    """
    code = _COMPILED.get(depends_on)
    if code is None:
        code = make() if cache is None else _from(cache, key_of("routine", *depends_on), make)
        if len(_COMPILED) < _MOST:
            _COMPILED[depends_on] = code
    return code


def _from(cache: Cache, key: str, make: Callable[[], bytes]) -> bytes:
    code = cache.get(key)
    if code is None:
        code = make()
        cache.put(key, code)
    return code
