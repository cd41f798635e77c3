"""The syntax of attributes: for each kind of value, how it is read and how it is written.

Kinds that name computations or instructions are the parser's and printer's own, since they need to look names up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from compiler.ir.attributes import VOCABULARY, AttributeKind, Domain
from compiler.text import devices, notes, plain
from compiler.text.constants import write_typed_literal
from compiler.text.lexer import Scanner, quoted
from compiler.text.literals import read_typed_literal
from compiler.text.shapes import read_shape


@dataclass(frozen=True, slots=True)
class Syntax:
    """A reader and a writer of values of one kind; `repeats` says that equal texts always mean equal values."""

    read: Callable[[Scanner], Any]
    write: Callable[[Any], str]
    repeats: bool = True


def read_domain(scanner: Scanner) -> Domain:
    """`{kind="sharding", entry={...}, exit={...}}`."""
    start = scanner.skip()
    fields = dict(notes.read_fields(scanner, _DOMAIN, "a domain"))
    missing = [key for key in _DOMAIN if key not in fields]
    if missing:
        scanner.fail(f"a domain needs {' and '.join(missing)}", start, scanner.pos)
    return Domain(**fields)


def write_domain(value: Domain) -> str:
    """`{kind="sharding", entry={...}, exit={...}}`."""
    entry, leave = devices.write_sharding(value.entry), devices.write_sharding(value.exit)
    return f"{{kind={quoted(value.kind)}, entry={entry}, exit={leave}}}"


_DOMAIN = {"kind": Scanner.string, "entry": devices.read_sharding, "exit": devices.read_sharding}
_K = AttributeKind

SYNTAX: dict[AttributeKind, Syntax] = {
    _K.INTEGER: Syntax(Scanner.integer, str),
    _K.INTEGERS: Syntax(Scanner.integers, plain.write_integers),
    _K.BOOLEAN: Syntax(Scanner.boolean, plain.write_boolean),
    _K.BOOLEANS: Syntax(plain.read_booleans, plain.write_booleans),
    _K.BOOLEAN_OR_BOOLEANS: Syntax(plain.read_boolean_or_booleans, plain.write_boolean_or_booleans),
    _K.FLOAT: Syntax(Scanner.number, plain.write_float),
    _K.WORD: Syntax(lambda scanner: scanner.word("a word"), str),
    _K.WORDS: Syntax(plain.read_words, plain.write_words),
    _K.STRING: Syntax(Scanner.string, quoted),
    _K.WINDOW: Syntax(plain.read_window, plain.write_window),
    _K.SLICES: Syntax(plain.read_slices, plain.write_slices),
    _K.PADDING: Syntax(plain.read_padding, plain.write_padding),
    _K.CONVOLUTION: Syntax(plain.read_convolution, plain.write_convolution),
    _K.SHAPE: Syntax(read_shape, str, repeats=False),
    _K.SHAPES: Syntax(plain.read_shapes, plain.write_shapes),
    _K.LITERAL: Syntax(read_typed_literal, write_typed_literal, repeats=False),
    _K.STRINGS: Syntax(notes.read_strings, notes.write_strings),
    _K.METADATA: Syntax(notes.read_metadata, notes.write_metadata),
    _K.PAIRS: Syntax(plain.read_pairs, plain.write_integers),
    _K.BACKEND_CONFIG: Syntax(plain.read_text_or_json, plain.write_text_or_json),
    _K.SHARDING: Syntax(devices.read_sharding, devices.write_sharding),
    _K.DEVICE_GROUPS: Syntax(devices.read_device_groups, devices.write_device_groups, repeats=False),
    _K.RESULT_ACCURACY: Syntax(notes.read_result_accuracy, notes.write_result_accuracy),
    _K.STATISTICS: Syntax(notes.read_statistics, notes.write_statistics),
    _K.ORIGIN: Syntax(notes.read_origin, notes.write_origin),
    _K.RECOVERY_TABLE: Syntax(notes.read_recovery_table, notes.write_recovery_table),
    _K.DOMAIN: Syntax(read_domain, write_domain),
    _K.OUTPUT_ALIASES: Syntax(notes.read_output_aliases, notes.write_output_aliases),
    _K.PARAMETER_ALIASES: Syntax(notes.read_parameter_aliases, notes.write_parameter_aliases),
    _K.BUFFER_DONORS: Syntax(notes.read_buffer_donors, notes.write_buffer_donors),
    _K.ENTRY_LAYOUT: Syntax(notes.read_entry_layout, notes.write_entry_layout),
    _K.BRACED_TEXT: Syntax(lambda scanner: scanner.braced("this value"), str),
}
"""Every kind of value that stands by itself."""


def read_value(scanner: Scanner, name: str, kind: AttributeKind) -> Any:
    """The value of an attribute; words outside its vocabulary are refused, other capitals are not.

    Args:
        scanner: the text, behind the `=`.
        name: of the attribute.
        kind: how it is written.
    """
    value = SYNTAX[kind].read(scanner)
    known = VOCABULARY.get(name)
    if known is None:
        return value
    if isinstance(value, tuple):
        return tuple(_canonical(scanner, name, word, known) for word in value)
    return _canonical(scanner, name, value, known)


def _canonical(scanner: Scanner, name: str, word: str, known: tuple[str, ...]) -> str:
    if word in known:
        return word
    spelling = next((other for other in known if other.lower() == word.lower()), None)
    if spelling is None:
        scanner.unknown(f"value of {name}", word, known)
    return spelling
