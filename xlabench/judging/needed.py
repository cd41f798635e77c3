"""The bounds of some results of a program: of those that an engine gave otherwise than the reference.

Wide mode computes what these are made of, and nothing besides (`xlabench.judging.some_results`); an element's bounds
are those that it has in the whole.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from xlabench.judging.bounds import Basis, Bounding
from xlabench.judging.judge import Here
from xlabench.judging.some_results import Slice, slice_of
from xlabench.judging.tolerance import Array


class Slices:
    """A program, and what sets of its results are made of, each made ready for wide mode once for all calls.

    Engines round alike, so that much the same results differ in every call, and on the next engine.  The module must
    stay as it is.
    """

    def __init__(self, module: Any) -> None:
        self.whole = Bounding(module)
        self._known: dict[frozenset[int], tuple[Slice, Bounding] | None] = {}

    def of(self, count: int, numbers: Collection[int]) -> tuple[Slice, Bounding] | None:
        """What some of so many results are made of; None where the whole program has to be asked.

        Args:
            count: how many results the program has.
            numbers: of the results that are needed.
        """
        key = frozenset(numbers)
        if key not in self._known:
            found = slice_of(self.whole.module, count, key)
            self._known[key] = None if found is None else (found, Bounding(found.module))
        return self._known[key]


@dataclass
class Partly(Here):
    """The reference in this process, which is asked for the bounds of the results of these numbers only.

    `slices` are the program's, where it is asked more than once.
    """

    needed: Collection[int] = ()
    slices: Slices | None = None

    def basis(self, expected: Sequence[Array]) -> Basis:
        """The bounds of what is needed; of all results where that cannot be told apart, or the reference breaks it."""
        if self.basis_known is not None:
            return self.basis_known
        slices = self.slices or Slices(self.module)
        return basis_of_some(slices, self.inputs, expected, self.needed) or slices.whole.basis(self.inputs, expected)


def basis_of_some(
    slices: Slices, inputs: Sequence[Array], expected: Sequence[Array], numbers: Collection[int]
) -> Basis | None:
    """The bounds of some results; None where the whole program has to be asked for them.

    It has to be where results depend on each other by what routines of LAPACK must satisfy, where devices exchange, or
    where the bounds of these are not to be had, or the reference breaks them: then that is said of the whole.

    Args:
        slices: of the program.
        inputs: of the call.
        expected: the reference's results, all of them.
        numbers: of the results that bounds are needed of.
    """
    if any(instruction.opcode == "custom-call" for instruction in slices.whole.module.instructions()):
        return None
    known = slices.of(len(expected), numbers)
    if known is None:
        return None
    some, bounding = known
    stands_for = {index: number for number, index in some.indices.items()}
    basis = bounding.basis(some.given(inputs), [expected[stands_for[index]] for index in sorted(stands_for)])
    if basis.bounds is None or basis.flaws:
        return None
    bounds = [basis.bounds[some.indices[n]] if n in some.indices else None for n in range(len(expected))]
    return Basis(tuple(bounds), rounds=basis.rounds)
