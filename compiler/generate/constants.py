"""Constants of programs: near 0, or such as rewrites look for, or far from it, or where a type ends."""

from __future__ import annotations

import math

import numpy as np

from compiler.generate.choices import Choices, chance, pick
from compiler.ir.numbers import finite_bounds, integer_bounds
from compiler.ir.types import ElementType, Kind

_TELLING = (0, 1, -1, 2)
"""Constants that rewrites look for: identities, absorbers, powers of two."""
_TELLING_FLOATS = (-0.0, 0.5, -2)
"""And of floats."""
_TELLING_COMPLEX = (*_TELLING, 1j, *(complex(re, im) for re in (0.0, -0.0) for im in (0.0, -0.0)))
"""And of complex numbers, whose zeros have two signs."""
_FAR = (3, 7, 10, 25, 100, 127, 128, 255, 256, 641, 1000, 32_767, 65_535, 65_537, (1 << 31) - 1, (1 << 40) + 1)
"""Constants beyond the small ones: divisors, masks and bounds of each width, powers of two and what is beside them."""
_FAR_FLOATS = (0.1, 1 / 3, 10, 100, 1e-3, 1024, 3.5, 65_504)
"""And of floats: most have no exact reciprocal, and one is the greatest of f16."""
_WIDTHS = (7, 8, 15, 16, 31, 32, 63)
"""Bits of what integers can be, with a sign or without."""
_TELLING_PERCENT, _FAR_PERCENT = 40, 12
"""How often a constant is one that rewrites look for; how often one beyond the small ones."""
_WITH_INFINITIES = 16  # bits; most narrower floats lack them, or zeros with signs


def extremes(element_type: ElementType) -> tuple[complex | float | bool, ...]:
    """The ends of a type's range, and what is no number or a zero with a sign where there is such.

    Floats end towards zero as well: the least of them are powers of two whose reciprocals are none.
    """
    if element_type.is_integer:
        low, high = integer_bounds(element_type)
        return high, low
    if element_type.is_float and element_type.bits >= _WITH_INFINITIES:
        least = np.nextafter(np.zeros((), element_type.dtype), np.ones((), element_type.dtype))
        return math.inf, -math.inf, math.nan, -0.0, *finite_bounds(element_type), float(least)
    return (1,)


def small(choices: Choices, element_type: ElementType) -> complex | float | bool:
    """A number that most types hold exactly, often one that rewrites look for."""
    has_them = element_type.kind is not Kind.PRED and (not element_type.is_signed or element_type.bits > 2)
    if has_them and chance(choices, _TELLING_PERCENT):
        if element_type.is_float:
            return pick(choices, (*_TELLING, *_TELLING_FLOATS))
        if element_type.is_complex:
            return pick(choices, _TELLING_COMPLEX)
        return pick(choices, _TELLING[:2] if element_type.kind is Kind.UNSIGNED else _TELLING)
    if has_them and chance(choices, _FAR_PERCENT):
        return _far(choices, element_type)
    return _near(element_type, choices.integer(0, 16))


def power_of_two(choices: Choices, element_type: ElementType) -> float:
    """Any power of two of floats, from the least of all to the greatest: not every one has a reciprocal.

    Args:
        choices: which one it is.
        element_type: the floats, of 16 bits at least.
    """
    least = np.nextafter(np.zeros((), element_type.dtype), np.ones((), element_type.dtype))
    ends = (math.frexp(float(end))[1] - 1 for end in (least, finite_bounds(element_type)[1]))
    return math.ldexp(1.0, choices.integer(*ends))


def beside_an_end(choices: Choices, element_type: ElementType) -> int:
    """A number at the end of this type of integers or of a narrower one, or next to it."""
    low, high = integer_bounds(element_type)
    ends = [sign << bits for bits in _WIDTHS for sign in (1, -1) if low <= sign << bits <= high]
    return min(max(pick(choices, ends or [high]) + choices.integer(-2, 2), low), high)


def _near(element_type: ElementType, number: int) -> complex | float | bool:
    """A small number of a type, by its number."""
    if element_type.kind is Kind.PRED:
        return number % 2 == 1
    if element_type.kind is Kind.UNSIGNED:
        return number % (1 << min(element_type.bits, 4))
    signed = (number + 1) // 2 * (1 if number % 2 else -1)
    if element_type.is_signed:
        half = 1 << (min(element_type.bits, 5) - 1)
        return (signed + half) % (2 * half) - half
    return complex(signed / 4, 0.5) if element_type.is_complex else signed / 4


def _far(choices: Choices, element_type: ElementType) -> complex | float:
    """A number of some size that a type has."""
    if not element_type.is_integer:
        return pick(choices, _FAR_FLOATS if element_type.bits >= _WITH_INFINITIES else (1,))
    low, high = integer_bounds(element_type)
    number = pick(choices, [number for number in _FAR if number <= high] or (1,))
    return -number if low < 0 and chance(choices, 30) else number
