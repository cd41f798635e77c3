"""The bounds of single operations on operands that are not known exactly, held to functions with more digits.

What an engine gives lies within a bound as long as the bound is wide, and where one is too narrow by a little, hardly
any engine comes there.  So the rules by which errors go through an operation are tried on their own: its operands are
sums from which a large number is taken again, of which wide mode says how far they may be off.  Whatever the operation
makes of a number within that, computed with more digits and rounded once, is right and must lie within the bound; and
the bound may be no more than a few times as wide as the numbers that come of it, and their rounding, lie apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
from mpmath import libmp

import compiler
from compiler.generate import PAIRS
from xlabench.judging.self_check import JudgeError
from xlabench.judging.tightness import MOST, Most
from xlabench.judging.tolerance import Array, distance, finfo, real_dtype
from xlabench.survival import about

_DIGITS = 160
"""Bits that are computed with: three times as many as f64 has."""
_COUNT = 16
"""Elements of each operand."""
_BITS_LEFT = 4
"""How many of an operand's digits are right at least."""
_EXACT_EVERY = 4
"""Of how many elements one is known exactly."""
_WIDER = 4.0
"""How many times as wide as what comes of its operands, and its roundings (`tightness.MOST`), a bound is at most, in
the median: half as much again as it was of any operation in 100 rounds of all of them."""
_EXACTLY_ROUNDED = Most(2, 2)
"""Roundings of what `tightness` says none of."""
_PREDICATE = "pred"
SLACK = 1 + 2.0**-40
"""What rounding in f64 does to a bound, and to the ends of an interval."""

Meaning = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """What an opcode makes of numbers with many digits, and between what its operands are drawn.

    Attributes:
        meaning: the function.
        ranges: the ends between which each operand lies.
        attributes: in the text of the language.
        result: the element type of the result, "" for that of the operands.
        is_analytic: whether it has a meaning of complex numbers as well.
    """

    meaning: Meaning
    ranges: Sequence[tuple[float, float]]
    attributes: str = ""
    result: str = ""
    is_analytic: bool = False


def _function(name: str, low: float, high: float, *, is_analytic: bool = False) -> Operation:
    return Operation(getattr(mpmath, name), ((low, high),), is_analytic=is_analytic)


def _sign(x: Any) -> Any:
    return x / abs(x) if x else x


def _cube_root(x: Any) -> Any:
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


def _away_from_zero(x: Any) -> Any:
    return mpmath.sign(x) * mpmath.floor(abs(x) + mpmath.mpf(0.5))


def _remainder(x: Any, y: Any) -> Any:
    return x - y * mpmath.sign(x / y) * mpmath.floor(abs(x / y))


_ANY, _POSITIVE, _SMALL = (-6.0, 6.0), (0.1, 6.0), (-0.8, 0.8)

REAL: Mapping[str, Operation] = {
    "add": Operation(lambda x, y: x + y, (_ANY, _ANY), is_analytic=True),
    "subtract": Operation(lambda x, y: x - y, (_ANY, _ANY), is_analytic=True),
    "multiply": Operation(lambda x, y: x * y, (_ANY, _ANY), is_analytic=True),
    "divide": Operation(lambda x, y: x / y, (_ANY, _POSITIVE), is_analytic=True),
    "maximum": Operation(max, (_ANY, _ANY)),
    "minimum": Operation(min, (_ANY, _ANY)),
    "clamp": Operation(lambda low, x, high: min(max(x, low), high), ((-6.0, -1.0), _ANY, (1.0, 6.0))),
    "negate": Operation(lambda x: -x, (_ANY,), is_analytic=True),
    "abs": Operation(abs, (_ANY,)),
    "sign": Operation(mpmath.sign, (_ANY,)),
    "floor": Operation(mpmath.floor, (_ANY,)),
    "ceil": Operation(mpmath.ceil, (_ANY,)),
    "round-nearest-even": Operation(mpmath.nint, (_ANY,)),
    "round-nearest-afz": Operation(_away_from_zero, (_ANY,)),
    "compare": Operation(lambda x, y: x < y, ((1.0, 1.02), (1.0, 1.02)), ", direction=LT", _PREDICATE),
    "remainder": Operation(_remainder, (_ANY, (4.0, 6.0))),
    "sqrt": _function("sqrt", *_POSITIVE, is_analytic=True),
    "rsqrt": Operation(lambda x: 1 / mpmath.sqrt(x), (_POSITIVE,), is_analytic=True),
    "cbrt": Operation(_cube_root, (_ANY,)),
    "exponential": _function("exp", *_ANY, is_analytic=True),
    "exponential-minus-one": _function("expm1", *_ANY, is_analytic=True),
    "log": _function("log", *_POSITIVE, is_analytic=True),
    "log-plus-one": _function("log1p", -0.6, 6.0, is_analytic=True),
    "logistic": Operation(lambda x: 1 / (1 + mpmath.exp(-x)), (_ANY,), is_analytic=True),
    "tanh": _function("tanh", *_ANY, is_analytic=True),
    "sine": _function("sin", *_ANY, is_analytic=True),
    "cosine": _function("cos", *_ANY, is_analytic=True),
    "tan": _function("tan", -1.2, 1.2),
    "asin": _function("asin", *_SMALL),
    "acos": _function("acos", *_SMALL),
    "atan2": Operation(mpmath.atan2, (_ANY, (1.0, 6.0))),
    "sinh": _function("sinh", *_ANY),
    "cosh": _function("cosh", *_ANY),
    "asinh": _function("asinh", *_ANY),
    "acosh": _function("acosh", 1.3, 6.0),
    "atanh": _function("atanh", *_SMALL),
    "erf": _function("erf", -2.0, 2.0),
    "power": Operation(mpmath.power, (_POSITIVE, (-3.0, 3.0)), is_analytic=True),
}
"""Operations on real numbers."""
COMPLEX: Mapping[str, Operation] = {
    **{opcode: operation for opcode, operation in REAL.items() if operation.is_analytic},
    "abs": REAL["abs"],
    "sign": Operation(_sign, (_ANY,)),
}
"""Those that have a meaning of complex numbers, away from their branch cuts."""
KINDS: Mapping[str, Any] = {
    "f32": np.float32,
    "c64": np.complex64,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "f64": np.float64,
    "c128": np.complex128,
}
"""The types that operations are on, the most common first."""


@cache
def rows() -> Sequence[tuple[str, str]]:
    """All opcodes on all types that are tried, those on one type after the other."""
    known = [(opcode, kind) for kind in KINDS for opcode in (COMPLEX if _is_complex_kind(kind) else REAL)]
    return [row for row in known if row in PAIRS]


@dataclass(frozen=True)
class _Row:
    """An operation on a type."""

    opcode: str
    kind: str

    @cached_property
    def operation(self) -> Operation:
        """What it means."""
        return (COMPLEX if self.is_complex else REAL)[self.opcode]

    @cached_property
    def is_complex(self) -> bool:
        """Whether it is on complex numbers."""
        return _is_complex_kind(self.kind)

    @cached_property
    def result(self) -> str:
        """The type of the result."""
        is_modulus = self.is_complex and self.opcode == "abs"
        return self.operation.result or ({"c64": "f32", "c128": "f64"}[self.kind] if is_modulus else self.kind)

    def module(self) -> Any:
        """The program: operands that are off by what adding a number and taking it again makes, and the operation."""
        count, lines = len(self.operation.ranges), list[str]()
        array = f"{self.kind}[{_COUNT}]"
        for k in range(count):
            lines += [f"p{k} = {array} parameter({2 * k})", f"c{k} = {array} parameter({2 * k + 1})"]
            lines += [f"s{k} = {array} add(p{k}, c{k})", f"x{k} = {array} subtract(s{k}, c{k})"]
        operands = ", ".join(f"x{k}" for k in range(count))
        lines.append(f"r = {self.result}[{_COUNT}] {self.opcode}({operands}){self.operation.attributes}")
        shapes = ", ".join([*[array] * count, f"{self.result}[{_COUNT}]"])
        lines.append(f"ROOT t = ({shapes}) tuple({operands}, r)")
        return compiler.parse("ENTRY main {\n" + "\n".join(lines) + "\n}")


def check(row: tuple[str, str], rng: np.random.Generator) -> None:
    """Hold the bounds of an operation to what it makes of numbers within its operands' bounds.

    Args:
        row: one of `rows()`.
        rng: what operands are drawn by.

    Raises:
        JudgeError: they are too tight or too wide.
    """
    one = _Row(*row)
    inputs = [array for ends in one.operation.ranges for array in blurred(one.kind, ends, _COUNT, rng)]
    with np.errstate(all="ignore"), mpmath.workprec(_DIGITS):
        *operands, result = _prepared(one)(*inputs)
        widths = [width for at in range(_COUNT) for width in _checked(one, operands, result, at)]
    if widths and (width := float(np.median(widths))) > _WIDER:
        said = f"bounds of {one.kind} are {width:.3g} times as wide as what comes of operands"
        raise JudgeError(about(one.opcode, said))


@cache
def _prepared(one: _Row) -> Callable[..., list[Any]]:
    """Wide mode of a row's program, which has its turn again and again."""
    prepared: Callable[..., list[Any]] = compiler.prepare(one.module(), wide=True)
    return prepared


def blurred(kind: str, ends: tuple[float, float], count: int, rng: np.random.Generator) -> Iterator[Array]:
    """So many numbers between the `ends`, and what is added to each and taken again.

    Args:
        kind: the type.
        ends: between which they are.
        count: how many.
        rng: what they are drawn by.
    """
    dtype = limits(kind).dtype
    values = rng.uniform(*ends, count).astype(dtype)
    digits = -int(np.log2(float(limits(kind).eps)))
    scales = 2.0 ** rng.integers(0, max(1, digits - _BITS_LEFT), count)
    added = np.where(np.arange(count) % _EXACT_EVERY, np.abs(values.astype(np.float64)) * scales, 0).astype(dtype)
    if not _is_complex_kind(kind):
        yield values
        yield added
        return
    whole, low, high = KINDS[kind], *ends
    yield (values + 1j * rng.uniform(max(low, 0.2), high, count)).astype(whole)
    yield (added * (1 + 1j)).astype(whole)


def _is_complex_kind(kind: str) -> bool:
    return kind.startswith("c")


@cache
def limits(kind: str) -> Any:
    """What is known of a float type by its name, or of the parts of a complex one."""
    return finfo(real_dtype(np.dtype(KINDS[kind])))


def _checked(row: _Row, operands: Sequence[Any], result: Any, at: int) -> Iterator[float]:
    """How many times as wide as it need be the bound of an element is, where operands are not known exactly."""
    errors = [float(operand.bound[at]) for operand in operands]
    if not all(map(np.isfinite, errors)):
        return
    made = list(_made(row, operands, at))
    own = np.bool_ if row.result == _PREDICATE else KINDS[row.result]
    rounded = np.asarray(made).astype(own)
    if row.result != _PREDICATE and not np.isfinite(rounded).all():
        return
    bound = float(result.bound[at])
    for number in rounded:
        if not _allows(result, at, number):
            given = [str(operand.value[at]) for operand in operands]
            said = f"{number} of {row.kind} is right of {', '.join(given)} within {errors}, and the bound {bound:.3g} "
            raise JudgeError(about(row.opcode, f"{said}about {result.value[at]} does not hold it"))
    if any(errors):
        width = _width(row, made, bound)
        # Between numbers of the type there are others, and a rule may not know which there are.
        yield width if width <= _WIDER else _width(row, list(_made(row, operands, at, is_own=False)), bound)


def _width(row: _Row, made: Sequence[Any], bound: float) -> float:
    """How many times as wide as it need be a bound is, by all that is made, first of the values themselves."""
    if row.result == _PREDICATE:
        return np.inf if np.isinf(bound) and len(set(made)) == 1 else 0.0
    spread = max(abs(number - made[0]) for number in made)
    info, most = limits(row.result), MOST.get(row.opcode, _EXACTLY_ROUNDED)
    roundings = most.complex if row.is_complex else most.real
    return bound / float(spread + roundings * float(info.eps) * max(map(abs, made)) + float(info.tiny))


def _allows(result: Any, at: int, number: Any) -> bool:
    """Whether a number of the result's own type is legal."""
    if np.isinf(result.bound[at]) or number == result.value[at]:
        return True
    if number.dtype.kind == "b":
        return False
    off = distance(number, result.value[at])
    return bool(off <= abs(float(result.bound[at])) * SLACK)


def _made(row: _Row, operands: Sequence[Any], at: int, *, is_own: bool = True) -> Iterator[Any]:
    """What the operation makes of its operands, first of the values themselves, then of others within their bounds.

    Args:
        row: the operation.
        operands: what it is given.
        at: the element.
        is_own: whether of numbers of the own type only.
    """
    near = [list(_near(row, operand, at) if is_own else _ends(row, operand, at)) for operand in operands]
    for numbers in itertools.product(*near):
        made = row.operation.meaning(*numbers)
        yield made if isinstance(made, bool) else complex(made) if _is_complex(made) else float(made)


def _is_complex(number: Any) -> bool:
    return isinstance(number, mpmath.mpc)


def _near(row: _Row, operand: Any, at: int) -> Iterator[Any]:
    """A value, and the farthest numbers of its type that its bound allows, along each axis."""
    own, number_of = KINDS[row.kind], complex if row.is_complex else float
    middle, error = number_of(operand.value[at]), abs(float(operand.bound[at]))
    yield _exact(middle)
    if not error:
        return
    shares = 1.0, 1 - 2 * float(limits(row.kind).eps) * abs(middle) / error
    for way in (1, -1, 1j, -1j) if row.is_complex else (1, -1):
        for share in shares:
            other = number_of(np.asarray(middle + way * error * share).astype(own))
            if other != middle and _is_within(other, middle, error):
                yield _exact(other)
                break


def _exact(number: Any) -> Any:
    """A number, with room for many digits behind its own; `mpmath`'s own way there also rounds, which takes long."""
    if isinstance(number, complex):
        return mpmath.mp.make_mpc((libmp.from_float(number.real), libmp.from_float(number.imag)))
    return mpmath.mp.make_mpf(libmp.from_float(number))


def _is_within(other: complex, middle: complex, error: float) -> bool:
    """Whether numbers are no farther apart; more digits than a float has are asked only where these may tell."""
    off = abs(other - middle)
    if off * SLACK <= error:
        return True
    return off <= error * SLACK and bool(abs(_exact(other) - _exact(middle)) <= error)


def _ends(row: _Row, operand: Any, at: int) -> Iterator[Any]:
    """A value, and the ends of what its bound leaves, whether the type has such numbers or not."""
    value, error = operand.value[at], abs(float(operand.bound[at]))
    for way in (0, 1, -1, 1j, -1j) if row.is_complex else (0, 1, -1):
        yield (mpmath.mpc if row.is_complex else mpmath.mpf)(value + way * error)


__all__ = ["COMPLEX", "KINDS", "REAL", "SLACK", "Operation", "blurred", "check", "limits", "rows"]
