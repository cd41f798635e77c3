"""Index arithmetic on symbols: what element of an operand a result element needs.

A kernel's loops count *variables*.  An `Index` is a sum of integer multiples of *digits* of variables plus a constant,
where a digit is `(variable // stride) % size`: a variable that runs over several dimensions at once is a mixed-radix
number, and each dimension's index is one of its digits.  Adding the digits up again with the right factors gives the
variable back, so a chain of elementwise ops, reshapes and broadcasts over one collapsed loop costs no division at all.
Where a digit of a collapsed variable is left over, `Emission` records at which strides the loop should have been cut;
`compiler.codegen.nest` cuts it there and emits again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from compiler.codegen.llvm_ir import I32, I64, Builder, Value, integer
from compiler.codegen.period import Division


@dataclass(slots=True, eq=False)
class Variable:
    """A run-time i64 known to lie in [0, size): a loop counter, or what was `looked_up` or divided."""

    value: Value
    size: int
    looked_up: bool = False
    write: Callable[[], None] | None = None
    number: int = field(default_factory=itertools.count().__next__)
    """Variables come in the order in which they were made wherever they are sorted: code is the same every time."""

    def read(self) -> Value:
        """The value; what computes it, if that is still to `write`, is written when it is first asked for."""
        if self.write is not None:
            self.write()
            self.write = None
        return self.value


@dataclass(frozen=True, slots=True)
class Digit:
    """`(variable // stride) % size`."""

    variable: Variable
    stride: int
    size: int
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """Of the same digit the same, computed once: caches of values are asked by indices all the time."""
        if not self._hash:
            object.__setattr__(self, "_hash", hash((self.variable, self.stride, self.size)) or 1)
        return self._hash

    @property
    def is_whole(self) -> bool:
        """Whether this is the variable itself."""
        return self.stride == 1 and self.size >= self.variable.size


@dataclass(frozen=True, slots=True)
class Index:
    """`sum(factor * digit) + constant`."""

    terms: tuple[tuple[Digit, int], ...] = ()
    constant: int = 0
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """As of digits."""
        if not self._hash:
            object.__setattr__(self, "_hash", hash((self.terms, self.constant)) or 1)
        return self._hash

    def __add__(self, other: Index) -> Index:
        if not self.terms:
            return Index(other.terms, self.constant + other.constant)
        if not other.terms:
            return Index(self.terms, self.constant + other.constant)
        return _normal((*self.terms, *other.terms), self.constant + other.constant)

    def plus(self, constant: int) -> Index:
        """The index moved by a constant."""
        return Index(self.terms, self.constant + constant) if constant else self

    def times(self, factor: int) -> Index:
        """The index multiplied by a constant."""
        if factor in (0, 1):
            return self if factor else ZERO
        return Index(tuple((digit, factor * f) for digit, f in self.terms), factor * self.constant)

    def bounds(self) -> tuple[int, int]:
        """The least and the greatest value it can take."""
        low = high = self.constant
        for digit, factor in self.terms:
            reach = factor * (digit.size - 1)
            low, high = (low + reach, high) if reach < 0 else (low, high + reach)
        return low, high


ZERO = Index()


def constant(value: int) -> Index:
    """A constant index."""
    return Index((), value)


def whole(variable: Variable) -> Index:
    """A variable as an index; one that can only be 0 is the constant 0."""
    return ZERO if variable.size <= 1 else Index(((Digit(variable, 1, variable.size), 1),))


def digits(variable: Variable, sizes: Sequence[int]) -> tuple[Index, ...]:
    """A variable that runs over dimensions of these sizes in row-major order, taken apart into one index each."""
    result: list[Index] = []
    stride = 1
    for size in reversed(sizes):
        result.append(ZERO if size <= 1 else Index(((Digit(variable, stride, size), 1),)))
        stride *= size
    return tuple(reversed(result))


def linear(indices: Sequence[Index], sizes: Sequence[int]) -> Index:
    """The row-major offset of an element in an array of these sizes."""
    total, stride = ZERO, 1
    for index, size in zip(reversed(indices), reversed(sizes), strict=True):
        total = total + index.times(stride)
        stride *= size
    return total


def _normal(terms: Iterable[tuple[Digit, int]], constant_: int) -> Index:
    """Add up equal digits, and join neighbouring digits of one variable whose factors fit."""
    factors: dict[Digit, int] = {}
    for digit, factor in terms:
        factors[digit] = factors.get(digit, 0) + factor
    ordered = sorted(
        ((digit, factor) for digit, factor in factors.items() if factor),
        key=lambda term: (term[0].variable.number, term[0].stride),
    )
    joined: list[tuple[Digit, int]] = []
    for digit, factor in ordered:
        if joined:
            low, low_factor = joined[-1]
            adjacent = low.variable is digit.variable and digit.stride == low.stride * low.size
            if adjacent and factor == low_factor * low.size:
                joined[-1] = (Digit(low.variable, low.stride, low.size * digit.size), low_factor)
                continue
        joined.append((digit, factor))
    return Index(tuple(joined), constant_)


@dataclass(frozen=True, slots=True)
class Lane:
    """Neighbouring values of a loop's counter that are computed together, one in each lane of vectors.

    Attributes:
        variable: the counter, its value a vector.
        first: the counter in the first lane.
        mask: the lanes that count, as a vector of i1; None where all do.
        paired: whether the even values of the counter come first, then the odd ones.
        is_alone: whether only the first lane is known to count.
    """

    variable: Variable
    first: Variable
    width: int
    mask: Value | None = None
    paired: bool = False
    is_alone: bool = False

    def start(self, index: Index) -> Index | None:
        """The index in the first lane where it grows as the counter does, None where it does not."""
        found = self.strided(index)
        return found[0] if found and found[1] == 1 else None

    def strided(self, index: Index) -> tuple[Index, int] | None:
        """The index in the first lane, and by how much it grows with the counter, None where not by a constant."""
        mine = [(digit, factor) for digit, factor in index.terms if digit.variable is self.variable]
        if len(mine) != 1 or not mine[0][0].is_whole:
            return None
        others = tuple(term for term in index.terms if term[0].variable is not self.variable)
        if any(digit.variable.value.type[0] == "<" for digit, _ in others):  # a quotient of the counter, in lanes too
            return None
        return whole(self.first).times(mine[0][1]) + Index(others, index.constant), mine[0][1]


Terms = tuple[tuple[Digit, int], ...]


@dataclass(frozen=True, slots=True)
class Known:
    """Facts that the loops around have about indices that are known at run time only.

    Attributes:
        starts: indices that were read before the loops, by what they are read from.
        bounds: sums of terms within the present pieces of the loops: the least, and what is beyond the greatest.
    """

    starts: dict[object, Index] = field(default_factory=dict)
    bounds: dict[Terms, tuple[int, int]] = field(default_factory=dict)


_NARROW = 2**31
"""Counters below are divided as 32 bits, of which vectors have products twice as long; of 64 they have not."""


@dataclass(slots=True)
class Emission:
    """Turns indices into LLVM values in the current block.

    `cuts` collects for each variable the strides at which an index had to divide it: the loop had better be cut there,
    so that its parts are counters of their own.  `inner_cuts` are strides at which it was so under a condition only.
    `breaks` tells at which values of which digit the code changes over from one case to another, `moving` of which sums
    of several digits it does where they pass zero; `starts` says what variables among these are read from.  `divisions`
    tells how digits are divided.  `slow`, unless None, allows functions to have a form for small arguments, and tells
    if one was too large; where a point is `alone`, nothing is made vectors of, and a branch picks the form.
    Where it is `narrow`, indices are of 32 bits, if these hold them, since GPUs take two instructions for 64; but of 64
    LLVM sees which are neighbours.  `ahead` terms of a sum are loaded together, needed or not: memory may be far away.
    `values` caches what the current block may use; who opens a block that does not dominate what follows must `enter`
    before and `leave` after it.  `lane` says which counter is a vector, if one is.
    """

    builder: Builder
    cuts: dict[Variable, set[int]] = field(default_factory=dict)
    inner_cuts: dict[Variable, set[int]] = field(default_factory=dict)
    breaks: dict[Digit, set[int]] = field(default_factory=dict)
    moving: list[Index] = field(default_factory=list)
    starts: dict[Variable, object] = field(default_factory=dict)
    divisions: dict[Digit, set[Division]] = field(default_factory=dict)
    known: Known = field(default_factory=Known)
    lane: Lane | None = None
    slow: Value | None = None
    alone: bool = False
    narrow: bool = False
    ahead: int = 0
    _scopes: list[dict[object, object]] = field(default_factory=lambda: [{}])

    def enter(self) -> None:
        """Start a scope: what is cached from here on is forgotten by `leave`."""
        self._scopes.append({})

    def leave(self) -> None:
        """End the innermost scope."""
        self._scopes.pop()

    def cached(self, key: object) -> object | None:
        """The value kept under a key in this scope or one around it."""
        for scope in reversed(self._scopes):
            found = scope.get(key)
            if found is not None:
                return found
        return None

    def remember(self, key: object, value: object) -> None:
        """Cache a value for the innermost scope."""
        self._scopes[-1][key] = value

    def value(self, index: Index) -> Value:
        """The index as an i64."""
        known = self.cached(index)
        if isinstance(known, Value):
            return known
        builder = self.builder
        total, type_ = None, I32 if self._is_narrow(index) else I64
        if self.lane is not None and index.terms and index.constant and not self.narrow:
            total = self.value(Index(index.terms))  # the steps of an unrolled loop have it in common
        for digit, factor in index.terms if total is None else ():
            term = builder.mul(builder.cast("trunc", self._digit(digit), type_), integer(factor, type_))
            total = term if total is None else builder.add(total, term)
        if total is None:
            return integer(index.constant)
        total = builder.add(builder.cast("sext", total, I64), integer(index.constant))
        self.remember(index, total)
        return total

    def _is_narrow(self, index: Index) -> bool:
        """Whether an index is computed in 32 bits, which hold whatever comes on the way."""
        if not self.narrow or (len(index.terms) == 1 and index.terms[0][1] == 1):
            return False
        most = abs(index.constant) + sum(abs(factor) * digit.size for digit, factor in index.terms)
        return most < _NARROW and all(digit.variable.size <= _NARROW for digit, _ in index.terms)

    def _digit(self, digit: Digit) -> Value:
        variable = digit.variable
        if digit.is_whole:
            return variable.read()
        cuts = self.cuts if len(self._scopes) == 1 else self.inner_cuts
        cuts.setdefault(variable, set()).update((digit.stride, digit.stride * digit.size))
        builder = self.builder
        narrow = variable.size <= _NARROW and not digit.stride.bit_count() == digit.size.bit_count() == 1
        value = builder.cast("trunc", variable.read(), "i32") if narrow else variable.read()
        value = builder.binary("udiv", value, integer(digit.stride, value.type))
        if digit.stride * digit.size < variable.size:
            value = builder.binary("urem", value, integer(digit.size, value.type))
        return builder.cast("zext", value, I64) if narrow else value

    @property
    def may_be_fast(self) -> bool:
        """Whether it may be noted here that operands were too large."""
        return self.slow is not None and len(self._scopes) == 1

    def note_slow(self, beyond: Value) -> None:
        """Have it told by `slow` if some operand was too large."""
        assert self.slow is not None
        self.slow = self.builder.binary("or", self.slow, beyond)

    def changes(self, index: Index, bound: int) -> None:
        """Note that it decides something whether an index is below a bound."""
        if len(index.terms) != 1:
            self.moving.append(index.plus(-bound))
            return
        ((digit, factor),) = index.terms
        ahead = bound - index.constant
        position = -(-ahead // factor) if factor > 0 else ahead // factor + 1
        if 0 < position < digit.size:
            self.breaks.setdefault(digit, set()).add(position)

    def divide(self, index: Index, divisor: int) -> tuple[Index, Index]:
        """Quotient and remainder by a positive constant of an index that is never negative."""
        exact = self.digits_of(index, divisor)
        if exact is not None:
            return exact
        # Terms that straddle the divisor: a division at run time, and the result is a variable of its own.
        quotient = self.builder.binary("udiv", self.value(index), integer(divisor))
        result = whole(Variable(quotient, index.bounds()[1] // divisor + 1))
        return result, index + result.times(-divisor)

    def digits_of(self, index: Index, divisor: int) -> tuple[Index, Index] | None:
        """Quotient and remainder by a positive constant where they are made of digits; else None, and it is noted."""
        if divisor == 1:
            return index, ZERO
        high, low = _split(index, divisor)
        least, greatest = low.bounds()
        if least >= 0 and greatest < divisor:
            return high, low
        inexact = [(digit, factor) for digit, factor in index.terms if factor % divisor]
        if len(inexact) == 1:
            digit, factor = inexact[0]
            self.divisions.setdefault(digit, set()).add(Division(divisor, factor, index.constant))
        return None

    def bounds(self, index: Index) -> tuple[int, int]:
        """The least and the greatest value that an index can take here."""
        least, greatest = index.bounds()
        piece = self.known.bounds.get(index.terms)
        if piece is None:
            return least, greatest
        low, beyond = piece
        return max(least, low + index.constant), min(greatest, beyond - 1 + index.constant)

    def start(self, key: object, read: Callable[[], Value], size: int) -> Index:
        """An index that `read` gives, in [0, size), unless the loops around have read it already; named by `key`."""
        known = self.known.starts.get(key)
        if known is not None:
            return known
        index = self.opaque(read(), size)
        for digit, _ in index.terms:
            self.starts[digit.variable] = key
        return index

    def opaque(self, value: Value, size: int) -> Index:
        """An index from a run-time value known to lie in [0, size)."""
        return ZERO if size <= 1 else whole(Variable(value, size, looked_up=True))


def _split(index: Index, divisor: int) -> tuple[Index, Index]:
    """`index == divisor * high + low`, with as much as possible in `high`."""
    high: list[tuple[Digit, int]] = []
    low: list[tuple[Digit, int]] = []
    for digit, factor in index.terms:
        if factor % divisor == 0:
            high.append((digit, factor // divisor))
            continue
        quotient = divisor // factor if factor > 0 and divisor % factor == 0 else 0
        if quotient > 1 and digit.size % quotient == 0 and digit.size > quotient:
            high.append((Digit(digit.variable, digit.stride * quotient, digit.size // quotient), 1))
            low.append((Digit(digit.variable, digit.stride, quotient), factor))
        else:
            low.append((digit, factor))
    carry, rest = divmod(index.constant, divisor)
    return _normal(high, carry), _normal(low, rest)


def reshape(emission: Emission, indices: Sequence[Index], sizes: Sequence[int], to: Sequence[int]) -> list[Index]:
    """The `indices` into an array of `sizes` as those into its reshape `to` other sizes, by `emission`."""
    if math.prod(sizes) <= 1:
        return [ZERO] * len(to)
    rest = linear(indices, sizes)
    result: list[Index] = []
    kept = [size for size in to if size != 1]
    for size in reversed(kept[1:]):
        rest, index = emission.divide(rest, size)
        result.append(index)
    result.append(rest)
    ordered = iter(reversed(result))
    return [ZERO if size == 1 else next(ordered) for size in to]
