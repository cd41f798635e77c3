"""Each excuse is right about what is known of it, and one that holds always, or never, is found out."""

import numpy as np
import pytest

from xlabench.judging import excuse_check, excuses
from xlabench.judging.excuses import Answer
from xlabench.judging.liberties import _ALL
from xlabench.judging.self_check import JudgeError

NAMES = list(excuse_check.KNOWN)


def asked(name, seed):
    excuse_check.check(NAMES.index(name), np.random.default_rng(seed))


def test_every_liberty_is_asked_about():
    assert set(NAMES) == {*_ALL, "rounding"}


@pytest.mark.parametrize("name", NAMES)
def test_excuses_hold_where_they_are_known_to_and_nowhere_else(name):
    for seed in range(4):
        asked(name, seed)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("said", [Answer("anything"), Answer()])
def test_an_excuse_for_everything_is_found_out_and_so_is_none_for_anything(name, said, monkeypatch):
    monkeypatch.setattr(excuses, "answer", lambda _: said)
    with pytest.raises(JudgeError, match=name):
        asked(name, 0)
