"""The program of some results: what they are made of, and nothing besides.

A dozen small programs side by side are one program with as many results, of which an engine gives one or two otherwise.
Whoever asks about these alone need not run the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import compiler
from compiler.ops import Trait, having
from xlabench.judging.tolerance import Array

_RANDOM = having(Trait.RANDOM)
"""Opcodes whose numbers follow from how many were drawn before."""


class Slice(NamedTuple):
    """What some results of a program are made of, for any inputs.

    Attributes:
        module: the program of these results.
        sources: the whole program's inputs that it takes, by their numbers.
        indices: those of its results, by the numbers that they have in the whole.
    """

    module: Any
    sources: Sequence[int]
    indices: Mapping[int, int]

    def given(self, inputs: Sequence[Array]) -> list[Array]:
        """Its inputs, of those of the whole."""
        return [inputs[source] for source in self.sources]


def slice_of(module: Any, count: int, numbers: Collection[int]) -> Slice | None:
    """The program of some results of another; None where the whole is needed, or is no more than they.

    It is needed where devices exchange, where results are random, as numbers may depend on what is drawn before, and
    where they are not told apart by the root of the entry.

    Args:
        module: the program.
        count: how many results it has.
        numbers: of the results that are kept.
    """
    root, wanted = module.entry.root, sorted(numbers)
    if not 0 < len(wanted) < count or root.opcode != "tuple" or len(root.operands) != count:
        return None
    if not all(hasattr(operand.shape, "dims") for operand in root.operands) or compiler.device_count(module) > 1:
        return None
    ids = [compiler.edit.id_of(root.operands[number]) for number in wanted]
    kept = list(dict.fromkeys(ids))
    edited = compiler.edit.keep_results(module, kept)
    if any(instruction.opcode in _RANDOM for instruction in edited.module.instructions()):
        return None
    sources = [source for source in edited.sources if isinstance(source, int)]
    return Slice(edited.module, sources, {number: kept.index(one) for number, one in zip(wanted, ids, strict=True)})
