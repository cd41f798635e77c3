"""What is recorded of a case besides verdicts: what it is made of, and which of its instructions and rewrites tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

import compiler
from xlabench.fuzzing import telling
from xlabench.fuzzing.case import Case
from xlabench.fuzzing.telling import Told

_ASKED_EVERY = 48  # one run of the reference for each instruction, and what comes of it is counted only


def made_of(case: Case, drawing_s: float) -> dict[str, Any]:
    """What is known of a case before it is run."""
    return {
        "instructions": sum(len(c.instructions) for c in case.module.computations),
        "pairs": sorted(case.ops)
        or sorted({f"{i.opcode} {kind}" for i in case.module.instructions() for kind in _types(i)}),
        "changes": list(case.changes),
        "variants": sorted(
            f"{name} {key}={value}" for name, options in case.options.items() for key, value in options.items()
        ),
        "seconds": {"drawing": drawing_s},
    }


def told(case: Case, decided: compiler.generate.Decisions) -> list[Told]:
    """What instructions tell, those first at which rules fired; now and then only."""
    if case.number % _ASKED_EVERY:
        return []
    rewritten = frozenset(chain.from_iterable(decided.rules.values()))
    calls = [inputs for _, inputs in case.calls]
    return telling.told(case.module, calls, np.random.default_rng(case.number), rewritten)


def shares(found: Sequence[Told]) -> dict[str, dict[str, int]]:
    """By opcode how many instructions were asked whether they tell, and how many did."""
    return {
        "asked": dict(Counter(one.opcode for one in found)),
        "told": dict(Counter(one.opcode for one in found if one.tells)),
    }


def tellingly(decided: compiler.generate.Decisions, found: Sequence[Told]) -> list[str]:
    """The rules that fired where it shows: at an instruction whose value, were it another, a result would tell."""
    telling_ids = {one.instruction_id for one in found if one.tells}
    return sorted(rule for rule, instruction_ids in decided.rules.items() if instruction_ids & telling_ids)


def _types(instruction: Any) -> list[str]:
    """The element types of what an instruction works on, or yields where it has no operands."""
    shapes = [o.shape for o in instruction.operands] or [instruction.shape]
    return [shape.element_type.name for shape in shapes if hasattr(shape, "element_type")]
