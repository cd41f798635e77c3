"""The identity of a combiner leaves every value of a type as it is, to the bit, or there is none."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.ir.combiner import COMBINERS, binary_opcode, binary_opcodes, identity, ufunc
from compiler.ir.numbers import unsigned_bits
from compiler.ir.types import TYPES, ElementType, Kind

NUMBERS = [row for row in TYPES.values() if row.kind is not Kind.OPAQUE]
WITHOUT = {("f8e8m0fnu", "add"), ("c64", "multiply"), ("c128", "multiply")}
"""Combiners that change some value whatever they are given: there is no zero, and infinity times 1 + 0i is none."""


def combiners(element_type: ElementType) -> list[str]:
    opcodes = sorted(COMBINERS)
    if element_type.is_complex:
        return ["add", "multiply"]
    return [o for o in opcodes if o not in ("and", "or", "xor")] if element_type.is_float else opcodes


def every_value(element_type: ElementType) -> np.ndarray:
    """All values of a type of up to 16 bits, of others some of each kind."""
    rng = np.random.default_rng(0)
    if element_type.kind is Kind.PRED:
        return np.array([False, True])
    if element_type.is_integer and element_type.bits < 8:
        low = -(1 << (element_type.bits - 1)) if element_type.is_signed else 0
        return np.arange(low, low + (1 << element_type.bits)).astype(element_type.dtype)
    if element_type.bits <= 16:
        return np.arange(1 << element_type.bits).astype(f"u{element_type.size_bytes}").view(element_type.dtype)
    edges = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan])
    if element_type.is_integer:
        return rng.integers(0, 256, 1024 * element_type.size_bytes, np.uint8).view(element_type.dtype)
    if element_type.is_complex:
        grid = np.empty((edges.size, edges.size), np.complex128)
        grid.real, grid.imag = edges[:, None], edges
        return grid.astype(element_type.dtype).reshape(-1)
    drawn = rng.integers(0, 256, 1024 * element_type.size_bytes, np.uint8).view(element_type.dtype)
    return np.concatenate([edges.astype(element_type.dtype), drawn])


def is_same(left: np.ndarray, right: np.ndarray, element_type: ElementType) -> bool:
    if element_type.is_complex:
        part = TYPES[f"f{element_type.bits // 2}"]
        return is_same(left.real, right.real, part) and is_same(left.imag, right.imag, part)
    same = unsigned_bits(left) == unsigned_bits(right)
    if element_type.is_float:
        with np.errstate(invalid="ignore"):  # a NaN that signals
            same |= np.isnan(left.astype(np.float64)) & np.isnan(right.astype(np.float64))
    return bool(same.all())


@pytest.mark.parametrize("element_type", NUMBERS, ids=str)
def test_the_identity_of_each_combiner_changes_no_value(element_type: ElementType) -> None:
    values = every_value(element_type)
    t = f"{element_type}[{values.size}]"
    for opcode in combiners(element_type):
        module = compiler.parse(
            f"c {{ a = {element_type}[] parameter(0) b = {element_type}[] parameter(1)\n"
            f"  ROOT r = {element_type}[] {opcode}(a, b) }}\n"
            f"ENTRY e {{ x = {t} parameter(0) y = {t} parameter(1) ROOT r = {t} {opcode}(x, y) }}"
        )
        combiner = module.computations[0]
        assert binary_opcode(combiner) == opcode
        function = ufunc(combiner, element_type)
        assert function is not None
        value = identity(function, element_type)
        assert (value is None) == ((element_type.name, opcode) in WITHOUT), f"{opcode}: {value}"
        if value is not None:
            neutral = np.full(values.shape, value).astype(element_type.dtype)
            for pair in ((values, neutral), (neutral, values)):
                (result,) = compiler.interpret(module, *pair)
                assert is_same(result, values, element_type), opcode


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ("add(a, c), multiply(d, b)", ["add", "multiply"]),
        ("add(a, d), multiply(b, d)", [None, "multiply"]),
        ("add(a, a), maximum(b, d)", [None, "maximum"]),
        ("subtract(a, c), minimum(b, d)", [None, "minimum"]),
    ],
)
def test_each_result_of_a_combiner_is_recognised_alone(results, expected):
    first, second = results.split("), ")
    text = " ".join(f"{name} = f32[] parameter({number})" for number, name in enumerate("abcd"))
    text += f" x = f32[] {first}) y = f32[] {second} ROOT t = (f32[], f32[]) tuple(x, y)"
    assert binary_opcodes(compiler.parse(f"ENTRY e {{ {text} }}").entry) == expected
