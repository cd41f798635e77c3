"""Eigenvalue routines' common frame: scaling, NaN for a matrix of no numbers, and the order of results.

A matrix is scaled by a power of 2, so that squares of its elements neither overflow nor vanish; one with NaN or
infinity in it has only NaN for results, and as many failures as rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from compiler.backends.cpu.kernels.linear_algebra.tiles import Tiles
from compiler.codegen.llvm_ir import I32, I64, Builder, Value, floating, integer, keep_rolled

DOUBLE = "double"
_BITS = {"float": ("i32", 0x7F800000, 2.0**-126), DOUBLE: ("i64", 0x7FF0000000000000, 2.0**-1022)}
"""A type's bits, those of the exponent, and its smallest normal number."""


@contextmanager
def of_numbers(
    b: Builder, tiles: Tiles, largest: Value, results: Sequence[tuple[Value, int]], failures: tuple[Value, int]
) -> Iterator[Value]:
    """What is done of a matrix whose `largest` element is a number; yields the power of 2 to scale it by.

    Args:
        b: where to emit.
        tiles: of the matrix's type.
        largest: the greatest magnitude of its elements, infinity where one is none.
        results: what holds NaN of other matrices, with numbers of elements.
        failures: where their count is written, and what it is of other matrices.
    """
    finite = b.compare("olt", largest, floating(math.inf, tiles.type))
    with b.when(b.binary("xor", finite, Value("i1", "true")), "spoilt"):
        for base, count in results:
            with b.loop(integer(0), integer(count), name="nan", scalar=True) as at:
                b.store(floating(math.nan, tiles.type), b.gep(tiles.type, base, at.index))
        address, count = failures
        b.store(integer(count, I32), address)
    with b.when(finite, "finite"):
        yield _power_of_two(b, largest)


def _power_of_two(b: Builder, largest: Value) -> Value:
    """The power of 2 that the largest element begins with, as far as numbers are normal."""
    bits, exponent, least = _BITS[largest.type]
    power = b.cast("bitcast", b.binary("and", b.cast("bitcast", largest, bits), integer(exponent, bits)), largest.type)
    return b.overloaded("maxnum", [power, floating(least, power.type)])


class Ranked(NamedTuple):
    """A number in f64, where it stands, and where it belongs in ascending order."""

    position: Value
    rank: Value
    value: Value


@contextmanager
def ranked(b: Builder, tiles: Tiles, values: Value, size: int) -> Iterator[Ranked]:
    """A loop over numbers in f64, which are told with their places in ascending order.

    Args:
        b: where code is emitted.
        tiles: types and widths.
        values: the address of the numbers.
        size: how many there are.
    """
    metadata, start = keep_rolled(tiles.module, scalar=True), [integer(0)]
    with b.loop(integer(0), integer(size), name="value", nonempty=True, scalar=True) as at:
        value = b.load(DOUBLE, b.gep(DOUBLE, values, at.index))
        with b.loop(integer(0), integer(size), carried=start, name="rank", scalar=True, metadata=metadata) as other:
            beside = b.load(DOUBLE, b.gep(DOUBLE, values, other.index))
            equal = b.binary("and", b.compare("oeq", beside, value), b.compare("slt", other.index, at.index))
            before = b.binary("or", b.compare("olt", beside, value), equal)
            other.carry(b.add(other.carried[0], b.cast("zext", before, I64)))
        yield Ranked(at.index, other.results[0], value)
