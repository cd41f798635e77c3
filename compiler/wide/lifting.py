"""The same program with f64 for every float and c128 for every complex number.

The meanings in the op records look at element types only, so on the lifted program they compute in f64 and round to
nothing narrower.  Each lifted instruction knows the one it was made of, whose types say what an implementation rounds
to.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.ir.literal import Literal
from compiler.ir.module import Instruction, Module
from compiler.ir.shape import ArrayShape, BufferShape, Shape, TupleShape
from compiler.ir.types import C128, F64, ElementType


def lift(module: Module) -> tuple[Module, dict[Instruction, Instruction]]:
    """The lifted module, and for each of its instructions the original."""
    lifted = module.clone()
    originals: dict[Instruction, Instruction] = {}
    for source, target in zip(module.computations, lifted.computations, strict=True):
        for original, instruction in zip(source.instructions, target.instructions, strict=True):
            originals[instruction] = original
            instruction.shape = lift_shape(original.shape)
            if original.opcode == "constant":
                instruction.attributes["literal"] = _lift_literal(original.literal)
    return lifted, originals


def lift_type(element_type: ElementType) -> ElementType:
    """The type that values of an element type are held in."""
    if element_type.is_complex:
        return C128
    return F64 if element_type.is_float else element_type


def lift_shape(shape: Shape) -> Shape:
    """A shape with lifted element types."""
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(lift_shape(element) for element in shape.elements))
    if isinstance(shape, BufferShape):
        return BufferShape(shape.array.with_type(lift_type(shape.array.element_type)))
    return shape.with_type(lift_type(shape.element_type))


def _lift_literal(literal: Literal) -> Literal:
    if literal.elements is not None:
        elements = tuple(_lift_literal(element) for element in literal.elements)
        return replace(literal, shape=lift_shape(literal.shape), elements=elements)
    assert isinstance(literal.shape, ArrayShape)
    target = lift_type(literal.shape.element_type)
    if literal.array is None or target is literal.shape.element_type:
        return literal
    return Literal(literal.shape.with_type(target), literal.array.astype(target.dtype))
