"""Undefined symbols of an object file, and the functions that refer to them.

LLVM calls functions of its own accord where a machine has no instruction, conversions of halves for one, and says so
nowhere but in the object file.  Only what 64-bit little-endian ELF has is read, which is what all our CPUs' code is.
"""

from __future__ import annotations

import functools
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

_HEADER = struct.Struct("<40xQ10xHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_SYMBOLS, _RELOCATIONS = 2, 4
"""`SHT_SYMTAB` and `SHT_RELA`, kinds of sections (System V ABI)."""
_FUNCTION = 2
"""`STT_FUNC`, the type of a symbol that is a function (System V ABI, symbol table)."""
_LOCAL = 0
"""`STB_LOCAL`, the binding of a symbol that no other file sees (System V ABI)."""
_OF_THE_LINKER = frozenset({"_GLOBAL_OFFSET_TABLE_"})
"""What linkers define themselves."""


class UndefinedSymbolError(RuntimeError):
    """Generated code refers to a symbol that nothing defines: a bug in emission."""


@dataclass(frozen=True, slots=True)
class Names:
    """Symbols of an object file: those it defines for others, and for each it lacks the functions that refer to it."""

    defined: frozenset[str]
    undefined: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Section:
    kind: int
    offset: int
    size: int
    link: int
    info: int


@dataclass(frozen=True, slots=True)
class _Symbol:
    name: str
    is_local: bool
    is_function: bool
    section: int
    start: int
    size: int


@functools.lru_cache(maxsize=64)
def names(code: bytes) -> Names:
    """The names in an object file; who makes one asks as soon as it is there, who links it asks again."""
    sections = _sections(code)
    table = next((section for section in sections if section.kind == _SYMBOLS), None)
    if table is None:
        return Names(frozenset(), {})
    symbols = list(_symbols(code, table, sections[table.link]))
    lacking = {symbol.name for symbol in symbols if not symbol.section and symbol.name} - _OF_THE_LINKER
    users: dict[str, set[str]] = {name: set() for name in lacking}
    for section in sections if lacking else ():
        if section.kind == _RELOCATIONS:
            functions = sorted(
                (s for s in symbols if s.is_function and s.section == section.info), key=attrgetter("start")
            )
            for offset, number in _relocations(code, section):
                if symbols[number].name in users:
                    users[symbols[number].name] |= _at(functions, offset)
    defined = frozenset(symbol.name for symbol in symbols if symbol.section and not symbol.is_local)
    return Names(defined, {name: tuple(sorted(users[name])) for name in sorted(users)})


def _sections(code: bytes) -> list[_Section]:
    if code[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not an object file of 64-bit little-endian ELF")
    start, size, count, _ = _HEADER.unpack_from(code)
    fields = (_SECTION.unpack_from(code, start + number * size) for number in range(count))
    return [_Section(kind, at, length, link, info) for _, kind, _, _, at, length, link, info, _, _ in fields]


def _symbols(code: bytes, table: _Section, strings: _Section) -> Iterator[_Symbol]:
    for name, info, _, section, start, size in _SYMBOL.iter_unpack(code[table.offset : table.offset + table.size]):
        first = strings.offset + name
        text = code[first : code.index(b"\0", first)].decode()
        yield _Symbol(text, info >> 4 == _LOCAL, info & 15 == _FUNCTION, section, start, size)


def _relocations(code: bytes, section: _Section) -> Iterator[tuple[int, int]]:
    """Where symbols are referred to, and the symbols' numbers."""
    for offset, info, _ in _RELOCATION.iter_unpack(code[section.offset : section.offset + section.size]):
        yield offset, info >> 32


def _at(functions: Sequence[_Symbol], offset: int) -> set[str]:
    """The function at a place in a section, of the section's functions in order."""
    number = bisect_right(functions, offset, key=attrgetter("start")) - 1
    return {s.name for s in functions[max(number, 0) : number + 1] if offset - s.start < s.size}


def check_symbols(objects: Sequence[bytes], provided: Callable[[str], bool]) -> None:
    """Raise an UndefinedSymbolError where object files refer to what neither they define nor is provided."""
    found = [names(code) for code in objects]
    defined = frozenset[str]().union(*(of.defined for of in found))
    lacking = {
        symbol: users
        for of in found
        for symbol, users in of.undefined.items()
        if symbol not in defined and not provided(symbol)
    }
    if lacking:
        uses = "; ".join(f"{symbol}, asked for by {' and '.join(users) or 'data'}" for symbol, users in lacking.items())
        raise UndefinedSymbolError(f"code was generated that cannot be linked, since nothing defines {uses}")
