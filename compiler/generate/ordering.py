"""Instructions that wait for others which no value ties them to, as schedulers and frontends have them wait.

Whoever rewrites an instruction must look whether it waits, and whether anything waits for it; what is wrong about that
shows only where something does.  And whoever makes one of two shows that it did not look where a third waits for the
first of them and the second for the third: then one would have to wait for itself.
"""

from __future__ import annotations

from collections import defaultdict

from compiler.generate.choices import Choices, chance, pick
from compiler.ir.control import PREDECESSORS, predecessors
from compiler.ir.graph import reachable
from compiler.ir.module import Computation, Instruction, Module
from compiler.ops import Trait, having

_MOST, _SHARE = 3, 8
"""Dependencies of a small program, and of a large one one for so many instructions: with more, most of it could neither
be rewritten nor fused."""
_AROUND_PERCENT = 50
"""How often another instruction is put between a value and what takes it."""
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
    most = max(_MOST, sum(len(_waiting(computation)) for computation in able) // _SHARE)
    for _ in range(choices.integer(1, most) if able else 0):
        computation = pick(choices, able)
        if not (chance(choices, _AROUND_PERCENT) and _lead_around(computation, choices)):
            waiting = _waiting(computation)
            number = choices.integer(1, len(waiting) - 1)
            _wait(waiting[number], waiting[choices.integer(0, number - 1)])


def _wait(later: Instruction, earlier: Instruction) -> None:
    later.attributes[PREDECESSORS] = tuple(dict.fromkeys((*predecessors(later), earlier)))


def _lead_around(computation: Computation, choices: Choices) -> bool:
    """Let an instruction wait for a value that it does not take, and one that takes the value for that instruction."""
    waiting = _waiting(computation)
    taken = [(value, user) for user in waiting for value in user.operands if value.opcode != _GIVEN]
    if not taken:
        return False
    value, user = pick(choices, taken)
    followers = defaultdict[Instruction, list[Instruction]](list)
    for instruction in waiting:
        for other in _waits_for(instruction):
            followers[other].append(instruction)
    tied = {*reachable([value], _waits_for), *reachable([user], followers.__getitem__)}
    between = [instruction for instruction in waiting if instruction not in tied]
    if not between:
        return False
    other = pick(choices, between)
    _wait(other, value)
    _wait(user, other)
    computation.sort()
    return True


def _waits_for(instruction: Instruction) -> tuple[Instruction, ...]:
    return (*instruction.operands, *predecessors(instruction))


def _run_by(computation: Computation) -> list[Computation]:
    """What the control flow of a computation runs."""
    return [c for i in computation.instructions if i.opcode in _RUNNING for c in i.called_computations()]


def _waiting(computation: Computation) -> list[Instruction]:
    """What may wait: all but what is there from the start."""
    return [i for i in computation.instructions if i.opcode != _GIVEN]
