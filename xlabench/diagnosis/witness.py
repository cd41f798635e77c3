"""Whose fault it is where an engine and the reference differ: a third who shares no code with either is asked.

Our engines share a good deal: what both of them make of a program may be wrong for one reason.  So of a finding about
one of ours XLA is asked, where it is installed, and of one about XLA our CPU engine.  Where the witness says what the
engine says, and that is out of bounds too, the reference stands alone: its meaning of an opcode, or a bound, is wrong.
A witness that shows a bug of its own that is known says nothing.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import Protocol

from compiler.ops import Trait, having
from xlabench.diagnosis.blame import Blame
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.probe import Judgement
from xlabench.engines import is_foreign
from xlabench.judging.differ import Agreement, compare
from xlabench.judging.known_bugs import Failure, known_bug
from xlabench.judging.tolerance import Array

REFERENCE = "reference"
"""The stage of causes for which the reference is to blame, before what it is wrong about."""
_BACK_ENDS = frozenset({"kernel", "program", "llvm", "engine"})
"""Stages of blame in which the passes are right as far as the reference can say."""
_BROKEN = re.compile(r"^\S*BrokenShape: about (\S+): ", re.MULTILINE)
"""What a shape rule gives in a pass that is no shape is not the pass's fault."""
_NOT_COMPUTED = having(Trait.STRUCTURAL)


class Asked(Protocol):
    """Who judges an engine's results on a case."""

    def judge(self, case: Case, *, engine: str = "", expected: tuple[Array, ...] | None = None) -> Judgement:
        """The verdict on an engine.

        Args:
            case: the program and its inputs.
            engine: which one, the one under test unless it is said.
            expected: its right results, if they are known.
        """


def witness_of(engine: str) -> str:
    """Who shares no code with an engine nor with the reference; "" where there is none."""
    if is_foreign(engine):
        return "cpu"
    return "xla" if find_spec("jaxlib") else ""


def cause(prober: Asked, case: Case, judgement: Judgement, found: Blame, engine: str) -> str:
    """The signature of the blame, or the reference's where it stands alone.

    Args:
        prober: asks engines about programs.
        case: the program and its inputs.
        judgement: what it shows.
        found: who is to blame for it.
        engine: the one that shows it.
    """
    if judgement.verdict != "wrong" and (rule := _BROKEN.search(judgement.message)):
        return f"{REFERENCE}/{rule[1]}"
    if judgement.verdict != "wrong" or found.stage not in _BACK_ENDS:
        return found.signature
    witness = witness_of(engine)
    if not witness:
        return found.signature
    told = prober.judge(case, engine=witness, expected=judgement.expected)
    if told.verdict != "wrong" or compare(told.actual, judgement.actual).agreement is Agreement.WRONG:
        return found.signature
    if known_bug(Failure(witness, told.verdict, told.message, case.text(), case.inputs, told.wrong)):
        return found.signature
    opcodes = {instruction.opcode for instruction in case.module.instructions()} - _NOT_COMPUTED
    return f"{REFERENCE}/{'+'.join(sorted(opcodes))}"
