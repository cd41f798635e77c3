"""What became of a case that was followed up: the case as it is then, and the failure that a bundle keeps of it."""

from __future__ import annotations

from typing import NamedTuple

from xlabench.bundles.failure import Failure, Original
from xlabench.engines import is_complete
from xlabench.fuzzing.case_failure import CaseFailure
from xlabench.fuzzing.signature import ENDED
from xlabench.judging.differ import Agreement, compare
from xlabench.judging.known_bugs import Failure as Asked
from xlabench.judging.known_bugs import known_bug
from xlabench.judging.tolerance import EXACTLY, TolerancePolicy

LATE = "the time for looking into it was up"
"""Said of a finding on which all the time of one was spent."""
CUT_SHORT = "cut short: the campaign's time was up"
"""Said of one for which the campaign had no more."""
_LINE = "\n"


class FollowedUp(NamedTuple):
    """A case that was reduced, what is to blame for it ("" where it failed no second time), and the probes it took.

    What is `unfinished` may hold more than it fails by, and what `is_cut_short` is so as the campaign had no more time.
    """

    case: CaseFailure
    cause: str
    probes: int
    original: Original | None = None
    unfinished: bool = False
    is_cut_short: bool = False

    @property
    def is_asked(self) -> bool:
        """Whether anything was asked about it."""
        return self.original is not None


def failure_of(done: FollowedUp) -> Failure:
    """What a bundle keeps of it."""
    unreduced, cause, original = done.case, done.cause, done.original
    return Failure(
        module_text=unreduced.module_text,
        inputs=unreduced.inputs,
        expected=unreduced.expected,
        actual=unreduced.actual,
        engine=unreduced.engine,
        reference="reference",
        seed=None,
        verdict=unreduced.verdict,
        message="; ".join(filter(None, [unreduced.message.partition(_LINE)[0], cause, unreduced.note])),
        policy=EXACTLY if unreduced.is_about_reference else TolerancePolicy(),
        original=original if original and original.module_text != unreduced.module_text else None,
        layout=unreduced.layout,
        takes_all=is_complete(unreduced.engine),
        is_unanswered=not unreduced.expected,
    )


def contradicts_itself(unreduced: CaseFailure) -> bool:
    """Whether the reference gives two results, so that there is none to reduce by; what it breaks down with is one."""
    return unreduced.is_about_reference and unreduced.key not in ENDED


def bug_of(done: FollowedUp) -> str:
    """The bug that was known before and that a reduced case shows, if it does; of more than that nobody can say it."""
    if done.unfinished:
        return ""
    reduced = done.case
    found = compare(reduced.expected, reduced.actual).results if reduced.verdict == "wrong" else ()
    wrong = tuple(result.index for result in found if result.agreement is Agreement.WRONG)
    return known_bug(
        Asked(reduced.engine, reduced.verdict, reduced.message, reduced.module_text, reduced.inputs, wrong)
    )
