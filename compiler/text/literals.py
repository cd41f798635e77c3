"""Literals from text, bit for bit.

A dense literal is read as a whole: its skeleton of braces and commas is compared with the one its shape demands, and
its numbers are converted by NumPy in one go.  Only what is unusual (NaN payloads, missing commas, integers past 18
digits) or wrong is looked at token by token, which also finds the place to complain about.
"""

from __future__ import annotations

import math
import re
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.ir.literal import Literal, tuple_literal
from compiler.ir.shape import ArrayShape, Shape, TupleShape
from compiler.ir.types import TYPES, ElementType, Kind
from compiler.text import nan
from compiler.text.lexer import DIGITS, SPACE, Scanner, closing_brace, pattern
from compiler.text.shapes import read_shape

Array = NDArray[Any]

_ELIDED = pattern(rf"(\{{{SPACE}\.\.\.{SPACE}\}})")
_BRACE_OR_COMMENT = re.compile(r"\{|\}|/\*(?s:.*?)\*/|//[^\r\n]*+")  # as one set of first letters, which is sought fast
_COMMENT = re.compile(r"/\*(?s:.*?)\*/|//[^\r\n]*+")
_VALUE = rf"true|false|-?inf|-?nan(?:\(0[xX][0-9a-fA-F]+\))?|{DIGITS}"
_SCALAR = pattern(rf"({_VALUE})(?![\w.(])")
_COMPLEX = pattern(rf"\({SPACE}({_VALUE}){SPACE},{SPACE}({_VALUE}){SPACE}\)")
_TOKEN = re.compile(
    rf"[{{}},]|{SPACE}\({SPACE}({_VALUE}){SPACE},{SPACE}({_VALUE}){SPACE}\)|({_VALUE})(?![\w.(])", re.ASCII
)
_INTEGER = re.compile(r"-?\d++", re.ASCII)
_NAN = re.compile(r"(-?)nan(?:\(0[xX]([0-9a-fA-F]+)\))?")
_SEPARATORS = bytes.maketrans(b"{},()", b"     ")
_NO_SKELETON = bytes(set(range(256)) - set(b"{},()"))
_BLANKS = b" \t\n\r\f\v"
_INTEGRAL = b"-0123456789" + _BLANKS
_DECIMAL = b"+.eE" + _INTEGRAL
_NO_MINUS = re.compile(rb"-(?!\d)")
_MOST_DIGITS = 18
"""Characters of an integer that fits 64 bits whatever they are."""

_LARGEST = 1 << 32
"""Bytes of a literal: 4 GiB; a broadcast of fewer says the same."""
_COMPONENTS = {"c64": TYPES["f32"], "c128": TYPES["f64"]}


def read_literal(scanner: Scanner, shape: Shape) -> Literal:
    """A literal of a known shape."""
    if isinstance(shape, TupleShape):
        return scanner.nested(lambda: _read_tuple(scanner, shape), "a literal")
    start = scanner.skip()
    if not isinstance(shape, ArrayShape) or shape.element_type.kind is Kind.OPAQUE or -1 in shape.dims:
        scanner.fail(f"there are no literals of shape {shape}", start)
    if not shape.dims:
        return Literal(shape, _read_scalar(scanner, shape.element_type))
    if scanner.take(_ELIDED):
        return Literal(shape)
    if not scanner.at("{"):
        return Literal(shape, _read_first_element(scanner, shape))
    return Literal(shape, _read_dense(scanner, shape))


def read_typed_literal(scanner: Scanner) -> Literal:
    """A literal that states its shape: `s32[2]{0} {1, 2}`, or a tuple of such in parentheses."""
    start = scanner.skip()
    if scanner.at("("):
        elements = scanner.nested(lambda: scanner.items("(", ")", lambda: read_typed_literal(scanner)), "a literal")
        return tuple_literal(elements)
    scanner.pos = start
    return read_literal(scanner, read_shape(scanner))


def _read_tuple(scanner: Scanner, shape: TupleShape) -> Literal:
    if scanner.take(_ELIDED):
        return Literal(shape)
    scanner.expect("(", "that begins a tuple")
    elements = []
    for index, element in enumerate(shape.elements):
        if index:
            scanner.expect(",", f"and element {index} of {len(shape.elements)} of the tuple")
        elements.append(read_literal(scanner, element))
    scanner.expect(")", f"behind {len(shape.elements)} elements of the tuple")
    return Literal(shape, elements=tuple(elements))


def _read_scalar(scanner: Scanner, element_type: ElementType) -> Array:
    found = scanner.take(_COMPLEX if element_type.is_complex else _SCALAR)
    if found is None:
        scanner.expected(f"a value of type {element_type}")
    values = [_value(scanner, element_type, word, found.start(i)) for i, word in enumerate(found.groups(), 1)]
    return _assemble(values, element_type).reshape(())


def _read_first_element(scanner: Scanner, shape: ArrayShape) -> Array:
    """A bare number in place of an array: XLA takes it for the first element, and zero for all others."""
    start = scanner.skip()
    if shape.element_type.is_complex or _SCALAR.match(scanner.text, start) is None or not shape.size:
        scanner.expected(f"'{{' that begins a literal of shape {shape}")
    if shape.size_bytes > _LARGEST:
        scanner.fail(f"a literal of shape {shape} takes {shape.size_bytes} bytes, more than {_LARGEST}", start)
    values = np.zeros(shape.dims, shape.element_type.dtype)
    values.flat[0] = _read_scalar(scanner, shape.element_type)
    return values


def _read_dense(scanner: Scanner, shape: ArrayShape) -> Array:
    start = scanner.skip()
    end = closing_brace(scanner.text, start, _BRACE_OR_COMMENT)
    if end < 0:
        scanner.fail("the '{' that begins this literal has no '}'", start)
    body = scanner.text[start:end]
    if "/" in body:
        body = _COMMENT.sub(" ", body)
    values = _convert(body.encode("ascii"), shape) if body.isascii() else None
    if values is None:
        values = _read_tokens(scanner, shape, start, end)
    scanner.pos = end
    return values.reshape(shape.dims)


def _has_skeleton(body: bytes, shape: ArrayShape) -> bool:
    """Whether braces, commas and parentheses are just those that the shape demands."""
    element = b"(,)" if shape.element_type.is_complex else b""
    length = len(element)
    for size in reversed(shape.dims):
        length = length * size + max(size - 1, 0) + 2
    if length > len(body):
        return False
    skeleton = element
    for size in reversed(shape.dims):
        skeleton = b"{" + b",".join([skeleton] * size) + b"}"
    return body.translate(None, _NO_SKELETON) == skeleton


def _convert(body: bytes, shape: ArrayShape) -> Array | None:
    """All numbers at once; None if any is unusual or out of range."""
    if not _has_skeleton(body, shape):
        return None
    element_type = shape.element_type
    numbers = body.translate(_SEPARATORS)
    if element_type.is_integer or element_type.kind is Kind.PRED:
        if element_type.kind is Kind.PRED:
            numbers = numbers.replace(b"true", b" 1 ").replace(b"false", b" 0 ")
        return _integers(numbers, shape)
    is_signed_behind_e = numbers.count(b"+") == numbers.count(b"e+") + numbers.count(b"E+")
    if not is_signed_behind_e or numbers.translate(None, _DECIMAL):
        return None
    floats = _numbers(numbers, np.float64, shape.size * (2 if element_type.is_complex else 1))
    return None if floats is None else _narrow(floats, shape)


def _integers(numbers: bytes, shape: ArrayShape) -> Array | None:
    """Integers between blanks as the element type; None if any is unusual, long or out of range."""
    element_type = shape.element_type
    if numbers.translate(None, _INTEGRAL) or _longest(numbers) > _MOST_DIGITS or _NO_MINUS.search(numbers):
        return None
    integers = _numbers(numbers, np.int64, shape.size)
    if integers is None:
        return None
    low, high = _integer_range(element_type)
    if element_type.is_integer and integers.size and (integers.min() < low or integers.max() > high):
        return None
    return integers.astype(element_type.dtype)


def _numbers(numbers: bytes, dtype: type[np.generic], count: int) -> Array | None:
    """As many numbers between blanks; None where there are others, or where a word is not just one number.

    NumPy reads `1-2` as two numbers, and what it cannot read ends what it reads.
    """
    if _starts(numbers).size != count:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            values = np.fromstring(numbers, dtype, sep=" ")
        except (DeprecationWarning, ValueError):
            return None
    return values if values.size == count else None


def _starts(numbers: bytes) -> NDArray[np.intp]:
    """The indices of the blanks before words."""
    is_blank = np.frombuffer(numbers, np.uint8) <= ord(" ")
    return np.flatnonzero(is_blank[:-1] & ~is_blank[1:])


def _longest(numbers: bytes) -> int:
    """The length of the longest word."""
    is_blank = np.frombuffer(numbers, np.uint8) <= ord(" ")
    ends = np.flatnonzero(~is_blank[:-1] & is_blank[1:])
    return int((ends - _starts(numbers)).max(initial=0))


def _narrow(floats: Array, shape: ArrayShape) -> Array | None:
    """Doubles as the element type; None if a finite one is out of range."""
    element_type = shape.element_type
    if not np.isfinite(floats).all():
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        if element_type.is_complex:
            narrow = floats.astype(_COMPONENTS[element_type.name].dtype)
            return narrow.view(element_type.dtype) if np.isfinite(narrow).all() else None
        narrow = _cast(floats, element_type)
        return narrow if np.isfinite(narrow.astype(np.float64)).all() else None


def _cast(floats: Array, element_type: ElementType) -> Array:
    narrow = floats.astype(element_type.dtype)
    if element_type.name == "f8e8m0fnu":
        # ml_dtypes rounds up all that lies between the two least values, and knows nothing of what f32 takes for zero.
        least = 2.0**-127
        narrow[(floats > 0) & (floats < 1.5 * least)] = least
    return narrow


def _integer_range(element_type: ElementType) -> tuple[int, int]:
    bits = element_type.bits
    if element_type.is_signed:
        return -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return 0, (1 << bits) - 1


def _read_tokens(scanner: Scanner, shape: ArrayShape, start: int, end: int) -> Array:
    """Token by token: commas mean nothing, as in XLA, but every brace must hold as much as its dimension."""
    rank = len(shape.dims)
    counts: list[int] = []
    values: list[Any] = []
    scanner.pos = start
    while scanner.skip() < end:
        at = scanner.pos
        found = _TOKEN.match(scanner.text, at)
        if found is None or found.end() > end:
            scanner.expected(f"a value of type {shape.element_type}, ',' or '}}'")
        scanner.pos = found.end()
        token = found[0]
        if token == "{":
            if len(counts) == rank:
                scanner.fail(f"too many braces: the shape has rank {rank}", at)
            _enter(scanner, shape, counts, at)
            counts.append(0)
        elif token == "}":
            size = shape.dims[len(counts) - 1]
            if counts.pop() != size:
                scanner.fail(f"too few elements: dimension {len(counts)} has size {size}", at)
        elif token != ",":
            if len(counts) != rank:
                scanner.fail(f"a value stands {len(counts)} braces deep, but the shape has rank {rank}", at)
            _enter(scanner, shape, counts, at)
            words = [(found[i], found.start(i)) for i in (1, 2, 3) if found[i] is not None]
            if (len(words) == 2) != shape.element_type.is_complex:
                scanner.fail(f"expected a value of type {shape.element_type}", at, found.end())
            values += [_value(scanner, shape.element_type, word, position) for word, position in words]
    return _assemble(values, shape.element_type)


def _enter(scanner: Scanner, shape: ArrayShape, counts: list[int], at: int) -> None:
    """Count one more thing inside the innermost brace."""
    if not counts:
        return
    counts[-1] += 1
    size = shape.dims[len(counts) - 1]
    if counts[-1] > size:
        scanner.fail(f"too many elements: dimension {len(counts) - 1} has size {size}", at)


def _value(scanner: Scanner, element_type: ElementType, word: str, start: int) -> Any:
    """One value: an int for integers, else a NumPy scalar of the (component) type."""
    if element_type.is_integer or element_type.kind is Kind.PRED:
        return _integer(scanner, element_type, word, start)
    if word in ("true", "false"):
        scanner.fail(f"expected a number of type {element_type}", start, start + len(word))
    component_type = _COMPONENTS.get(element_type.name, element_type)
    if word.lstrip("-").startswith("nan"):
        return _nan(scanner, component_type, word, start)
    wide = float(word)
    with np.errstate(over="ignore", invalid="ignore"):
        value = _cast(np.array([wide]), component_type)[0]
    if ("inf" not in word) and not (math.isfinite(wide) and math.isfinite(float(value))):
        scanner.fail(f"{word} is out of range for {component_type}", start, start + len(word))
    return value


def _integer(scanner: Scanner, element_type: ElementType, word: str, start: int) -> int:
    if element_type.kind is Kind.PRED and word in ("true", "false"):
        return int(word == "true")
    if _INTEGER.fullmatch(word) is None:
        scanner.fail(f"expected an integer for type {element_type}", start, start + len(word))
    value = int(word) if len(word) <= 20 else 1 << 64
    low, high = _integer_range(element_type)
    if element_type.bits == 64:
        low, high = -(1 << 63), (1 << 64) - 1
    if element_type.kind is Kind.PRED:
        return int(value != 0)
    if not low <= value <= high:
        shown = word if len(word) <= 24 else word[:24] + "..."
        scanner.fail(f"{shown} is out of range for {element_type}: {low} to {high}", start, start + len(word))
    if element_type.bits == 64:
        # XLA keeps the 64 bits whatever their sign.
        value &= (1 << 64) - 1
        return value - (1 << 64) if element_type.is_signed and value >> 63 else value
    return value


def _nan(scanner: Scanner, component_type: ElementType, word: str, start: int) -> Any:
    name = component_type.name
    found = _NAN.fullmatch(word)
    assert found is not None
    end = start + len(word)
    if name not in nan.PAYLOAD_BITS:
        if found[2]:
            scanner.fail(f"a NaN of {name} has no payload", start, end)
        if name in nan.ABSENT:
            return np.array(0.0 if found[1] else -0.0).astype(component_type.dtype)[()]  # as XLA converts one
        return np.array(-np.nan if found[1] and name in nan.SIGNED else np.nan).astype(component_type.dtype)[()]
    limit = 1 << nan.PAYLOAD_BITS[name]
    payload = int(found[2], 16) if found[2] else nan.quiet_payload(name)
    if not 0 < payload < limit:
        scanner.fail(f"the payload of a NaN of {name} lies between 0x1 and {limit - 1:#x}", start, end)
    bits = np.dtype(f"uint{component_type.bits}")
    sign = 1 << (component_type.bits - 1) if found[1] else 0
    exponent = np.array(np.inf, component_type.dtype).view(bits).item()
    return np.array(exponent | payload | sign, bits).view(component_type.dtype)[()]


def _assemble(values: list[Any], element_type: ElementType) -> Array:
    if element_type.is_complex:
        return np.array(values, _COMPONENTS[element_type.name].dtype).view(element_type.dtype)
    if element_type.is_float:
        array = np.empty(len(values), element_type.dtype)
        for index, value in enumerate(values):
            array[index] = value
        return array
    wide = np.uint64 if element_type.name == "u64" else np.int64
    return np.array(values, wide).astype(element_type.dtype)
