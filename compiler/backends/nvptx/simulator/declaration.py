"""Declarations of variables and parameters, which look alike at module level, in signatures and in bodies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from compiler.backends.nvptx.simulator.cursor import Cursor
from compiler.backends.nvptx.simulator.syntax import (
    TYPE_BITS,
    Immediate,
    Parameter,
    Register,
    Relocation,
    Variable,
)

_INTEGERS = re.compile(r"\{\s*+(?:-?(?:0|[1-9]\d*)\s*+(?:,\s*+(?!\})|(?=\})))++\}")
"""A list of nothing but integers, which nearly all that compilers write are: it is read at once."""
_Element = int | float | Immediate | Relocation


def parse_variables(cursor: Cursor, *, is_extern: bool) -> Iterator[Variable]:
    """Read `.space .align N .type name[dims] = init, ...;`."""
    space = cursor.take().text[1:]
    align, type_, lanes = _qualified_type(cursor)
    element_bytes = TYPE_BITS[type_] // 8
    while True:
        name = cursor.name("the variable's name")
        count = _dimensions(cursor)
        initial: tuple[_Element, ...] = ()
        if cursor.accept("="):
            initial = tuple(_initialiser(cursor))
        if count is None:
            count = len(initial)
        size = element_bytes * lanes * count
        yield Variable(
            space, type_, name.text, align or element_bytes * lanes, size, initial, is_extern, cursor.span(name)
        )
        if not cursor.accept(","):
            break
    cursor.expect(";")


def parse_parameters(cursor: Cursor) -> tuple[Parameter, ...]:
    """Read a parenthesised list of parameters and lay them out one after the other."""
    parameters: list[Parameter] = []
    offset = 0
    cursor.expect("(")
    while not cursor.accept(")"):
        if parameters:
            cursor.expect(",")
        parameter = _parameter(cursor, offset)
        offset = parameter.offset + parameter.size_bytes
        parameters.append(parameter)
    return tuple(parameters)


def _parameter(cursor: Cursor, offset: int) -> Parameter:
    if cursor.at(".reg"):
        cursor.fail("parameters in registers are not supported; pass them as .param")
    cursor.expect(".param")
    align, type_, lanes = _qualified_type(cursor)
    name = cursor.name("the parameter's name")
    count = _dimensions(cursor)
    size = TYPE_BITS[type_] // 8 * lanes * (1 if count is None else count)
    align = align or TYPE_BITS[type_] // 8 * lanes
    offset = -(-offset // align) * align
    return Parameter(name.text, type_, align, size, offset)


class _Qualified(NamedTuple):
    """The type of a variable: its alignment in bytes (0 if not given), the element's type, and lanes of a vector."""

    align: int
    type: str
    lanes: int


def _qualified_type(cursor: Cursor) -> _Qualified:
    """The type of a variable; `.ptr .space .align N` tells only about the pointee."""
    align = _attributes(cursor)
    lanes = 1
    if cursor.at(".v2", ".v4"):
        lanes = int(cursor.take().text[2:])
    type_ = cursor.type()
    if type_ == "pred":
        cursor.fail("a predicate lives in a register, not in memory", cursor.last)
    if cursor.accept(".ptr"):
        if cursor.at(".global", ".const", ".shared", ".local", ".param"):
            cursor.take()
        _attributes(cursor)
    return _Qualified(align, type_, lanes)


def _attributes(cursor: Cursor) -> int:
    align = 0
    while cursor.at(".align", ".attribute"):
        if cursor.take().text == ".align":
            align = cursor.integer("the alignment")
            if align <= 0 or align & (align - 1):
                cursor.fail(f"the alignment {align} is not a power of two", cursor.last)
        else:
            while not cursor.accept(")"):
                cursor.take()
    return align


def _dimensions(cursor: Cursor) -> int | None:
    """The number of elements: 1 for a scalar, None for `[]`."""
    count: int | None = 1
    while cursor.accept("["):
        if cursor.accept("]"):
            count = None
            continue
        extent = cursor.integer("an extent")
        if extent < 0:
            cursor.fail(f"the extent {extent} is negative", cursor.last)
        count = None if count is None else count * extent
        cursor.expect("]")
    return count


def _initialiser(cursor: Cursor) -> Iterator[_Element]:
    integers = _INTEGERS.match(cursor.text, cursor.token.start) if cursor.at("{") else None
    if integers:
        yield from map(int, integers[0][1:-1].split(","))
        cursor.pass_over(integers.end())
        return
    if not cursor.accept("{"):
        yield _element(cursor)
        return
    while not cursor.accept("}"):
        yield from _initialiser(cursor)
        if not cursor.at("}"):
            cursor.expect(",")


def _element(cursor: Cursor) -> _Element:
    if cursor.token.kind == "number" or cursor.at("-"):
        value = cursor.number()
        if isinstance(value, int) and cursor.accept("("):
            relocation = _relocation(cursor)
            cursor.expect(")")
            shift = (value & -value).bit_length() - 1
            return Relocation(relocation.symbol, relocation.addend, shift)
        return value
    return _relocation(cursor)


def _relocation(cursor: Cursor) -> Relocation:
    name = cursor.name("a number or a symbol")
    symbol = name.text
    if symbol == "generic" and cursor.accept("("):
        symbol = cursor.name("a symbol").text
        addend = _addend(cursor)
        cursor.expect(")")
        return Relocation(symbol, addend + _addend(cursor))
    return Relocation(symbol, _addend(cursor))


def _addend(cursor: Cursor) -> int:
    if cursor.accept("+"):
        return cursor.integer("an offset")
    return cursor.integer("an offset") if cursor.at("-") else 0


def parse_registers(cursor: Cursor) -> Iterator[tuple[Register, str]]:
    """Read `.reg .type %a, %b<N>;` and give every register with its type."""
    cursor.expect(".reg")
    lanes = 0
    if cursor.at(".v2", ".v4"):
        lanes = int(cursor.take().text[2:])
    type_ = cursor.type()
    while True:
        name = cursor.name("a register's name")
        if cursor.accept("<"):
            for index in range(cursor.integer("the number of registers")):
                yield Register(f"{name.text}{index}"), type_
            cursor.expect(">")
        elif lanes:
            for lane in "xyzw"[:lanes]:
                yield Register(f"{name.text}.{lane}"), type_
        else:
            yield Register(name.text), type_
        if not cursor.accept(","):
            break
    cursor.expect(";")
