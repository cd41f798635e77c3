"""Several cases as one: they are compiled and called together, and what comes of each is judged alone.

A pack that fails as a whole is run in halves.  A case that is not right in a pack, or in a small one that fails in any
way, is run alone, and what is found then is found as it is of any case.  What fails in a pack only is kept as the pack:
that one program changes what another computes is a bug like any other, in common subexpressions, in buffers that are
reused, in kernels that are merged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import compiler
from compiler.ops import Trait, having
from xlabench.fuzzing import blocks
from xlabench.fuzzing.case import Case
from xlabench.fuzzing.seed_order import calls_routines
from xlabench.judging.tolerance import Array

MOST_ELEMENTS = 1 << 16
"""Of all values of a program: one that takes its time to run gains nothing by being compiled with others."""

_MOST_UPDATES = 1 << 12
"""Indices of a scatter. Of 45 programs of a few kernels 3 have more, and took 55 of the 93 seconds of a simulator."""
_REFUSED = having(Trait.ASYNC) | {"custom-call"}

Expected = Mapping[str, Sequence[Array]]
"""What the reference gives, by the kind of the inputs."""


def is_fit(case: Case, *, is_foreign: bool = False) -> bool:
    """Whether a case may be part of a pack: it is for one device, small, and all that it does is in its results.

    Foreign engines often refuse some opcodes when nearly all of a compilation is done, and with it the whole pack.
    """
    module = case.module
    if case.is_apart:
        return False
    if is_foreign and not _REFUSED.isdisjoint(instruction.opcode for instruction in module.instructions()):
        return False
    if case.original is not None or compiler.device_count(module) > 1 or not compiler.generate.is_fragment(module):
        return False
    return not _is_large(module)


def has_many_updates(case: Case) -> bool:
    """Whether so many updates are scattered that a simulator takes seconds: each is an atomic operation there."""
    scattered = (i for i in case.module.instructions() if i.opcode == "scatter")
    return any(_size(scatter.operands[len(scatter.operands) // 2].shape) > _MOST_UPDATES for scatter in scattered)


def is_dear(case: Case) -> bool:
    """Whether a simulator may take seconds for a case that is no pack: it is large, or calls LAPACK, drawn or not."""
    return _is_large(case.module) or calls_routines(case.module)


def _is_large(module: Any) -> bool:
    return sum(_size(instruction.shape) for instruction in module.instructions()) > MOST_ELEMENTS


def _size(shape: Any) -> int:
    return sum(max(0, leaf.size) for leaf in compiler.edit.leaves(shape) if hasattr(leaf, "size"))


def pack(cases: Sequence[Case]) -> Case:
    """The case of a pack; its calls are those of its members in their order, or the last of one that has fewer."""
    numbers = tuple(case.number for case in cases)
    module = compiler.edit.together([case.module for case in cases], f"fuzz_{numbers[0]}_to_{numbers[-1]}")
    count = max(len(case.calls) for case in cases)
    first, *others = ([array for case in cases for array in case.call(at).inputs] for at in range(count))
    return Case(
        numbers[0],
        module,
        first,
        note=f"the programs {', '.join(map(str, numbers))} in one, which are right alone",
        others={_kind(at): inputs for at, inputs in enumerate(others, start=1)},
        options=cases[0].options,
        members=numbers,
    )


def _kind(at: int) -> str:
    """What the inputs of a call are called: those of each member are of a kind of its own."""
    return f"mixed-{at}" if at else ""


@dataclass(frozen=True, slots=True)
class Pack:
    """A pack with what the reference gives for each of its members."""

    case: Case
    members: Sequence[Case]
    expected: Sequence[Expected]

    def whole(self) -> Expected:
        """What the reference gives for the pack."""
        pairs = list(zip(self.members, self.expected, strict=True))
        return {
            kind: [array for case, results in pairs for array in results[case.call(at).kind]]
            for at, (kind, _) in enumerate(self.case.calls)
        }

    def results_of_members(self, calls: Sequence[Sequence[Array]]) -> list[list[Sequence[Array]]]:
        """The results of each member by call, from those of the pack."""
        ends = [0, *accumulate(len(results[""]) for results in self.expected)]
        return [[results[begin:end] for results in calls] for begin, end in pairwise(ends)]

    def of(self, cases: Sequence[Case]) -> Pack:
        """The pack of some of the members."""
        known = {case.number: expected for case, expected in zip(self.members, self.expected, strict=True)}
        return Pack(pack(cases), cases, [known[case.number] for case in cases])

    def without(self, member: Case) -> Pack | None:
        """The pack of the others; None where that is none."""
        others = [other for other in self.members if other is not member]
        return self.of(others) if len(others) > 1 else None

    def halves(self) -> list[Pack]:
        """The packs of either half of the members; none of few."""
        return [self.of(half) for half in blocks.halves(self.members)]
