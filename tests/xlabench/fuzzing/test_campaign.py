"""A campaign runs what its source draws, keeps what is done in its folder, and goes on where it was left."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from in_process import Telling
from small_source import CONFIG, Small

from xlabench.bundles import saving
from xlabench.errors import BenchError
from xlabench.fuzzing import campaign, findings, worker_pool
from xlabench.fuzzing.case_failure import CaseFailure


@pytest.fixture(autouse=True)
def _here(monkeypatch):
    monkeypatch.setattr(worker_pool, "Worker", Telling)
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[1])


def run(folder, source=None, **given):
    return campaign.run(replace(CONFIG, **given), source or Small(), folder, observe=lambda *_: None)


@pytest.mark.slow
def test_the_summary_counts_what_was_run_and_stays_in_the_folder(tmp_path):
    summary = run(tmp_path)
    assert (summary["cases"], summary["instructions_per_case"]) == (20, 2.0)
    assert (summary["verdicts"], summary["findings"]) == ({"right bitwise": 20}, [])
    assert summary["config"]["of"] == "the small"
    assert summary["coverage"]["share"] == 0.2
    assert 0 < summary["cases_per_s_and_core"] < summary["cases_per_s_by_stage"]["right run"]
    assert json.loads((tmp_path / "results.json").read_text()) == json.loads(json.dumps(summary))


@pytest.mark.slow
@pytest.mark.parametrize(("limits", "size", "cases"), [({"count": 7}, None, 7), ({"count": None}, 33, 33), ({}, 0, 0)])
def test_it_ends_with_the_count_or_with_what_can_be_drawn(limits, size, cases, tmp_path):
    assert run(tmp_path, Small(size), **limits)["cases"] == cases


def test_without_time_nothing_is_run(tmp_path):
    assert run(tmp_path, count=None, budget_s=0.0)["cases"] == 0


@pytest.mark.slow
def test_it_goes_on_with_what_is_not_done_whatever_is_asked_then(tmp_path):
    told = []
    assert run(tmp_path, count=27)["cases"] == 27
    assert json.loads((tmp_path / "progress.json").read_text())["done"] == [[0, 27]]
    source = Small()
    campaign.run(replace(CONFIG, count=45), source, tmp_path, observe=lambda done, *_: told.append(done.cases))
    assert told == [27, 40, 45]


def test_what_was_found_out_beforehand_is_asked_once(tmp_path):
    run(tmp_path, count=1)
    stored = tmp_path / "support.json"
    assert json.loads(stored.read_text()) == {"asked": ["right"]}
    stored.write_text('{"asked": ["right", "another"]}')
    run(tmp_path, count=2)
    assert "another" in stored.read_text()


def test_what_went_wrong_beforehand_is_a_finding_though_nothing_was_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(findings, "triage", lambda *_given, **_options: None)
    monkeypatch.setattr(saving, "save", lambda _failure, folder, **_: saving.Saved(folder, verified=True))
    died = CaseFailure(-1, "right", "crash", "killed", "compile", "ENTRY e { ROOT c = f32[] constant(1) }", [], [], [])
    summary = run(tmp_path, Small(0, [died]))
    (found,) = summary["findings"]
    assert (found["verdict"], found["cases"]) == ("crash", (-1,))


@pytest.mark.slow
def test_a_folder_in_which_a_campaign_runs_is_refused_and_what_was_left_there_goes(tmp_path):
    with pytest.raises(BenchError, match="another process is at work in it"):
        campaign.run(CONFIG, Small(), tmp_path, observe=lambda *_: run(tmp_path))
    left = [tmp_path / ".batches-1" / "0", tmp_path / "findings" / ".bundle-1"]  # by one that was killed
    for folder in left:
        folder.mkdir(parents=True)
    assert run(tmp_path)["cases"] == 20
    assert not any(folder.exists() for folder in left)


@pytest.mark.slow
def test_a_folder_of_another_campaign_is_refused(tmp_path):
    run(tmp_path / "campaign")
    with pytest.raises(BenchError, match="another campaign"):
        run(tmp_path / "campaign", seed=1)
    (tmp_path / "file").mkdir()
    (tmp_path / "file" / "thesis.txt").write_text("not a campaign")
    with pytest.raises(BenchError, match="something else"):
        run(tmp_path / "file")


@pytest.mark.parametrize("folder", ["file", "file/below", "x" * 300, "/proc/new"])
def test_where_no_folder_can_be_is_bad_input(tmp_path, folder):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(BenchError, match=r"no place for a campaign: .*; give a new folder"):
        run(tmp_path / folder)


@pytest.mark.slow
def test_a_campaign_that_may_not_be_written_to_is_refused_before_anything_runs(tmp_path, monkeypatch):
    run(tmp_path, count=1)
    monkeypatch.setattr(os, "access", lambda *_arguments: False)  # of all files there are, to the superuser too
    with pytest.raises(BenchError, match=f"{tmp_path}: no place for a campaign: Permission denied; give a new folder"):
        run(tmp_path)


@pytest.mark.slow
def test_a_campaign_that_is_interrupted_says_what_was_done_and_goes_on_later(tmp_path):
    told = []

    @contextmanager
    def interruptible():
        yield lambda: bool(told)

    def run_until(observe):
        config = replace(CONFIG, count=100)
        summary = campaign.run(config, Small(), tmp_path, observe=observe, interruptible=interruptible)
        assert json.loads((tmp_path / "results.json").read_text()) == json.loads(json.dumps(summary))
        return summary["interrupted"], summary["cases"]

    is_interrupted, done = run_until(lambda progress, *_: told.append("") if progress.done else None)
    assert is_interrupted
    assert 20 <= done < 80
    told.clear()

    def give_up(progress, *_):
        if progress.cases == done + 20:
            raise KeyboardInterrupt

    assert run_until(give_up) == (True, done + 20)
    assert run_until(lambda *_: None) == (False, 100)
