"""Programs of all that one type may be given to: every elementwise op, and every conversion to every other type.

They are made from the records alone: what a record's rule refuses is left out, what it takes is a result of its own, so
that one compilation tries some sixty instructions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from compiler.diagnostics import CompilerError
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.shape import ArrayShape, Shape
from compiler.ir.types import TYPES, ElementType
from compiler.ops import OPS
from compiler.ops.build import build, parameter

STATED = ("bitcast", "bitcast-convert", "convert", "stochastic-convert")
"""Opcodes whose result is of the type that is stated, whatever their operands' is."""
_ATTRIBUTES: dict[str, Any] = {"direction": "LT", "exponent_bits": 4, "mantissa_bits": 3}
OPCODES = [
    opcode
    for opcode, op in OPS.items()
    if (op.elementwise or opcode in STATED) and op.operands[1] and _ATTRIBUTES.keys() >= set(op.required)
]
"""Opcodes that need nothing but operands of the same dimensions."""


def packed(types: Sequence[ElementType], dims: tuple[int, ...]) -> Module | None:
    """A module of every op on operands of those types in turn, the last again for further ones; None if there is none.

    A bitcast to another type is left out: its bits are in no order that all targets share.
    """
    module = Module("packed")
    entry = Computation("e")
    needed = max(OPS[opcode].operands[0] for opcode in OPCODES)
    given = [*types, *[types[-1]] * (needed - len(types))]
    operands = [parameter(entry, number, ArrayShape(row, dims)) for number, row in enumerate(given)]
    results = [result for opcode in OPCODES for result in _taken(entry, opcode, operands, dims)]
    if not results:
        return None
    entry.root = build(entry, "tuple", results)
    module.entry = module.add_computation(entry)
    return module


def _taken(
    entry: Computation, opcode: str, operands: Sequence[Instruction], dims: tuple[int, ...]
) -> Iterator[Instruction]:
    """The instructions of an opcode that its record takes."""
    op = OPS[opcode]
    shapes: list[Shape | None] = [None]
    if opcode in STATED:
        shapes = [ArrayShape(row, dims) for row in TYPES.values()]
    for shape in shapes:
        if opcode == "bitcast" and shape != operands[0].shape:
            continue
        attributes = {name: _ATTRIBUTES[name] for name in op.required}
        try:
            yield build(entry, opcode, operands[: op.operands[0]], shape=shape, **attributes)
        except CompilerError:
            continue
