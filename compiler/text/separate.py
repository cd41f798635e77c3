"""A module as text, and the long arrays of its constants beside it, for whoever can be handed bytes.

Decimals of millions of numbers take longer to write and to read than most programs take to run.  Of such an array the
text says only its shape and `{...}`, as XLA writes it, and its bytes are told by its number among all arrays that are
written in the program: so what was left out of the text before stays so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.diagnostics import InputError
from compiler.ir.literal import Literal
from compiler.ir.module import Module
from compiler.text.parser import parse
from compiler.text.printer import to_text

Bytes = NDArray[np.uint8]

_LONG = 1024
"""Elements of an array that is written as text at most."""


def separate_constants(module: Module) -> tuple[str, dict[int, Bytes]]:
    """The text without long arrays, and the bytes of these by their numbers; the text is whole where there are none."""
    separated = module.clone()
    arrays: dict[int, Bytes] = {}

    def take(number: int, literal: Literal) -> Literal:
        if literal.array is None or literal.array.size <= _LONG:
            return literal
        arrays[number] = np.ascontiguousarray(literal.array).reshape(-1).view(np.uint8)
        return Literal(literal.shape)

    _edit_arrays(separated, take)
    return to_text(separated), arrays


def parse_separated(text: str, arrays: Mapping[int, Bytes]) -> Module:
    """The module that text and bytes were made of.

    Raises:
        ParseError: the text is not HLO.
        InputError: an array is not one that the text leaves out.
    """
    module = parse(text)
    left = dict(arrays)

    def fill(number: int, literal: Literal) -> Literal:
        held = left.pop(number, None)
        if held is None:
            return literal
        shape: Any = literal.shape
        if literal.array is not None or held.size != shape.size * shape.element_type.dtype.itemsize:
            raise InputError(f"array {number} of the program, {shape}, is not what {held.size} bytes stand for")
        return replace(literal, array=held.view(shape.element_type.dtype).reshape(shape.dims))

    _edit_arrays(module, fill)
    if left:
        raise InputError(f"the program has no array {min(left)}")
    return module


def _edit_arrays(module: Module, change: Callable[[int, Literal], Literal]) -> None:
    """Replace the arrays that are written in a program, one by one with their numbers."""
    numbers = count()
    for instruction in module.instructions():
        if instruction.opcode == "constant":
            instruction.attributes["literal"] = _changed(instruction.literal, lambda one: change(next(numbers), one))


def _changed(literal: Literal, change: Callable[[Literal], Literal]) -> Literal:
    if literal.elements is None:
        return change(literal)
    return Literal(literal.shape, elements=tuple(_changed(element, change) for element in literal.elements))
