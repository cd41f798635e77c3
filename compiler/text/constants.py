"""Literals as text: the shortest decimals that read back as the same bits, here and in XLA."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.ir.literal import Literal
from compiler.ir.shape import ArrayShape
from compiler.ir.types import ElementType, Kind
from compiler.text import nan

Array = NDArray[Any]

_WORD = "U16"
"""Holds each f32: two signs, nine digits, a point and an exponent of two digits."""
_LONG = 1024
"""From this many elements on, an array that is zero behind its first one is written as that one, as it is read."""


def write_literal(literal: Literal) -> str:
    """The value without its shape."""
    if literal.elements is not None:
        return "(" + ", ".join(map(write_literal, literal.elements)) + ")"
    if literal.array is None:
        return "{...}"
    shape = literal.shape
    assert isinstance(shape, ArrayShape)
    flat = np.ascontiguousarray(literal.array).reshape(-1)
    if flat.size > _LONG and not shape.element_type.is_complex and not flat[1:].view(np.uint8).any():
        return _words(flat[:1], shape.element_type)[0]
    words = _words(flat, shape.element_type)
    if not shape.dims:
        if shape.element_type.kind is Kind.PRED:
            return "true" if literal.array else "false"
        return words[0]
    return _nest(words, shape.dims)


def write_typed_literal(literal: Literal) -> str:
    """The value behind its shape: `s32[2]{0} {1, 2}`; XLA needs the layout to tell it from the value."""
    if literal.elements is not None:
        return "(" + ", ".join(map(write_typed_literal, literal.elements)) + ")"
    return f"{literal.shape} {write_literal(literal)}"


def _nest(words: list[str], dims: tuple[int, ...]) -> str:
    """Group words into braces, innermost first."""
    for depth, size in enumerate(reversed(dims)):
        count = int(np.prod(dims[: len(dims) - 1 - depth]))
        joined = [", ".join(words[i * size : (i + 1) * size]) for i in range(count)]
        words = [f"{{ {text} }}" if depth and text else f"{{{text}}}" for text in joined]
    return words[0]


def _words(flat: Array, element_type: ElementType) -> list[str]:
    if element_type.is_complex:
        component_type = np.float32 if element_type.bits == 64 else np.float64
        plain = np.ascontiguousarray(flat).view(component_type)
        numbers = _floats(plain, "f32" if element_type.bits == 64 else "f64")
        for index in np.flatnonzero(np.abs(plain) == np.finfo(np.float32).max).tolist():
            # XLA reads parts as f64 and finds what the shortest text of the greatest f32 says too great.
            numbers[index] = repr(float(plain[index]))
        return [f"({real}, {imag})" for real, imag in zip(numbers[::2], numbers[1::2], strict=True)]
    if element_type.is_float:
        return _floats(flat, element_type.name)
    return list(map(str, flat.astype(np.uint64 if element_type.name == "u64" else np.int64).tolist()))


def _floats(flat: Array, name: str) -> list[str]:
    if name == "f64":
        words = [repr(value) for value in flat.tolist()]
    else:
        words = flat.astype(np.float32).astype(_WORD).tolist() if flat.size else []
    with np.errstate(invalid="ignore"):
        wide = flat.astype(np.float64)
        whole = np.flatnonzero(wide == np.trunc(wide))
    if name == "f8e8m0fnu":
        # XLA reads anything above its least value, a denormal of f32, as the next one.
        for index in np.flatnonzero(wide == 2.0**-127).tolist():
            words[index] = repr(2.0**-127)
    special = np.flatnonzero(~np.isfinite(wide) | (wide == 0))
    for index in whole.tolist():
        words[index] = words[index].removesuffix(".0")
    for index in special.tolist():
        words[index] = _special(flat[index], float(wide[index]), name)
    return words


def _special(value: Any, wide: float, name: str) -> str:
    """Zero, infinity or NaN; `-0` would lose its sign in XLA, which takes it for an integer."""
    if wide == 0:
        return "-0.0" if math.copysign(1, wide) < 0 else "0"
    if not math.isnan(wide):
        return "-inf" if wide < 0 else "inf"
    array = np.asarray(value)
    code = array.view(f"uint{8 * array.itemsize}").item()
    sign = "-" if name in nan.SIGNED and code >> (8 * array.itemsize - 1) else ""
    if name not in nan.PAYLOAD_BITS:
        return f"{sign}nan"
    payload = code & ((1 << nan.PAYLOAD_BITS[name]) - 1)
    return f"{sign}nan" if payload == nan.quiet_payload(name) else f"{sign}nan({payload:#x})"
