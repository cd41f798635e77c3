"""An answer is true where it is yes, and says why where it is no."""

import pytest

from compiler.analysis.decision import YES, Decision, no, unless


def test_a_refusal_is_false_and_keeps_its_reason():
    assert not no("it is too long")
    assert no("it is too long").reason == "it is too long"
    assert YES
    assert YES.reason == ""


@pytest.mark.parametrize(("refused", "reason"), [(True, "so"), ([0], "so"), (0, ""), (None, ""), ("", "")])
def test_it_is_done_unless_something_holds(refused, reason):
    assert unless(refused, "so") == Decision(reason)
