"""What is written about instructions rather than into them: metadata, origins, statistics, accuracy, aliases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from compiler.ir.attributes import (
    BufferDonor,
    EntryLayout,
    Origin,
    OriginArray,
    OutputAlias,
    ParameterAlias,
    RecoveryEntry,
    ResultAccuracy,
    StackFrames,
    Statistics,
)
from compiler.text.lexer import NAME, SPACE, Scanner, pattern, quoted
from compiler.text.plain import read_text_or_json, write_float, write_integers, write_text_or_json
from compiler.text.shapes import read_shape

_STRINGS = ("op_type", "op_name", "source_file", "deduplicated_name", "scheduling_name", "metadata_payload")
_NUMBERS = ("source_line", "source_end_line", "source_column", "source_end_column", "stack_frame_id")
_METADATA = {
    **dict.fromkeys(_STRINGS, Scanner.string),
    **dict.fromkeys(_NUMBERS, Scanner.integer),
    "profile_type": Scanner.integers,
}
_ORIGIN_TREE = pattern(r"([(){,}])")
_STRING_KEY = pattern(f"({NAME}){SPACE}=")
_ROW = pattern(r"\d++(?=[ \t\r\n]*[{\"'])")


def read_metadata(scanner: Scanner) -> tuple[tuple[str, Any], ...]:
    """`{op_type="add" op_name="jit(f)/add" source_line=3}`."""
    return read_fields(scanner, _METADATA, "metadata")


def read_fields(scanner: Scanner, readers: dict[str, Any], what: str) -> tuple[tuple[str, Any], ...]:
    """`{key=value key=value}`, commas between them allowed.

    Args:
        scanner: the text.
        readers: what reads the value of each key.
        what: the notes, for messages.
    """
    scanner.expect("{", f"that begins {what}")
    fields: dict[str, Any] = {}
    while not scanner.accept("}"):
        scanner.accept(",")
        key = scanner.key(f"a field of {what} or '}}'")
        start = scanner.pos - len(key) - 1
        if key not in readers:
            scanner.unknown(f"field of {what}", key, readers, start)
        if key in fields:
            scanner.fail(f"'{key}' is written twice in {what}", start)
        fields[key] = readers[key](scanner)
    return tuple(fields.items())


def write_metadata(value: Sequence[tuple[str, Any]]) -> str:
    """`{op_type="add" op_name="jit(f)/add" source_line=3}`."""
    return "{" + " ".join(f"{key}={_write_field(field)}" for key, field in value) + "}"


def _write_field(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    return write_integers(value) if isinstance(value, tuple) else str(value)


def read_strings(scanner: Scanner) -> tuple[tuple[str, str], ...]:
    """`{key="value",other={"json": 1}}`."""
    return scanner.items("{", "}", lambda: (scanner.key("a key"), read_text_or_json(scanner)))


def write_strings(value: Sequence[tuple[str, str]]) -> str:
    """`{key="value",other={"json": 1}}`."""
    return "{" + ",".join(f"{key}={write_text_or_json(text)}" for key, text in value) + "}"


def read_statistics(scanner: Scanner) -> Statistics:
    """`{visualizing_index=0,name=1.5}`."""
    scanner.expect("{", "that begins statistics")
    if scanner.accept("}"):
        return Statistics(0, ())
    scanner.key("visualizing_index")
    shown = scanner.integer()
    values = []
    while scanner.accept(","):
        values.append((scanner.key("the name of a statistic"), scanner.number()))
    scanner.expect("}", "that ends statistics")
    return Statistics(shown, tuple(values))


def write_statistics(value: Statistics) -> str:
    """`{visualizing_index=0,name=1.5}`."""
    texts = [f"visualizing_index={value.shown}", *(f"{name}={write_float(number)}" for name, number in value.values)]
    return "{" + ",".join(texts) + "}"


_TOLERANCE = {"atol": Scanner.number, "rtol": Scanner.number, "ulps": Scanner.integer}
_MODES = ("default", "highest")


def read_result_accuracy(scanner: Scanner) -> ResultAccuracy:
    """`{mode=highest}` or `{tolerance={atol=0.001,rtol=0,ulps=2}}`."""
    scanner.expect("{", "that begins the accuracy of a result")
    key = scanner.key("mode or tolerance")
    if key == "mode":
        mode = scanner.word("an accuracy mode").lower()
        if mode not in _MODES:
            scanner.unknown("accuracy mode", mode, _MODES)
        accuracy = ResultAccuracy(mode)
    elif key == "tolerance":
        accuracy = ResultAccuracy("", **dict(read_fields(scanner, _TOLERANCE, "a tolerance")))
    else:
        scanner.unknown("property of an accuracy", key, ("mode", "tolerance"), scanner.pos - len(key) - 1)
    scanner.expect("}", "that ends the accuracy of a result")
    return accuracy


def write_result_accuracy(value: ResultAccuracy) -> str:
    """`{mode=highest}` or `{tolerance={atol=0.001,rtol=0,ulps=2}}`."""
    if value.mode:
        return f"{{mode={value.mode}}}"
    return f"{{tolerance={{atol={write_float(value.atol)},rtol={write_float(value.rtol)},ulps={value.ulps}}}}}"


def read_origin(scanner: Scanner) -> Origin:
    """`{({"x"}, {"y" {1}})}` or `{[synthetic_call]}`; `{}` is `{()}`."""
    scanner.expect("{", "that begins an origin")
    if scanner.accept("["):
        if not scanner.accept_word("synthetic_call"):
            scanner.expected("synthetic_call")
        scanner.expect("]")
        tree = None
    else:
        tree = () if scanner.at("}") else _read_tree(scanner)
    scanner.expect("}", "that ends an origin")
    return Origin(tree)


def _read_tree(scanner: Scanner) -> Any:
    if not scanner.at("("):
        return read_origin_array(scanner)
    return scanner.nested(lambda: scanner.items("(", ")", lambda: _read_tree(scanner)), "an origin")


def read_origin_array(scanner: Scanner) -> OriginArray:
    """`{"x" {1}}`."""
    scanner.expect("{", "that begins the name of an instruction")
    if scanner.accept("}"):
        return OriginArray()
    name = scanner.string("the name of an instruction in quotes")
    index = scanner.integers() if scanner.at("{") else ()
    scanner.expect("}", "that ends the name of an instruction")
    return OriginArray(name, index)


def write_origin(value: Origin) -> str:
    """`{({"x"}, {"y" {1}})}` or `{[synthetic_call]}`."""
    return "{[synthetic_call]}" if value.tree is None else "{" + _write_tree(value.tree) + "}"


def _write_tree(tree: Any) -> str:
    if isinstance(tree, tuple):
        return "(" + ", ".join(map(_write_tree, tree)) + ")"
    return write_origin_array(tree)


def write_origin_array(value: OriginArray) -> str:
    """`{"x" {1}}`."""
    if not value.instruction:
        return "{}"
    return f"{{{quoted(value.instruction)}{' ' + write_integers(value.index) if value.index else ''}}}"


def read_recovery_table(scanner: Scanner) -> tuple[RecoveryEntry, ...]:
    """`{ {"a"} : {"b"}, "module" ... }`."""
    scanner.expect("{", "that begins a recovery table")
    entries = []
    while not scanner.accept("}"):
        replaced = read_origin_array(scanner)
        scanner.expect(":")
        replacing = read_origin_array(scanner)
        entries.append(RecoveryEntry(replaced, replacing, scanner.string() if scanner.accept(",") else None))
    return tuple(entries)


def write_recovery_table(value: Sequence[RecoveryEntry]) -> str:
    """`{ {"a"} : {"b"}, "module" ... }`."""
    return "{" + "".join(f"\n  {_write_entry(entry)}" for entry in value) + "\n}\n"


def _write_entry(entry: RecoveryEntry) -> str:
    text = f"{write_origin_array(entry.replaced)} : {write_origin_array(entry.replacing)}"
    return text if entry.module is None else f"{text}, {quoted(entry.module)}"


def read_output_aliases(scanner: Scanner) -> tuple[OutputAlias, ...]:
    """`{{0}: (1, {})}`."""

    def read() -> OutputAlias:
        output = scanner.integers()
        scanner.expect(":")
        scanner.expect("(")
        operand = scanner.integer()
        scanner.expect(",")
        index = scanner.integers()
        scanner.expect(")")
        return OutputAlias(output, operand, index)

    return scanner.items("{", "}", read)


def write_output_aliases(value: Sequence[OutputAlias]) -> str:
    """`{{0}: (1, {})}`."""
    return "{" + ", ".join(_write_alias(a.output_index, a.operand, a.operand_index) for a in value) + "}"


def _write_alias(output: tuple[int, ...], number: int, index: tuple[int, ...], kind: str = "") -> str:
    return f"{write_integers(output)}: ({number}, {write_integers(index)}{', ' + kind if kind else ''})"


_ALIAS_KINDS = ("may-alias", "must-alias")


def read_parameter_aliases(scanner: Scanner) -> tuple[ParameterAlias, ...]:
    """`{ {0}: (1, {}, may-alias) }`."""

    def read() -> ParameterAlias:
        output = scanner.integers()
        scanner.expect(":")
        scanner.expect("(")
        parameter = scanner.integer()
        scanner.expect(",")
        index = scanner.integers()
        kind = scanner.word("may-alias or must-alias") if scanner.accept(",") else _ALIAS_KINDS[0]
        if kind not in _ALIAS_KINDS:
            scanner.unknown("kind of alias", kind, _ALIAS_KINDS)
        scanner.expect(")")
        return ParameterAlias(output, parameter, index, kind)

    return scanner.items("{", "}", read)


def write_parameter_aliases(value: Sequence[ParameterAlias]) -> str:
    """`{ {0}: (1, {}, may-alias) }`."""
    texts = (_write_alias(a.output_index, a.parameter, a.parameter_index, a.kind) for a in value)
    return "{ " + ", ".join(texts) + " }"


def read_buffer_donors(scanner: Scanner) -> tuple[BufferDonor, ...]:
    """`{ (0, {}) }`."""

    def read() -> BufferDonor:
        scanner.expect("(")
        parameter = scanner.integer()
        scanner.expect(",")
        index = scanner.integers()
        scanner.expect(")")
        return BufferDonor(parameter, index)

    return scanner.items("{", "}", read)


def write_buffer_donors(value: Sequence[BufferDonor]) -> str:
    """`{ (0, {}) }`."""
    return "{ " + ", ".join(f"({d.parameter}, {write_integers(d.parameter_index)})" for d in value) + " }"


def read_entry_layout(scanner: Scanner) -> EntryLayout:
    """`{(f32[2]{0}, f32[])->f32[2]{0}}`."""
    scanner.expect("{", "that begins the entry computation's layout")
    parameters = scanner.items("(", ")", lambda: read_shape(scanner))
    scanner.expect("->")
    result = read_shape(scanner)
    scanner.expect("}", "that ends the entry computation's layout")
    return EntryLayout(parameters, result)


def write_entry_layout(value: EntryLayout) -> str:
    """`{(f32[2]{0}, f32[])->f32[2]{0}}`."""
    texts = (f"/*index={i}*/{shape}" if i and i % 5 == 0 else str(shape) for i, shape in enumerate(value.parameters))
    return f"{{({', '.join(texts)})->{value.result}}}"


_LOCATION = dict.fromkeys(
    ("file_name_id", "function_name_id", "line", "end_line", "column", "end_column"), Scanner.integer
)
_FRAME = dict.fromkeys(("file_location_id", "parent_frame_id"), Scanner.integer)


def read_stack_frames(scanner: Scanner) -> StackFrames | None:
    """The four tables behind the module's header, if they are there."""
    if not scanner.accept_word("FileNames"):
        return None
    files = _rows(scanner, lambda: scanner.string())
    _heading(scanner, "FunctionNames")
    functions = _rows(scanner, lambda: scanner.string())
    _heading(scanner, "FileLocations")
    locations = _rows(scanner, lambda: read_fields(scanner, _LOCATION, "a file location"))
    _heading(scanner, "StackFrames")
    frames = _rows(scanner, lambda: read_fields(scanner, _FRAME, "a stack frame"))
    return StackFrames(files, functions, locations, frames)


def _heading(scanner: Scanner, word: str) -> None:
    if not scanner.accept_word(word):
        scanner.expected(word)


def _rows(scanner: Scanner, read: Any) -> tuple[Any, ...]:
    rows = []
    while scanner.take(_ROW):
        rows.append(read())
    return tuple(rows)


def write_stack_frames(value: StackFrames) -> Iterator[str]:
    """The four tables, line by line."""
    tables = (
        ("FileNames", map(quoted, value.file_names)),
        ("FunctionNames", map(quoted, value.function_names)),
        ("FileLocations", map(write_metadata, value.file_locations)),
        ("StackFrames", map(write_metadata, value.frames)),
    )
    for heading, rows in tables:
        yield heading
        yield from (f"{number} {row}" for number, row in enumerate(rows, 1))
        yield ""
