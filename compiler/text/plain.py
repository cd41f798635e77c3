"""Attribute values made of numbers, words, strings and shapes: how each is read and written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.ir.attributes import (
    ConvolutionDimensions,
    PaddingDimension,
    SliceDimension,
    Window,
    WindowDimension,
)
from compiler.ir.shape import Shape
from compiler.text.lexer import Scanner, closing_brace, pattern, quoted
from compiler.text.shapes import read_shape

_SIZES = pattern(r"(-?\d++(?:x-?\d++)*)(?![\w.])")
_PADDING = pattern(r"(-?\d++(?:_-?\d++){1,2}(?:x-?\d++(?:_-?\d++){1,2})*)(?![\w.])")
_LABELS = pattern(r"([0-9bf?]{2,}+)_([0-9io?]{2,}+)->([0-9bf?]{2,}+)(?![\w.])")


def read_integers(scanner: Scanner) -> tuple[Any, ...]:
    """`{1,2}`, or a list of such lists."""

    def read() -> Any:
        return scanner.integers() if scanner.at("{") else scanner.integer()

    return scanner.items("{", "}", read)


def write_integers(values: Sequence[Any]) -> str:
    """`{1,2}` or `{{1,2},{3}}`."""
    return "{" + ",".join(write_integers(v) if isinstance(v, tuple) else str(v) for v in values) + "}"


def one_or_all(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The only list of a list of lists, else what is given."""
    return values[0] if len(values) == 1 and isinstance(values[0], tuple) else values


def all_of(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """A list of lists, of which one may be given."""
    return values if values and isinstance(values[0], tuple) else (values,)


def read_pairs(scanner: Scanner) -> tuple[tuple[int, int], ...]:
    """`{{0,1},{1,0}}`."""

    def read() -> tuple[int, int]:
        start = scanner.skip()
        pair = scanner.integers()
        if len(pair) != 2:
            scanner.fail(f"expected a pair of integers, not {len(pair)} of them", start, scanner.pos)
        return pair[0], pair[1]

    return scanner.items("{", "}", read)


def write_boolean(value: bool) -> str:  # noqa: FBT001  # the value itself, not an option
    """`true` or `false`."""
    return "true" if value else "false"


def read_booleans(scanner: Scanner) -> tuple[bool, ...]:
    """`{true,false}`."""
    return scanner.items("{", "}", scanner.boolean)


def write_booleans(values: Sequence[bool]) -> str:
    """`{true,false}`."""
    return "{" + ",".join(map(write_boolean, values)) + "}"


def read_boolean_or_booleans(scanner: Scanner) -> bool | tuple[bool, ...]:
    """One boolean or a list of them."""
    return read_booleans(scanner) if scanner.at("{") else scanner.boolean()


def write_boolean_or_booleans(value: bool | tuple[bool, ...]) -> str:  # noqa: FBT001
    """One boolean or a list of them."""
    return write_booleans(value) if isinstance(value, tuple) else write_boolean(value)


def write_float(value: float) -> str:
    """The shortest decimal that reads back as the same 64-bit number."""
    text = repr(value)
    return text[:-2] if text.endswith(".0") and text != "-0.0" else text


def read_words(scanner: Scanner) -> tuple[str, ...]:
    """`{highest,default}`."""
    return scanner.items("{", "}", lambda: scanner.word("a word"))


def write_words(values: Sequence[str]) -> str:
    """`{highest,default}`."""
    return "{" + ",".join(values) + "}"


def read_shapes(scanner: Scanner) -> tuple[Shape, ...]:
    """`{f32[2], (s32[], s32[])}`."""
    return scanner.items("{", "}", lambda: read_shape(scanner))


def write_shapes(values: Sequence[Shape]) -> str:
    """`{f32[2], (s32[], s32[])}`."""
    return "{" + ", ".join(map(str, values)) + "}"


def read_slices(scanner: Scanner) -> tuple[SliceDimension, ...]:
    """`{[0:4], [1:9:2]}`."""

    def read() -> SliceDimension:
        start = scanner.skip()
        numbers = scanner.items("[", "]", scanner.integer, ":")
        if len(numbers) not in (2, 3):
            scanner.fail("expected [start:limit] or [start:limit:stride]", start, scanner.pos)
        return SliceDimension(*numbers)

    return scanner.items("{", "}", read)


def write_slices(values: Sequence[SliceDimension]) -> str:
    """`{[0:4], [1:9:2]}`; a stride of one is left out."""
    words = (f"[{s.start}:{s.limit}]" if s.stride == 1 else f"[{s.start}:{s.limit}:{s.stride}]" for s in values)
    return "{" + ", ".join(words) + "}"


def read_padding(scanner: Scanner) -> tuple[PaddingDimension, ...]:
    """`0_1x2_3_1`: low, high and interior of each dimension; empty for a scalar."""
    found = scanner.take(_PADDING)
    if found is None:
        if scanner.text[scanner.skip() : scanner.pos + 1] in ("-", *"0123456789"):
            scanner.expected("padding such as 0_1x2_3_1")
        return ()
    return tuple(PaddingDimension(*_numbers(scanner, word, "_")) for word in found[1].split("x"))


def write_padding(values: Sequence[PaddingDimension]) -> str:
    """`0_1x2_3_1`; interior padding is written where any dimension has it."""
    inside = any(p.interior for p in values)
    return "x".join(f"{p.low}_{p.high}_{p.interior}" if inside else f"{p.low}_{p.high}" for p in values)


def _numbers(scanner: Scanner, text: str, separator: str) -> list[int]:
    words = text.split(separator)
    if any(len(word) > 19 for word in words):
        scanner.fail("a number does not fit 64 bits", scanner.pos - len(text), scanner.pos)
    return [int(word) for word in words]


_WINDOW_FIELDS = ("size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal")


def read_window(scanner: Scanner) -> Window:
    """`{size=2x2 stride=1x2 pad=0_1x0_0}`."""
    start = scanner.skip()
    scanner.expect("{", "that begins a window")
    fields: dict[str, list[Any]] = {}
    while not scanner.accept("}"):
        key = scanner.key("a field of a window or '}'")
        if key not in _WINDOW_FIELDS:
            scanner.unknown("field of a window", key, _WINDOW_FIELDS, scanner.pos - len(key) - 1)
        if key in fields:
            scanner.fail(f"'{key}' is written twice in this window", scanner.pos - len(key) - 1)
        found = scanner.take(_PADDING if key == "pad" else _SIZES)
        if found is None:
            scanner.expected("padding such as 0_1x2_3" if key == "pad" else "sizes such as 2x3")
        words = found[1].split("x")
        fields[key] = [
            tuple(_numbers(scanner, p, "_")) if key == "pad" else _numbers(scanner, p, "_")[0] for p in words
        ]
        if key == "pad" and any(len(pair) != 2 for pair in fields[key]):
            scanner.fail("the padding of a window is low_high, without interior", found.start(1), found.end(1))
    rank = len(fields.get("size", ()))
    for key, values in fields.items():
        if key == "rhs_reversal":  # the one field that XLA reads of any length
            fields[key] = (values + [0] * rank)[:rank]
        elif len(values) != rank:
            scanner.fail(f"'{key}' has {len(values)} entries, but 'size' has {rank}", start, scanner.pos)
    return tuple(_window_dimension({key: values[i] for key, values in fields.items()}) for i in range(rank))


def _window_dimension(fields: dict[str, Any]) -> WindowDimension:
    low, high = fields.get("pad", (0, 0))
    return WindowDimension(
        size=fields["size"],
        stride=fields.get("stride", 1),
        pad_low=low,
        pad_high=high,
        lhs_dilate=fields.get("lhs_dilate", 1),
        rhs_dilate=fields.get("rhs_dilate", 1),
        reversal=fields.get("rhs_reversal", 0) == 1,
    )


def write_window(window: Window) -> str:
    """`{size=2x2 ...}` with the fields that are not all at their default."""
    words = []
    if window:
        words.append("size=" + "x".join(str(d.size) for d in window))
    if any(d.stride != 1 for d in window):
        words.append("stride=" + "x".join(str(d.stride) for d in window))
    if any(d.pad_low or d.pad_high for d in window):
        words.append("pad=" + "x".join(f"{d.pad_low}_{d.pad_high}" for d in window))
    if any(d.lhs_dilate != 1 for d in window):
        words.append("lhs_dilate=" + "x".join(str(d.lhs_dilate) for d in window))
    if any(d.rhs_dilate != 1 for d in window):
        words.append("rhs_dilate=" + "x".join(str(d.rhs_dilate) for d in window))
    if any(d.reversal for d in window):
        words.append("rhs_reversal=" + "x".join(str(int(d.reversal)) for d in window))
    return "{" + " ".join(words) + "}"


def read_convolution(scanner: Scanner) -> ConvolutionDimensions:
    """`b01f_01io->b01f`."""
    found = scanner.take(_LABELS)
    if found is None:
        scanner.expected("dimension labels such as b01f_01io->b01f")
    spatial = [
        _spatial(scanner, found[side], letters, found.start(side))
        for side, letters in ((1, "bf"), (2, "io"), (3, "bf"))
    ]
    if len({len(dims) for dims in spatial}) != 1:
        scanner.fail("input, kernel and output must have equally many spatial dimensions", found.start(1), found.end())
    lhs, rhs, out = found[1], found[2], found[3]
    return ConvolutionDimensions(
        input_batch=lhs.index("b"),
        input_feature=lhs.index("f"),
        input_spatial=spatial[0],
        kernel_input_feature=rhs.index("i"),
        kernel_output_feature=rhs.index("o"),
        kernel_spatial=spatial[1],
        output_batch=out.index("b"),
        output_feature=out.index("f"),
        output_spatial=spatial[2],
    )


def _spatial(scanner: Scanner, labels: str, letters: str, start: int) -> tuple[int, ...]:
    digits = sorted(c for c in labels if c.isdigit())
    count = len(digits)
    if digits != [str(i) for i in range(count)] or any(labels.count(c) != 1 for c in letters):
        wanted = f"{letters[0]}, {letters[1]} and the digits from 0 up, each once"
        scanner.fail(f"dimension labels {labels!r} must be {wanted}", start, start + len(labels))
    return tuple(labels.index(digit) for digit in digits)


def write_convolution(value: ConvolutionDimensions) -> str:
    """`b01f_01io->b01f`."""
    lhs = _labels({value.input_batch: "b", value.input_feature: "f"}, value.input_spatial)
    rhs = _labels({value.kernel_input_feature: "i", value.kernel_output_feature: "o"}, value.kernel_spatial)
    out = _labels({value.output_batch: "b", value.output_feature: "f"}, value.output_spatial)
    return f"{lhs}_{rhs}->{out}"


def _labels(letters: dict[int, str], spatial: Sequence[int]) -> str:
    labels = letters | {dimension: str(i) for i, dimension in enumerate(spatial)}
    return "".join(labels.get(i, "?") for i in range(max(labels) + 1))


def read_text_or_json(scanner: Scanner) -> str:
    """A quoted string, or a JSON dictionary, of which the text is kept."""
    return (
        scanner.braced("a JSON dictionary")
        if scanner.at("{")
        else scanner.string("a string in quotes or a JSON dictionary")
    )


def write_text_or_json(value: str) -> str:
    """A JSON dictionary bare, anything else in quotes."""
    return value if value.startswith("{") and closing_brace(value, 0) == len(value) else quoted(value)
