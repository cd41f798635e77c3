"""Functions of complex numbers that grow like e^x: their components may be numbers where e^x is none.

e^710 is no number of f64, but its product with a sine of 0.1 is one.  Where x is that large it is taken by steps, from
the sine or cosine on, as the C library does.  Where the numbers were f32 no component is a number of that type by then.
"""

from __future__ import annotations

import math as python_math
from collections.abc import Callable
from typing import NamedTuple

from compiler.codegen.complex_numbers import Complex, call, is_infinite, is_nan
from compiler.codegen.math.term import Term

_LIMIT = 709.0
"""Up to which e^x is a number of f64."""
_STEP = 680.0
"""What is taken off at once: the difference is exact, and so large that both e^x / 2 and cosh x are the same number."""
_OF_STEP = python_math.exp(_STEP)


class Taken(NamedTuple):
    """e^x as a product: of e^`rest`, and of what `onto` multiplies by."""

    rest: Term
    onto: Callable[[Term], Term]


Taking = Callable[[Term], Taken]


def whole(x: Term) -> Taken:
    """All of x at once."""
    return Taken(x, lambda factor: factor)


def by_steps(x: Term) -> Taken:
    """In up to three steps: with the least sine there is, 5e-324, e^x is beyond all numbers from x = 1454 on."""
    taken = [x > limit for limit in (_LIMIT, _LIMIT + _STEP)]
    steps = [is_taken.where(x.literal(_OF_STEP), 1.0) for is_taken in taken]
    rest = x
    for is_taken in taken:
        rest = rest - is_taken.where(x.literal(_STEP), 0.0)
    return Taken(rest, lambda factor: factor * steps[0] * steps[1])


def exponential(z: Complex, taken: Taking = by_steps) -> Complex:
    """e^z; a real argument has a real result, also where 0 * inf would make a NaN of it."""
    rest, onto = taken(z.re)
    factor = call("exponential", rest)
    real, imaginary = onto(call("cosine", z.im)) * factor, onto(call("sine", z.im)) * factor
    size = onto(factor.literal(1.0)) * factor
    # e^-inf is 0 in any direction.
    vanishes = z.re.equals(-python_math.inf) & is_nan(real)
    real, imaginary = vanishes.where(size, real), vanishes.where(size, imaginary)
    is_real = z.im.equals(0.0)
    return Complex(is_real.where(size, real), is_real.where(z.im, imaginary))


def expm1(z: Complex, taken: Taking = by_steps) -> Complex:
    """A subtraction of 1 would lose digits: e^x cos y - 1 is (e^x - 1) cos y - 2 sin(y/2)^2."""
    half, small = call("sine", z.im * 0.5), call("exponential-minus-one", z.re)
    rest, onto = taken(z.re)
    factor, cosine_ = call("exponential", rest), call("cosine", z.im)
    real = (z.re > _LIMIT).where(onto(cosine_) * factor, small * cosine_ - 2.0 * half * half)
    imaginary = onto(call("sine", z.im)) * factor
    is_real = z.im.equals(0.0)
    return Complex(is_real.where(small, real), is_real.where(z.im, imaginary))


def sine(z: Complex, taken: Taking = by_steps) -> Complex:
    """(sin x cosh y, cos x sinh y)."""
    rest, onto = taken(z.im.abs())
    return Complex(
        product_with_zero(onto(call("sine", z.re)), call("cosh", rest)),
        product_with_zero(onto(call("cosine", z.re)), call("sinh", rest.copysign(z.im))),
    )


def cosine(z: Complex, taken: Taking = by_steps) -> Complex:
    """(cos x cosh y, -sin x sinh y)."""
    rest, onto = taken(z.im.abs())
    return Complex(
        product_with_zero(onto(call("cosine", z.re)), call("cosh", rest)),
        -product_with_zero(onto(call("sine", z.re)), call("sinh", rest.copysign(z.im))),
    )


def sinh(z: Complex, taken: Taking = by_steps) -> Complex:
    """-i sin(iz)."""
    return sine(z.turned(), taken).turned_back()


def cosh(z: Complex, taken: Taking = by_steps) -> Complex:
    """cos(iz)."""
    return cosine(z.turned(), taken)


def product_with_zero(left: Term, right: Term) -> Term:
    """The product, in which an exact zero stays one beside an infinity: on the axes these functions are real."""
    product = left * right
    signs = left.literal(1.0).copysign(left) * left.literal(1.0).copysign(right)
    zero = (left.equals(0.0) & is_infinite(right)) | (right.equals(0.0) & is_infinite(left))
    return zero.where(left.literal(0.0).copysign(signs), product)
