"""Which failures have one cause, as far as engines, verdicts, opcodes and who is blamed can say.

One slip shows in many ways: on several engines, as wrong results here and a refusal there, with other opcodes around.
Engines of ours run the same passes, so a pass or a rewrite that is blamed twice is one finding, whoever runs it and
however it ends.  So is a lowering; and what puts a graph together is one around any op.  Their kernels share what
generates code, and do not share all of it: there the same program has to fail on both (`may_be_shared`,
`xlabench.fuzzing.sharing`).  A kernel's opcodes share code too: what a logarithm is made of, others are made of.
An error that one function raises in the same words is one bug, whichever passes and back ends call it; what Python
raises in it, unasked, is in any words, and a function that met a bug once meets it again: who takes what is broken
first is chance.  Crashes for which no opcode is to blame are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import compiler
from xlabench.diagnosis.combiners import COMBINING
from xlabench.diagnosis.probe import FAILURES
from xlabench.diagnosis.witness import REFERENCE
from xlabench.engines import is_foreign
from xlabench.engines.spec import split_spec
from xlabench.fuzzing.signature import NUMERIC, raised_by

_BEHIND = frozenset({"kernel", "program"})
"""The stages behind the passes."""
JUDGE = "judge"
"""The stage of what the reference and the bounds of its results differ about, whichever of them is wrong."""
_HELD_AGAINST = frozenset({REFERENCE, JUDGE})
"""The stages of what engines are held against: one slip of the reference shows beside bounds, and beside engines."""
_AROUND_OPS = frozenset({"execution", "clustering"})
"""The stages that put graphs together: which op shows a slip of theirs, on which engine and how, is chance."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What is known of a failure.

    Attributes:
        engines: those that show it.
        verdict: how.
        signature: what it is told by before it is reduced (`fuzzing.signature`).
        cause: the signature of the blame, "" where nobody was asked.
        unasked: functions in which Python raised what other cases of it show.
    """

    engines: Sequence[str]
    verdict: str
    signature: Sequence[str]
    cause: str
    unasked: Sequence[str] = ()

    @property
    def families(self) -> frozenset[str]:
        """The engines without their options."""
        return frozenset(split_spec(spec)[0] for spec in self.engines)

    @property
    def is_ours(self) -> bool:
        """Whether only engines show it whose passes are known one by one."""
        return not any(map(is_foreign, self.engines))


def is_told_by_blame(stage: str) -> bool:
    """Whether who is blamed is all that a finding of a stage is told by, however large the program is."""
    return stage in _AROUND_OPS


def are_one(known: Shown, found: Shown) -> bool:
    """Whether what is found has the cause of what is known."""
    return (
        _are_raised_alike(known, found)
        or _is_known_by_cause(known, found)
        or (
            found.families <= known.families
            and kind_of(known.verdict) == kind_of(found.verdict)
            and (set(known.signature) <= set(found.signature) if known.signature else not found.signature)
        )
    )


def _are_raised_alike(known: Shown, found: Shown) -> bool:
    raised = raised_by(found.signature)
    return bool(raised) and known.is_ours and found.is_ours and raised in {raised_by(known.signature), *known.unasked}


def _is_known_by_cause(known: Shown, found: Shown) -> bool:
    stage, other = _stage(known.cause), _stage(found.cause)
    if {stage, other} <= _HELD_AGAINST:  # whoever is
        return same_cause(known.cause, found.cause)
    if stage == other and stage in _AROUND_OPS:
        return True
    are_ours, are_near = known.is_ours and found.is_ours, found.families <= known.families
    if stage == other and stage in ("pass", "tf2xla"):
        return are_ours and known.cause == found.cause
    if stage == other == "program" and known.cause == found.cause:  # what is wrong with memory shows as anything
        return are_near
    are_alike = are_near and kind_of(known.verdict) == kind_of(found.verdict)
    if are_alike and found.verdict == "crash" and _is_general(known.cause) and _is_general(found.cause):
        return True
    return stage == other and are_ours and are_alike and bool(found.cause) and same_cause(known.cause, found.cause)


def may_be_shared(known: Shown, found: Shown) -> bool:
    """Whether two engines of ours may have one bug in what they share behind the passes: one program tells, on both."""
    is_elsewhere = known.is_ours and found.is_ours and not found.families <= known.families
    are_behind = {_stage(known.cause), _stage(found.cause)} <= _BEHIND
    return is_elsewhere and are_behind and _overlap(known.cause, found.cause)


def have_an_opcode_in_common(known: Shown, found: Shown) -> bool:
    """Whether two causes name an opcode, or what it is made of, in common: more than that one is about none."""
    are_named = not (_is_general(known.cause) or _is_general(found.cause))
    return are_named and _overlap(known.cause, found.cause)


def is_alike(shown: Shown, verdict: str) -> bool:
    """Whether a verdict of an engine on another program is that of the bug which it shows."""
    if _stage(shown.cause) == "program":
        return verdict in FAILURES
    return kind_of(verdict) == kind_of(shown.verdict)


def kind_of(verdict: str) -> str:
    """What reads garbage is wrong or flaky by chance."""
    return "wrong" if verdict in NUMERIC else verdict


def _stage(cause: str) -> str:
    return cause.partition("/")[0]


def _steps(cause: str) -> set[str]:
    return set(cause.partition("/")[2].split("+"))


def _overlap(known: str, cause: str) -> bool:
    """Whether two causes have an opcode, or what it is made of, in common, or one is about none in particular."""
    return any(map(_is_general, (known, cause))) or any(
        compiler.ops.share_steps(*pair) for pair in product(_steps(known), _steps(cause))
    )


def _bounded_as(opcode: str) -> str:
    """The opcode by whose rule its results have bounds: all that combine many values by a body share one."""
    return "reduce" if opcode in COMBINING else opcode


def _is_general(cause: str) -> bool:
    """Whether a cause is about what all programs share behind the passes, and no opcode in particular."""
    return _stage(cause) == "program" or (_stage(cause) == "kernel" and _steps(cause) <= {"any elementwise"})


def same_cause(known: str, cause: str) -> bool:
    """Whether a blame names what another one does, or that and more of a kernel; in kernels, what shares its code."""
    stage = _stage(known)
    if stage == "kernel" == _stage(cause):
        return all(any(compiler.ops.share_steps(one, other) for other in _steps(cause)) for one in _steps(known))
    if {stage, _stage(cause)} == {JUDGE}:
        return {_bounded_as(step) for step in _steps(known)} <= {_bounded_as(step) for step in _steps(cause)}
    if {stage, _stage(cause)} <= _HELD_AGAINST:
        return _steps(known) <= _steps(cause)
    return stage != "engine" and known == cause
