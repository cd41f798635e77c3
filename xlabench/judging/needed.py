"""The bounds of some results of a program: of those that an engine gave otherwise than the reference.

A dozen small programs side by side are one program with as many results, of which an engine gives one or two otherwise.
Wide mode computes what these are made of, and nothing besides; an element's bounds are those that it has in the whole.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import compiler
from xlabench.judging.bounds import Basis, basis_of
from xlabench.judging.judge import Here
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
    root, wanted = module.entry.root, sorted(numbers)
    if not 0 < len(wanted) < len(expected) or root.opcode != "tuple" or len(root.operands) != len(expected):
        return None
    if not all(hasattr(operand.shape, "dims") for operand in root.operands) or compiler.device_count(module) > 1:
        return None
    if any(instruction.opcode == "custom-call" for instruction in module.instructions()):
        return None
    results = {compiler.edit.id_of(root.operands[number]): number for number in wanted}
    edited = compiler.edit.keep_results(module, list(results))
    given = [inputs[source] for source in edited.sources if isinstance(source, int)]
    basis = basis_of(edited.module, given, [expected[number] for number in results.values()])
    if basis.bounds is None or basis.flaws:
        return None
    known = dict(zip(results, basis.bounds, strict=True))
    bounds = [
        known[compiler.edit.id_of(operand)] if number in numbers else None
        for number, operand in enumerate(root.operands)
    ]
    return Basis(tuple(bounds), rounds=basis.rounds)
