"""Instructions that wait for others which no value ties them to, as schedulers and frontends have them wait.

Whoever rewrites an instruction must look whether it waits, and whether anything waits for it; what is wrong about that
shows only where something does.
"""

from __future__ import annotations

from compiler.generate.choices import Choices, pick
from compiler.ir.control import PREDECESSORS, predecessors
from compiler.ir.graph import reachable
from compiler.ir.module import Computation, Instruction, Module
from compiler.ops import Trait, having

_MOST = 3
"""Dependencies of a program; with more, most of a small one could neither be rewritten nor fused."""
_RUNNING = having(Trait.CONTROL)
_GIVEN = "parameter"


def order(module: Module, choices: Choices) -> None:
    """Let a few instructions wait for others that come before them, in the entry or in what control flow runs.

    Args:
        module: the program, which is changed; operands stand before who uses them.
        choices: who waits for whom.
    """
    run = reachable([module.entry], _run_by)
    able = [computation for computation in run if len(_waiting(computation)) > 1]
    for _ in range(choices.integer(1, _MOST) if able else 0):
        waiting = _waiting(pick(choices, able))
        number = choices.integer(1, len(waiting) - 1)
        later, earlier = waiting[number], waiting[choices.integer(0, number - 1)]
        later.attributes[PREDECESSORS] = tuple(dict.fromkeys((*predecessors(later), earlier)))


def _run_by(computation: Computation) -> list[Computation]:
    """What the control flow of a computation runs."""
    return [c for i in computation.instructions if i.opcode in _RUNNING for c in i.called_computations()]


def _waiting(computation: Computation) -> list[Instruction]:
    """What may wait: all but what is there from the start."""
    return [i for i in computation.instructions if i.opcode != _GIVEN]
