"""Ops from one type to another: convert, bitcast-convert, reduce-precision, and the parts of complex numbers.

Floats become integers by truncation and saturate, NaN becoming 0; integers wrap; a number is true unless it is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.diagnostics import ShapeError
from compiler.ir.elementwise import Row, kinds, same_shapes, same_types
from compiler.ir.module import Instruction
from compiler.ir.numbers import Array, host_type, integers_to_odd, narrow, saturate, widen
from compiler.ir.opdef import Evaluator, Op, zeros_like
from compiler.ir.shape import ArrayShape, Shape
from compiler.ir.shape_rules import dims_agree, merge_dynamic, operand, operands, require, stated_array
from compiler.ir.traits import Trait
from compiler.ir.types import C64, C128, F32, F64, HALF_RANGE, PRED, U8, ElementType, Kind


def convert(value: Array, source: ElementType, target: ElementType) -> Array:
    """The same numbers in another type, as near as it has them.

    Args:
        value: the numbers.
        source: their type.
        target: the type of the result.
    """
    if source is target:
        return value
    if source.kind is Kind.COMPLEX and target.kind is not Kind.COMPLEX:
        if target.kind is Kind.PRED:
            return np.asarray(value != 0)
        value, source = value.real, F32 if source is C64 else F64
    wide = widen(value, source, precise=False)
    if target.kind is Kind.PRED:
        return np.asarray(wide != 0)
    if target.is_integer:
        return saturate(wide, target) if source.is_float else narrow(_as_integer(wide, target), target)
    if target.is_float and source.is_integer:
        wide = wide.astype(target.dtype) if target.bits >= 32 else integers_to_odd(wide)
    return narrow(wide, target)


def _as_integer(value: Array, target: ElementType) -> Array:
    return value if target.bits < 8 and value.dtype.kind in "iu" else value.astype(host_type(target))


def _infer_convert(instruction: Instruction) -> Shape:
    source, target = operand(instruction, 0), stated_array(instruction)
    if not dims_agree(source, target):
        raise ShapeError(f"convert keeps dimensions: {source} cannot become {target}")
    for element_type in (source.element_type, target.element_type):
        require(element_type.kind is not Kind.OPAQUE, f"convert takes numbers, not {element_type.name}")
    return ArrayShape(target.element_type, source.dims, source.dynamic)


def _convert(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    return convert(values[0], instruction.operands[0].array.element_type, instruction.array.element_type)


def _infer_bitcast_convert(instruction: Instruction) -> Shape:
    source, target = operand(instruction, 0), stated_array(instruction)
    for element_type in (source.element_type, target.element_type):
        require(element_type.kind is not Kind.OPAQUE, f"bitcast-convert takes numbers, not {element_type.name}")
    have, want = source.element_type.stored_bits, target.element_type.stored_bits
    require(
        source.element_type.is_complex == target.element_type.is_complex,
        f"bitcast-convert does not go between complex and other numbers: {source} to {target}",
    )
    if have == want:
        fits = dims_agree(source, target)
    elif have < want:
        fits = source.dims == (*target.dims, want // have)
    else:
        fits = target.dims == (*source.dims, have // want)
    require(fits, f"bitcast-convert keeps all bits: {source} cannot become {target}")
    return target


def _bitcast_convert(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    source, target = instruction.operands[0].array.element_type, instruction.array.element_type
    (value,) = values
    # A pred is a byte, of which any but 0 is true.
    bits = _bitcast_bits(value, *(U8 if element_type is PRED else element_type for element_type in (source, target)))
    return np.asarray(bits != 0) if target is PRED else bits


def _bitcast_bits(value: Array, source: ElementType, target: ElementType) -> Array:
    if source.bits == target.bits and source.dtype.itemsize == target.dtype.itemsize:
        return np.ascontiguousarray(value).view(target.dtype).reshape(value.shape)
    return _regroup_bits(value, source, target)


def _regroup_bits(value: Array, source: ElementType, target: ElementType) -> Array:
    """Bits in memory order, the lowest of an element first, cut anew."""
    raw = np.ascontiguousarray(value).view(np.uint8).reshape(*value.shape, source.dtype.itemsize)
    bits = np.unpackbits(raw, axis=-1, bitorder="little")[..., : source.bits]
    if source.bits < target.bits:
        bits = bits.reshape(*value.shape[:-1], target.bits)
    elif source.bits > target.bits:
        bits = bits.reshape(*value.shape, source.bits // target.bits, target.bits)
    packed = np.packbits(bits, axis=-1, bitorder="little")
    if target.bits < 8:
        # A narrow signed value is stored with its sign in the whole byte.
        unused = np.uint8(8 - target.bits)
        shifted = packed << unused
        packed = (
            (shifted.view(np.int8) >> unused.view(np.int8)).view(np.uint8) if target.is_signed else shifted >> unused
        )
    return np.ascontiguousarray(packed).view(target.dtype).reshape(packed.shape[:-1])


def _infer_reduce_precision(instruction: Instruction) -> Shape:
    shape = operand(instruction, 0)
    require(shape.element_type.is_float, f"reduce-precision takes floats, not {shape.element_type}")
    exponent, mantissa = instruction.attributes["exponent_bits"], instruction.attributes["mantissa_bits"]
    require(exponent >= 1, f"exponent_bits={exponent} must be at least 1")
    require(mantissa >= 0, f"mantissa_bits={mantissa} must not be negative")
    return ArrayShape(shape.element_type, shape.dims, shape.dynamic)


_F16_LEAST = -14  # the exponent of its smallest normal number


def _reduce_precision(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    element_type = instruction.operands[0].array.element_type
    exponent, mantissa = instruction.attributes["exponent_bits"], instruction.attributes["mantissa_bits"]
    wide = widen(values[0], element_type, precise=False)
    total = 52 if wide.dtype == np.float64 else 23
    unsigned: type[Any] = np.uint64 if wide.dtype == np.float64 else np.uint32
    bits: Array = np.ascontiguousarray(wide).view(unsigned).reshape(wide.shape)
    if mantissa < total:
        dropped = unsigned(total - mantissa)
        odd = (bits >> dropped) & unsigned(1)
        below = (unsigned(1) << (dropped - unsigned(1))) - unsigned(1)
        bits = (bits + below + odd) & ~((unsigned(1) << dropped) - unsigned(1))
    rounded = bits.view(wide.dtype)
    half = element_type in HALF_RANGE
    if half:  # the digits of f16's denormals have fixed places, which those of a wider type have not
        unit = 2.0 ** (_F16_LEAST - min(mantissa, 10))
        rounded = np.where(np.abs(wide) < 2.0**_F16_LEAST, np.rint(wide / unit) * unit, rounded).astype(wide.dtype)
    if exponent < (5 if half else 11 if total == 52 else 8):
        bias = (1 << (exponent - 1)) - 1
        size = np.abs(rounded)
        zero = np.copysign(np.zeros_like(rounded), rounded)
        infinity = np.copysign(np.full_like(rounded, np.inf), rounded)
        rounded = np.where(size >= 2.0 ** (bias + 1), infinity, np.where(size < 2.0 ** (1 - bias), zero, rounded))
    return narrow(np.where(np.isnan(wide), wide, rounded).astype(wide.dtype), element_type)


def _component_type(element_type: ElementType) -> ElementType:
    return {C64: F32, C128: F64}.get(element_type, element_type)


def _infer_complex(instruction: Instruction) -> Shape:
    shapes = operands(instruction)
    element_type = same_types(instruction, shapes)
    require(element_type in (F32, F64), f"complex takes parts in f32 or f64, not {element_type}")
    result = C64 if element_type is F32 else C128
    return ArrayShape(result, same_shapes(instruction, shapes), merge_dynamic(shapes))


def _complex(_: Instruction, values: Sequence[Array], __: Evaluator) -> Array:
    real, imaginary = np.broadcast_arrays(*values)
    result = np.empty(real.shape, np.complex64 if real.dtype == np.float32 else np.complex128)
    result.real, result.imag = real, imaginary
    return result


def _infer_stochastic_convert(instruction: Instruction) -> Shape:
    value, random = operands(instruction)
    target = stated_array(instruction)
    require(value.element_type.is_float, f"stochastic-convert takes floats, not {value}")
    require(target.element_type.kind is not Kind.OPAQUE, f"stochastic-convert yields numbers, not {target}")
    require(random.element_type.kind is Kind.UNSIGNED, f"random bits must be unsigned integers, not {random}")
    same_width = random.element_type.bits == value.element_type.bits
    require(same_width, f"random bits {random} must be as wide as the floats {value}")
    require(dims_agree(value, random), f"random bits {random} must have the dimensions of {value}")
    require(dims_agree(value, target), f"stochastic-convert keeps dimensions: {value} cannot become {target}")
    return ArrayShape(target.element_type, value.dims, merge_dynamic([value, random]))


def _stochastic_convert(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    source, target = instruction.operands[0].array.element_type, instruction.array.element_type
    value, random = values
    if not target.is_integer:
        return convert(value, source, target)
    # As XLA's evaluator: up by one when the random bits fall below the fraction, in units of the bits' range; both are
    # compared as integers, since f64 does not tell bits of 64 apart.
    wide = np.abs(widen(value, source, precise=True))
    fraction = wide - np.trunc(wide)
    threshold = np.where(np.isfinite(fraction), fraction, 0.0) * 2.0**source.bits
    up = random.astype(np.uint64) < threshold.astype(np.uint64)
    size = np.trunc(wide) + up
    return saturate(np.copysign(size, widen(value, source, precise=True)), target)


OPS: dict[str, Op] = {
    op.opcode: op
    for op in (
        Op(
            "convert",
            (1, 1),
            _infer_convert,
            _convert,
            "The same numbers in another type.",
            traits=Trait.ELEMENTWISE | Trait.STRICT_TYPES | Trait.STATED_SHAPE | Trait.SIGNED_ZEROS,
        ),
        Op(
            "bitcast-convert",
            (1, 1),
            _infer_bitcast_convert,
            _bitcast_convert,
            "The same bits as another type.",
            traits=Trait.MOVES | Trait.EXACT | Trait.STRICT_TYPES | Trait.STATED_SHAPE,
        ),
        Op(
            "reduce-precision",
            (1, 1),
            _infer_reduce_precision,
            _reduce_precision,
            "Round to fewer exponent and mantissa bits.",
            required=("exponent_bits", "mantissa_bits"),
            traits=Trait.ELEMENTWISE | Trait.STATED_SHAPE,
        ),
        Row(
            "real",
            1,
            "Real part.",
            kinds(real=np.array, complex_=np.real),
            result=_component_type,
            traits=Trait.EXACT | Trait.SIGNED_ZEROS,
        ).op(),
        Row(
            "imag",
            1,
            "Imaginary part.",
            kinds(real=zeros_like, complex_=np.imag),
            result=_component_type,
            traits=Trait.EXACT | Trait.SIGNED_ZEROS,
        ).op(),
        Op(
            "complex",
            (2, 2),
            _infer_complex,
            _complex,
            "A complex number from its parts.",
            traits=Trait.ELEMENTWISE | Trait.EXACT | Trait.SIGNED_ZEROS,
        ),
        Op(
            "stochastic-convert",
            (2, 2),
            _infer_stochastic_convert,
            _stochastic_convert,
            "Convert, rounding up with the chance that random bits give.",
            traits=Trait.ELEMENTWISE | Trait.STRICT_TYPES | Trait.STATED_SHAPE,
        ),
    )
}
