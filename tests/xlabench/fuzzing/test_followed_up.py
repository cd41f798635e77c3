"""A campaign's time is for following up, too: what it has none left for says so, and is taken up again."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from in_process import Telling
from small_source import CONFIG, Small

import compiler
from xlabench.bundles import bundle, saving
from xlabench.cases import inputs
from xlabench.diagnosis.budget import FOLLOW_UP_S, OutOfTime
from xlabench.diagnosis.triage import Triaged
from xlabench.fuzzing import campaign, findings, worker_pool
from xlabench.fuzzing.case_failure import CaseFailure
from xlabench.fuzzing.deadline import Deadline
from xlabench.fuzzing.findings import Findings
from xlabench.fuzzing.followed_up import CUT_SHORT

_LARGE = "ENTRY main { p = f32[4] parameter(0) q = f32[4] negate(p) r = f32[4] abs(q) ROOT z = f32[4] negate(r) }"
_SMALL = "ENTRY main { p = f32[4] parameter(0) ROOT q = f32[4] negate(p) }"
_OTHER = _LARGE.replace("abs", "tanh").replace("negate", "cosine")
_OVER = Deadline(at_s=0.0)
_VERDICTS = [("wrong", "0"), ("crash", "run"), ("timeout", "compile"), ("compile-error", "error"), ("flaky", "")]


def _case(number, text, verdict="wrong", key="0"):
    module = compiler.parse(text)
    given = inputs.generate(module, 1)
    expected = compiler.interpret(module, *given)
    return CaseFailure(number, "cpu", verdict, "it differs", key, text, given, expected, [], f"case {number}")


def _small(case):
    results = case.expected
    return Triaged("cpu", case.verdict, _SMALL, case.inputs, results, results, "less", "pass/p/rule", 3)


class Budgets:
    """Stands for what reduces and blames: it keeps the time that it is given, and its answer."""

    def __init__(self, answer):
        self.answer, self.left_s = answer, []

    def __call__(self, _setup, module_text, given, *, budget, **_options):
        self.left_s.append(budget._end - time.monotonic())
        return self.answer(module_text, given)


@pytest.fixture
def follow(monkeypatch):
    """Make a function stand for what reduces and blames."""

    def follow(answer):
        stands = Budgets(answer)
        monkeypatch.setattr(findings, "triage", stands)
        return stands

    monkeypatch.setattr(saving, "_verify", lambda *_: "")
    monkeypatch.setattr(saving, "find_bounds", lambda *_: None)
    return follow


@pytest.mark.parametrize(("verdict", "key"), _VERDICTS)
def test_without_time_a_case_is_kept_as_it_is_and_nothing_runs(verdict, key, tmp_path, follow, monkeypatch):
    def run(*_arguments, **_options):
        raise AssertionError("nothing is run any more")

    follow(run)
    for name in ("_verify", "find_bounds"):
        monkeypatch.setattr(saving, name, run)
    found = Findings(tmp_path / "findings", max_probes=9)
    found.deadline = _OVER
    for number, text in ((1, _LARGE), (2, _LARGE)):
        found.add(_case(number, text, verdict, key), narrow=run)
    (kept,) = found.all
    assert (kept.is_cut_short, kept.verified, kept.cases, kept.key) == (True, False, (1, 2), key)
    assert kept.note.endswith(CUT_SHORT)
    assert "no time" in kept.doubt
    loaded = bundle.load(tmp_path / kept.bundle)
    assert (loaded.module_text, loaded.verdict) == (_LARGE, verdict)
    assert CUT_SHORT in loaded.message
    assert Findings(tmp_path / "findings").all == [kept]


@pytest.mark.parametrize(("left_s", "most_s"), [(20.0, 20.0), (1e6, FOLLOW_UP_S)])
def test_following_up_ends_with_the_time_of_the_campaign(left_s, most_s, tmp_path, follow):
    stands = follow(lambda *_: None)
    found = Findings(tmp_path / "findings", max_probes=9, timeout_s=1.0)
    found.deadline = Deadline.after(left_s)
    found.add(_case(1, _LARGE))
    (given,) = stands.left_s
    assert most_s - 5 < given <= most_s


@pytest.mark.parametrize("is_over", [True, False])
@pytest.mark.parametrize("is_blamed", [True, False])
def test_what_ends_amid_it_is_cut_short_only_if_the_campaign_has_no_more(is_over, is_blamed, tmp_path, follow):
    over = []
    found = Findings(tmp_path / "findings", max_probes=9)
    found.deadline = Deadline(wants_an_end=lambda: bool(over))

    def answer(*_):
        over[:] = [is_over] * is_over
        if is_blamed:
            return replace(_small(_case(1, _LARGE)), unfinished=True)
        raise OutOfTime

    follow(answer)
    found.add(_case(1, _LARGE))
    (kept,) = found.all
    assert kept.is_cut_short == is_over
    assert (CUT_SHORT in kept.note) == is_over
    assert bundle.load(tmp_path / kept.bundle).module_text == (_SMALL if is_blamed else _LARGE)


@pytest.mark.parametrize("unfinished", [True, False])
def test_what_is_not_reduced_to_the_end_is_not_called_a_known_bug(unfinished, tmp_path, follow):
    """It may hold that bug and fail by another one."""
    text = "ENTRY main { x = f32[4] parameter(0) y = f32[4] parameter(1) ROOT z = f32[4] atan2(x, y) }"
    denormal = [np.full(4, 9e-41, np.float32)]
    small = Triaged("xla", "wrong", text, denormal * 2, denormal, denormal, "", "engine/xla", 3, unfinished=unfinished)
    follow(lambda *_: small)
    found = Findings(tmp_path / "findings", max_probes=9)
    found.add(CaseFailure(1, "xla", "wrong", "", "0", text, denormal * 2, denormal, denormal))
    assert [one.bug for one in found.all] == ["" if unfinished else "angle_of_denormals"]


def test_narrowing_that_takes_too_long_is_cut_short(tmp_path, follow):
    follow(lambda *_: None)
    over = []

    def narrow(_case, budget):
        assert budget._end < time.monotonic() + FOLLOW_UP_S + 1
        over.append("")
        raise OutOfTime

    found = Findings(tmp_path / "findings", max_probes=9)
    found.deadline = Deadline(wants_an_end=lambda: bool(over))
    found.add(_case(1, _LARGE), narrow=narrow)
    assert [one.is_cut_short for one in found.all] == [True]


def _cut_short(folder, *cases):
    found = Findings(folder, max_probes=9)
    found.deadline = _OVER
    for case in cases:
        found.add(case)
    return Findings(folder, max_probes=9)


def test_what_was_cut_short_is_followed_up_again_in_its_place(tmp_path, follow):
    folder = tmp_path / "findings"
    found = _cut_short(folder, _case(1, _LARGE), _case(5, _LARGE), _case(2, _OTHER))
    stands = follow(lambda text, _: _small(_case(1, _LARGE)) if text == _LARGE else None)
    first, second = found.cut_short
    for one in (first, second):
        with found.reopened(one) as case:
            assert CUT_SHORT not in case.note
            found.add(case)
    assert [(one.number, one.cases, one.is_cut_short) for one in found.all] == [(0, (1, 5), False), (1, (2,), False)]
    assert [one.cause for one in found.all] == ["pass/p/rule", ""]
    assert len(stands.left_s) == 2
    kept = bundle.load(tmp_path / found.all[0].bundle)
    assert (kept.module_text, kept.original.module_text) == (_SMALL, _LARGE)
    assert Findings(folder).all == found.all
    assert {entry.name for entry in folder.iterdir() if entry.is_dir()} == {Path(one.bundle).name for one in found.all}


def test_what_turns_out_to_be_known_is_counted_to_it_with_all_its_cases(tmp_path, follow):
    folder = tmp_path / "findings"
    found = _cut_short(folder, _case(1, _LARGE), _case(2, _OTHER), _case(7, _OTHER))
    follow(lambda *_: _small(_case(1, _LARGE)))
    for one in found.cut_short:
        with found.reopened(one) as case:
            found.add(case)
    (kept,) = found.all
    assert kept.cases == (1, 2, 7)
    assert [entry.name for entry in folder.iterdir() if entry.is_dir()] == [Path(kept.bundle).name]


def test_what_is_cut_short_twice_or_given_up_is_there_still(tmp_path, follow):
    folder = tmp_path / "findings"
    found = _cut_short(folder, _case(1, _LARGE))
    (before,) = found.all
    found.deadline = _OVER
    with found.reopened(before) as case:
        found.add(case)
    assert found.all == [before]

    def interrupt(*_):
        assert [one.is_cut_short for one in Findings(folder).all] == [True]
        raise KeyboardInterrupt

    follow(interrupt)
    found.deadline = Deadline()
    with pytest.raises(KeyboardInterrupt), found.reopened(before) as case:
        found.add(case)
    assert found.all == Findings(folder).all == [before]
    assert bundle.load(tmp_path / before.bundle).module_text == _LARGE


@pytest.fixture
def here(monkeypatch):
    monkeypatch.setattr(worker_pool, "Worker", Telling)
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[1])


@pytest.mark.parametrize("size", [0, None])
def test_a_campaign_takes_up_first_what_it_cut_short_and_what_went_wrong_beforehand(size, tmp_path, follow, here):
    died = CaseFailure(-1, "right", "crash", "killed", "compile", "ENTRY e { ROOT c = f32[] constant(1) }", [], [], [])
    texts = []

    def answer(text, _given):
        texts.append(text)

    follow(answer)

    def run(**given):
        config = replace(CONFIG, max_probes=9, **given)
        return campaign.run(config, Small(size, [died]), tmp_path, observe=lambda *_: None)["findings"]

    for _ in range(2):
        (found,) = run(count=None, budget_s=0.0)
        assert (found["is_cut_short"], texts) == (True, [])
    assert json.loads((tmp_path / "results.json").read_text())["findings"][0]["is_cut_short"]
    (found,) = run(count=20)
    assert (found["is_cut_short"], texts, found["cases"]) == (False, [died.module_text], (-1,))


def test_a_batch_that_takes_all_the_time_is_counted_if_it_is_the_first(tmp_path, here, monkeypatch):
    class Slow(Telling):
        def run(self, job, arguments, **times):
            time.sleep(1.0)
            return super().run(job, arguments, **times)

    monkeypatch.setattr(worker_pool, "Worker", Slow)
    config = replace(CONFIG, count=None, budget_s=0.2, timeout_s=0.1)
    assert campaign.run(config, Small(), tmp_path, observe=lambda *_: None)["cases"] == 20


def test_what_workers_are_at_is_left_undone_when_it_takes_longer_than_one_program_may(tmp_path, here, monkeypatch):
    class Endless(Telling):
        def __init__(self, **options):
            super().__init__(**options)
            self.is_over = False

        def interrupt(self):
            self.is_over = True

        def run(self, job, arguments, **times):
            while not self.is_over and 20 in arguments["numbers"]:
                time.sleep(0.01)
            return super().run(job, arguments, **times)

    monkeypatch.setattr(worker_pool, "Worker", Endless)
    config = replace(CONFIG, count=None, budget_s=1.0, timeout_s=0.3)
    begin = time.monotonic()
    summary = campaign.run(config, Small(), tmp_path, observe=lambda *_: None)
    assert time.monotonic() - begin > config.budget_s + config.timeout_s
    assert (summary["cases"], summary["findings"]) == (20, [])
    assert not list(tmp_path.glob(".batches-*"))
