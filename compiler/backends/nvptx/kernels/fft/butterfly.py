"""Transforms of a few elements that a thread holds in registers, of any length; even ones in sums and differences.

A length is split into factors until they are prime (Cooley and Tukey's way).  Of a prime the elements of two numbers
that sum to it go together, since their roots are conjugates: half as many products.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.codegen.complex_numbers import Complex
from compiler.codegen.fourier import roots_of_unity


def transformed(values: Sequence[Complex], *, inverse: bool) -> list[Complex]:
    """The transform of some elements, in order."""
    count = len(values)
    if count == 1:
        return list(values)
    if count == 2:
        return [values[0] + values[1], values[0] - values[1]]
    first = next((factor for factor in range(2, count) if count % factor == 0), 0)
    return _composite(values, first, inverse=inverse) if first else _prime(values, inverse=inverse)


def _composite(values: Sequence[Complex], first: int, *, inverse: bool) -> list[Complex]:
    """The transform of a length with a factor: transforms of that length, products with roots, and the others."""
    count = len(values)
    rest, roots = count // first, roots_of_unity(count, inverse=inverse)
    inner = [transformed(values[number::rest], inverse=inverse) for number in range(rest)]
    found = list(values)
    for low in range(first):
        turned = [_product(inner[number][low], complex(roots[number * low])) for number in range(rest)]
        found[low::first] = transformed(turned, inverse=inverse)
    return found


def _prime(values: Sequence[Complex], *, inverse: bool) -> list[Complex]:
    """The transform of an odd prime length."""
    count = len(values)
    half, roots = range(1, count // 2 + 1), roots_of_unity(count, inverse=inverse)
    sums = [values[number] + values[count - number] for number in half]
    differences = [values[number] - values[count - number] for number in half]
    found = [values[0], *values[1:]]
    for sum_ in sums:
        found[0] = found[0] + sum_
    for result in half:
        real, imaginary = values[0], None
        for number, sum_, difference in zip(half, sums, differences, strict=True):
            root = complex(roots[number * result % count])
            real = real + sum_.scaled(root.real)
            term = difference.scaled(root.imag)
            imaginary = term if imaginary is None else imaginary + term
        assert imaginary is not None
        found[result], found[count - result] = real + imaginary.turned(), real + imaginary.turned_back()
    return found


def _product(value: Complex, root: complex) -> Complex:
    """The product with a root of unity; quarters only turn a number."""
    if root == 1:
        return value
    if root == -1:
        return -value
    if root == 1j:
        return value.turned()
    if root == -1j:
        return value.turned_back()
    return value * Complex(value.re.literal(root.real), value.re.literal(root.imag))
