"""Verdicts are of classes, the fine ones first, and each of them ends a process in a way of its own."""

from xlabench.errors import VERDICT_EXIT_CODES, ExitCode
from xlabench.results import FINE, RIGHT, UNJUDGED, VERDICTS


def test_the_fine_verdicts_come_first():
    assert set(VERDICTS[: len(FINE)]) == FINE
    assert len(set(VERDICTS)) == len(VERDICTS)


def test_nothing_is_right_that_was_not_judged():
    assert not RIGHT & UNJUDGED
    assert RIGHT | UNJUDGED == FINE


def test_what_is_fine_ends_in_zero():
    assert set(VERDICTS) == set(VERDICT_EXIT_CODES)
    assert {verdict for verdict, code in VERDICT_EXIT_CODES.items() if code is ExitCode.FINE} >= FINE
