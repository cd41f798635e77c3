"""Results that a routine of LAPACK leaves open: work space, what is left of an operand, vectors that nobody asked for.

Whatever stands there is right, and another call may find something else there.  So may whatever is computed of it.
No generated program makes a result of such, but a program that is made smaller may come to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import compiler
from xlabench.judging.elements import Value, arrays_of, through_tuples

Options = Mapping[str, str]


def left_open(module: Any) -> frozenset[int]:
    """The numbers of a program's results, on each of its devices, that hang on what a routine leaves open."""
    if not any(compiler.edit.routine_of(instruction) in _OPEN for instruction in module.instructions()):
        return frozenset()
    results = arrays_of(module.entry.root)
    found = [number for number, result in enumerate(results) if _hangs_on_open(result)]
    return frozenset(n + len(results) * device for n in found for device in range(compiler.times_given(module)))


def open_results(call: Any) -> frozenset[int]:
    """The numbers of a call's results that it leaves open."""
    options = compiler.edit.options_of(call)
    return frozenset(_OPEN[compiler.edit.routine_of(call)](options, len(call.shape.elements)))


def _hangs_on_open(result: Value) -> bool:
    return any(map(_is_open, compiler.edit.reachable([result], _behind)))


def _is_open(value: Value) -> bool:
    instruction, path = value
    if compiler.edit.routine_of(instruction) not in _OPEN:
        return False
    numbers = open_results(instruction)
    return path[0] in numbers if path else bool(numbers)


def _behind(value: Value) -> list[Value]:
    """What a value is made of."""
    if (before := through_tuples(value)) is not None:
        return [before]
    instruction, _ = value
    called = [computation.root for computation in instruction.called_computations()]
    return [(one, ()) for one in (*instruction.operands, *called)]


def _of_singular(options: Options, _: int) -> set[int]:
    return {0, 2, 3} if options["mode"] == "N" else {0}


def _of_geev(options: Options, count: int) -> set[int]:
    """The vectors of either side stand before the last result."""
    return {count - 3 + n for n, side in enumerate(("compute_left", "compute_right")) if options[side] != "V"}


_OPEN: Mapping[str, Callable[[Options, int], set[int]]] = {
    "gesdd": _of_singular,
    "gesvd": _of_singular,
    "geev": _of_geev,
    "gees": lambda options, _: set() if options["mode"] == "V" else {1},
    **dict.fromkeys(("syevd", "heevd"), lambda options, _: set() if options["mode"] == "V" else {0}),
    "gtsv": lambda _options, _: {0, 1, 2},
}
"""By LAPACK's name without the letter of the type: of its options and the number of its results those left open."""
