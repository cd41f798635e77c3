"""How wide bounds are beside what rounding can do at most, by a computation that wide mode has no part in.

A sum of `n` terms is off by `n` roundings of the sum of their magnitudes at most, in whatever order (Higham, "Accuracy
and Stability of Numerical Algorithms", 4.2), and so is a dot.  Both numbers are found without a bound being asked for:
the program is run on the magnitudes of all that it is given, and on ones, which counts the terms.  What is computed
element by element, of operands that are exact, is held to a rounding of each result; what else sums nothing, to one of
the largest number there is.  A bound that is many times as wide hides as many times as much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import compiler
from compiler.ops import Trait, having
from xlabench.judging.bounds import Bounds
from xlabench.judging.tolerance import Array, finfo, is_inexact, real_dtype

ILL_CONDITIONED = having(Trait.AMPLIFIES) | {"custom-call"}
"""Opcodes whose bounds may be wide on tame numbers as well."""
_SUMS = having(Trait.ACCUMULATES) - {"fft"}
"""Of a transform the magnitudes cancel all the same."""
_GIVEN = having(Trait.STRUCTURAL) | {"broadcast"}
"""What hands elements on; it computes nothing."""
_BY_ELEMENTS = having(Trait.ELEMENTWISE) | (_GIVEN - {"constant"})
"""What gives each element of the operands' own; none of them sums anything, and no number beside them is large."""
HELD = frozenset({"float32", "float64", "complex64", "complex128"})
"""Types, by NumPy's names, in which a sum of some hundred terms keeps most of its digits."""

_MANY = 8
"""Elements of which most lie on no branch cut: next to one a complex function may be anything."""
_LOST = 4.0
"""Parts of a complex product that may be taken for zero, as those of any term."""

Floats = NDArray[np.float64]


class Most(NamedTuple):
    """How many roundings wide bounds of real results may be, and of complex ones."""

    real: float
    complex: float


def too_wide(
    module: Any, inputs: Sequence[Array], expected: Sequence[Array], bounds: Sequence[Bounds | None]
) -> Iterator[str]:
    """What is said of bounds that are wider than an operation of the kind has any on tame numbers.

    Args:
        module: a program of one operation, on tame numbers.
        inputs: of the call.
        expected: the reference's results.
        bounds: of these.
    """
    opcodes = {instruction.opcode for instruction in module.instructions()}
    if not ILL_CONDITIONED.isdisjoint(opcodes):
        return
    known = [MOST[opcode] for opcode in opcodes & MOST.keys()] or [_OF_FUNCTIONS]
    most = Most(max(one.real for one in known), max(one.complex for one in known))
    for number, width in widths(module, inputs, expected, bounds):
        allowed = most.complex if expected[number].dtype.kind == "c" else most.real
        if width > allowed:
            yield f"result {number}: bounds are {width:.3g} roundings wide, of a single operation {allowed:g} at most"


def widths(
    module: Any, inputs: Sequence[Array], expected: Sequence[Array], bounds: Sequence[Bounds | None]
) -> Iterator[tuple[int, float]]:
    """The numbers of results, and how many times as wide as rounding explains their bounds are.

    Args:
        module: a program of one operation.
        inputs: of the call.
        expected: the reference's results.
        bounds: of these.
    """
    yardsticks: Sequence[_Rounded | None] | None = None
    opcodes = {instruction.opcode for instruction in module.instructions()}
    for number, (bound, array) in enumerate(zip(bounds, expected, strict=True)):
        if bound is None or array.dtype.name not in HELD or not bound.error.any():
            continue
        yardsticks = _yardsticks(module, inputs, expected) if yardsticks is None else yardsticks
        yardstick = yardsticks[number]
        if yardstick is None:
            continue
        info = finfo(real_dtype(array.dtype))
        whole = yardstick.terms * (float(info.eps) * yardstick.reach + _LOST * float(info.tiny))
        known = np.isfinite(array) & ~bound.undecided & np.isfinite(whole)
        if known.sum() >= (1 if array.dtype.kind == "f" or not _SUMS.isdisjoint(opcodes) else _MANY):
            yield number, float(np.median(bound.error[known] / whole[known]))


def needlessly_open(module: Any, expected: Sequence[Array], bounds: Sequence[Bounds | None]) -> Iterator[str]:
    """What is said of elements of which nothing is known, though one operation made them of operands that are exact.

    Whatever the numbers are, only rounding may decide about such: whether one overflows that is as large as any.

    Args:
        module: a program.
        expected: its results.
        bounds: of these.
    """
    made = [instruction for instruction in module.instructions() if instruction.opcode not in _GIVEN]
    if len(made) > 1 or not all(instruction.opcode in _BY_ELEMENTS for instruction in made):
        return
    for number, (bound, array) in enumerate(zip(bounds, expected, strict=True)):
        if bound is None or array.dtype.name not in _ALWAYS_KNOWN:
            continue
        info = finfo(array.dtype)
        is_last = np.abs(np.abs(bound.value) / float(info.max) - 1) <= _LAST_ROUNDINGS * float(info.eps)
        if (np.isinf(bound.error) & ~is_last).any():
            yield f"result {number}: bounds are infinite, of a single operation on numbers that are known"


_ALWAYS_KNOWN = frozenset({"bfloat16", "float16", "float32"})
"""Types, by NumPy's names, of which f64 holds all sums and products, and which have infinities and NaN."""
_LAST_ROUNDINGS = 64
"""How near the largest number a result may be either side of it: eight times as far as the bound of a function."""


class _Rounded(NamedTuple):
    """What is rounded, and how often."""

    reach: Floats
    terms: Floats


def _yardsticks(module: Any, inputs: Sequence[Array], expected: Sequence[Array]) -> list[_Rounded | None]:
    """What each element of the results comes of; None where that cannot be said.

    Constants are numbers at which functions have their edges, near which nothing is as tame as they are.
    """
    held = [i for i in module.entry.instructions if i.opcode == "constant" and _is_float(i)]
    if _SUMS.isdisjoint(instruction.opcode for instruction in module.instructions()):
        given = max((largest(array) for array in inputs if is_inexact(array.dtype)), default=0.0)
        if held:
            return [None] * len(expected)
        if all(instruction.opcode in _BY_ELEMENTS for instruction in module.instructions()):
            return [_Rounded(_size(array), np.ones(array.shape)) for array in expected]
        reaches = (np.full(array.shape, max(largest(array), given, 1.0)) for array in expected)
        return [_Rounded(reach, np.ones(reach.shape)) for reach in reaches]
    if any(i.opcode == "multiply" and i not in module.entry.instructions for i in module.instructions()):
        return [None] * len(expected)
    reach, terms = (_with_each(module, held, inputs, change) for change in (np.abs, np.ones_like))
    count = max(leaf.size for i in module.entry.instructions for leaf in compiler.edit.leaves(i.shape))
    return [
        _Rounded(np.maximum(_size(one), _size(array)), np.maximum(_size(many), count / max(array.size, 1)))
        if one.shape == many.shape == array.shape
        else None
        for one, many, array in zip(reach, terms, expected, strict=True)
    ]


def _with_each(
    module: Any, held: Sequence[Any], inputs: Sequence[Array], change: Callable[[Array], Any]
) -> list[Array]:
    """What the program gives where every float that it is given, or that it holds as a constant, is another."""
    edited = compiler.edit.to_parameters(module, [compiler.edit.id_of(i) for i in held])
    constants = {compiler.edit.id_of(i): i.literal.array for i in held}
    given = [inputs[source] if isinstance(source, int) else constants[source] for source in edited.sources]
    with np.errstate(all="ignore"):
        changed = [np.asarray(change(one)).astype(one.dtype) if is_inexact(one.dtype) else one for one in given]
        return list(compiler.interpret(edited.module, *changed))


def _is_float(instruction: Any) -> bool:
    return isinstance(instruction.shape, compiler.edit.ArrayShape) and is_inexact(instruction.array.element_type.dtype)


def _size(array: Array) -> Floats:
    with np.errstate(all="ignore"):
        return np.abs(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))


def largest(array: Array) -> float:
    """The size of the largest finite number of an array, 0 where there is none."""
    if array.dtype.kind == "b":
        return 0.0
    sizes = _size(array)
    return float(np.max(sizes, where=np.isfinite(sizes), initial=0.0))


_OF_FUNCTIONS = Most(16, 96)
MOST: Mapping[str, Most] = {
    **dict.fromkeys(having(Trait.APPROXIMATE) | having(Trait.CONTROL), _OF_FUNCTIONS),
    **dict.fromkeys(("abs", "maximum", "minimum", "sign", "sqrt"), _OF_FUNCTIONS),
    **dict.fromkeys(_SUMS, Most(2, 2)),
    **dict.fromkeys(having(Trait.PRODUCT), Most(6, 18)),
    **dict.fromkeys(("add", "convert", "multiply", "subtract"), Most(2, 4)),
    **dict.fromkeys(("cosine", "sine"), Most(16, 146)),
    "divide": Most(2, 12),
    "fft": Most(160, 512),
    "power": Most(32, 300),
    "batch-norm-inference": Most(200, 200),
}
"""Twice the widest that was seen of each opcode in 40,000 operations, those that campaigns ask about by number (about
14,000 of them on tame numbers of types that are held); those of functions and of control flow together.  Products were
seldom of one term, where the rounding of the result is one of few: of these it is twice what wide mode gives."""
