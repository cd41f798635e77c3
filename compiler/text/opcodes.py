"""What the text of each opcode may say: the attributes that its record names, and when its shape must be written."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.ir.attributes import COMMON
from compiler.ops import OPS, Trait, having

PAYLOADS = {"constant": "literal", "parameter": "parameter_number"}
"""The attributes that are written in the parentheses where other opcodes have operands."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The attributes that an opcode takes, those of all opcodes included, and the ones it must have."""

    allowed: frozenset[str]
    required: tuple[str, ...]


def _signature(opcode: str) -> Signature:
    op, payload = OPS[opcode], PAYLOADS.get(opcode)
    required = tuple(name for name in op.required if name != payload)
    return Signature(frozenset((*required, *op.optional)) | COMMON, required)


SIGNATURES: dict[str, Signature] = {opcode: _signature(opcode) for opcode in OPS}
"""Every opcode of HLO."""

LISTING_SLICES = frozenset(opcode for opcode, op in OPS.items() if "source_target_pairs" in op.required)
"""Opcodes of whose `slice_sizes` the text has a list for each slice, also where there is one."""

STATED = having(Trait.STATED_SHAPE)
"""Opcodes whose result shape does not follow from operands and attributes, and so must be written."""

DERIVED = having(Trait.TOKENS)
"""Opcodes whose result shape XLA's parser takes from elsewhere than the text, which may state anything."""
