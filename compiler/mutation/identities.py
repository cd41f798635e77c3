"""Operations that change no bit of a number: neutral elements, inverse pairs, a value held against itself.

What is exact depends on the type.  `x + 0` turns -0 into 0, so floats get -0 added; a complex product with 1 makes NaN
of infinities; types without a negative zero know no neutral sum.  NaN has no payload in HLO, so any NaN is as good.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compiler.generate.choices import pick
from compiler.generate.elementwise import takes
from compiler.ir.module import Instruction
from compiler.ir.numbers import integer_bounds
from compiler.ir.shape import ArrayShape
from compiler.ir.types import F32, F64, PRED, TYPES, ElementType, Kind
from compiler.mutation.site import Mutation, Site, is_value

_FULL_FLOATS = frozenset({"bf16", "f16", "f32", "f64"})
_WIDER: Mapping[str, tuple[str, ...]] = {
    "pred": ("s32", "u8", "f32"),
    "s4": ("s8", "s32"),
    "u4": ("u8", "s32"),
    "s8": ("s16", "s32", "s64", "f32"),
    "u8": ("u16", "s32", "u64", "f32"),
    "s16": ("s32", "s64", "f32"),
    "u16": ("u32", "s32", "f32"),
    "s32": ("s64", "f64"),
    "u32": ("u64", "s64", "f64"),
    "f8e3m4": ("f16", "f32"),
    "f8e4m3": ("f16", "f32"),
    "f8e4m3b11fnuz": ("f16", "f32"),
    "f8e4m3fn": ("f16", "bf16", "f32"),
    "f8e4m3fnuz": ("f16", "f32"),
    "f8e5m2": ("f16", "f32"),
    "f8e5m2fnuz": ("f16", "f32"),
    "bf16": ("f32", "f64"),
    "f16": ("f32", "f64"),
    "f32": ("f64",),
    "c64": ("c128",),
}
_FORMATS: Mapping[str, tuple[int, int]] = {"bf16": (8, 7), "f16": (5, 10), "f32": (8, 23), "f64": (11, 52)}
_SIGNLESS = frozenset({"f8e8m0fnu"})
_PAIRED = frozenset({Kind.PRED, Kind.COMPLEX})


def _neutral(opcode: str, value: Callable[[ElementType], Any]) -> Callable[[Site], Instruction]:
    """`x -> x op n`, n being neutral on the right."""

    def rewrite(site: Site) -> Instruction:
        return site.build(opcode, [site.instruction, site.filled(value(site.shape.element_type))])

    return rewrite


def _twice(opcode: str) -> Callable[[Site], Instruction]:
    """`x -> op(op(x))`."""
    return lambda site: site.build(opcode, [site.build(opcode, [site.instruction])])


def _itself(opcode: str) -> Callable[[Site], Instruction]:
    """`x -> x op x`."""
    return lambda site: site.build(opcode, [site.instruction, site.instruction])


def _of_types(opcode: str, *families: Callable[[ElementType], bool]) -> Callable[[Instruction], bool]:
    """Arrays of those types of the families that an opcode takes."""

    def applies(instruction: Instruction) -> bool:
        if not is_value(instruction):
            return False
        element_type = instruction.array.element_type
        return any(family(element_type) for family in families) and element_type in takes(opcode)

    return applies


def _integer(element_type: ElementType) -> bool:
    return element_type.is_integer


def _pred(element_type: ElementType) -> bool:
    return element_type is PRED


def _full(element_type: ElementType) -> bool:
    return element_type.name in _FULL_FLOATS


def _complex(element_type: ElementType) -> bool:
    return element_type.is_complex


def _zero(element_type: ElementType) -> Any:
    if element_type.is_complex:
        return complex(-0.0, -0.0)
    return -0.0 if element_type.is_float else 0


def _ones(element_type: ElementType) -> Any:
    return True if element_type is PRED else -1 if element_type.is_signed else integer_bounds(element_type)[1]


def _select_true(site: Site) -> Instruction:
    """`x -> select(true, x, 0)`."""
    return site.build("select", [site.scalar(True, PRED), site.instruction, site.filled(0)])  # noqa: FBT003


def _select_same(site: Site) -> Instruction:
    """`x -> select(x == x, x, x)`."""
    test = site.build("compare", [site.instruction, site.instruction], direction="EQ")
    return site.build("select", [test, site.instruction, site.instruction])


def _clamp_to_all(site: Site) -> Instruction:
    """`x -> clamp(least, x, greatest)`."""
    low, high = integer_bounds(site.shape.element_type)
    return site.build("clamp", [site.scalar(low), site.instruction, site.scalar(high)])


def _widen_and_narrow(site: Site) -> Instruction:
    """`x -> convert(convert(x))`, by a type that holds all values of the first."""
    shape = site.shape
    wide = site.build(
        "convert", [site.instruction], shape=shape.with_type(TYPES[pick(site.choices, _WIDER[shape.element_type.name])])
    )
    return site.build("convert", [wide], shape=shape)


def _bitcast_convert_pair(site: Site) -> Instruction:
    """`x -> bitcast-convert(bitcast-convert(x))`, by bits of the same or of half the width."""
    shape = site.shape
    bits = shape.element_type.bits
    others: list[ArrayShape] = [shape.with_type(TYPES[f"u{bits}"]), shape.with_type(TYPES[f"s{bits}"])]
    if bits > 8:
        others.append(ArrayShape(TYPES[f"u{bits // 2}"], (*shape.dims, 2)))
    bare = site.build("bitcast-convert", [site.instruction], shape=pick(site.choices, others))
    return site.build("bitcast-convert", [bare], shape=shape)


def _real_of_complex(site: Site) -> Instruction:
    """`x -> real(complex(x, 0))`."""
    return site.build("real", [site.build("complex", [site.instruction, site.filled(0)])])


def _reduce_precision(site: Site) -> Instruction:
    """`x -> reduce-precision(x) to the type's own format`."""
    exponent, mantissa = _FORMATS[site.shape.element_type.name]
    return site.build("reduce-precision", [site.instruction], exponent_bits=exponent, mantissa_bits=mantissa)


def _named(names: Mapping[str, object] | frozenset[str]) -> Callable[[Instruction], bool]:
    return lambda i: is_value(i) and i.array.element_type.name in names


def _has_bits(instruction: Instruction) -> bool:
    if not is_value(instruction):
        return False
    element_type = instruction.array.element_type
    return element_type.kind not in _PAIRED and element_type.bits >= 8


def _one(_: ElementType) -> int:
    return 1


def _real(element_type: ElementType) -> bool:
    return element_type.is_float


def _signed_real(element_type: ElementType) -> bool:
    return element_type.is_float and element_type.name not in _SIGNLESS


MUTATIONS: dict[str, Mutation] = {
    "add-zero": Mutation(_of_types("add", _integer, _full, _complex), _neutral("add", _zero)),
    "subtract-zero": Mutation(_of_types("subtract", _integer, _full), _neutral("subtract", lambda _: 0)),
    "multiply-by-one": Mutation(_of_types("multiply", _integer, _real), _neutral("multiply", _one)),
    "divide-by-one": Mutation(_of_types("divide", _integer, _real), _neutral("divide", _one)),
    "and-all-ones": Mutation(_of_types("and", _integer, _pred), _neutral("and", _ones)),
    "or-zero": Mutation(_of_types("or", _integer, _pred), _neutral("or", lambda _: 0)),
    "xor-zero": Mutation(_of_types("xor", _integer, _pred), _neutral("xor", lambda _: 0)),
    "shift-left-by-zero": Mutation(_of_types("shift-left", _integer), _neutral("shift-left", lambda _: 0)),
    "shift-right-by-zero": Mutation(
        _of_types("shift-right-logical", _integer), _neutral("shift-right-logical", lambda _: 0)
    ),
    "negate-twice": Mutation(_of_types("negate", _integer, _signed_real, _complex), _twice("negate")),
    "not-twice": Mutation(_of_types("not", _integer, _pred), _twice("not")),
    "maximum-with-itself": Mutation(_of_types("maximum", _integer, _pred, _real), _itself("maximum")),
    "minimum-with-itself": Mutation(_of_types("minimum", _integer, _pred, _real), _itself("minimum")),
    "and-with-itself": Mutation(_of_types("and", _integer, _pred), _itself("and")),
    "select-true": Mutation(is_value, _select_true),
    "select-same": Mutation(is_value, _select_same),
    "clamp-to-all": Mutation(_of_types("clamp", _integer), _clamp_to_all),
    "widen-and-narrow": Mutation(_named(_WIDER), _widen_and_narrow),
    "bitcast-convert-pair": Mutation(_has_bits, _bitcast_convert_pair),
    "real-of-complex": Mutation(_named(frozenset({F32.name, F64.name})), _real_of_complex),
    "reduce-to-own-precision": Mutation(_named(_FORMATS), _reduce_precision),
    "copy": Mutation(is_value, lambda site: site.build("copy", [site.instruction])),
}
