"""The bounds of some results of a program: of those that an engine gave otherwise than the reference.

Wide mode computes what these are made of, and nothing besides (`xlabench.judging.some_results`); an element's bounds
are those that it has in the whole.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from xlabench.judging.bounds import Basis, basis_of
from xlabench.judging.judge import Here
from xlabench.judging.some_results import some_of
from xlabench.judging.tolerance import Array


@dataclass
class Partly(Here):
    """The reference in this process, which is asked for the bounds of the results of these numbers only."""

    needed: Collection[int] = ()

    def basis(self, expected: Sequence[Array]) -> Basis:
        """The bounds of what is needed; of all results where that cannot be told apart, or the reference breaks it."""
        return basis_of_some(self.module, self.inputs, expected, self.needed) or super().basis(expected)


def basis_of_some(
    module: Any, inputs: Sequence[Array], expected: Sequence[Array], numbers: Collection[int]
) -> Basis | None:
    """The bounds of some results; None where the whole program has to be asked for them.

    It has to be where results depend on each other by what routines of LAPACK must satisfy, where devices exchange, or
    where the bounds of these are not to be had, or the reference breaks them: then that is said of the whole.

    Args:
        module: the program.
        inputs: of the call.
        expected: the reference's results, all of them.
        numbers: of the results that bounds are needed of.
    """
    if any(instruction.opcode == "custom-call" for instruction in module.instructions()):
        return None
    some = some_of(module, inputs, len(expected), numbers)
    if some is None:
        return None
    stands_for = {index: number for number, index in some.indices.items()}
    basis = basis_of(some.module, some.inputs, [expected[stands_for[index]] for index in sorted(stands_for)])
    if basis.bounds is None or basis.flaws:
        return None
    bounds = [basis.bounds[some.indices[n]] if n in some.indices else None for n in range(len(expected))]
    return Basis(tuple(bounds), rounds=basis.rounds)
