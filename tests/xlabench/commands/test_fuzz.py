"""`xlabench fuzz` on the CPU back end."""

from __future__ import annotations

import json
import os
import signal

import pytest
from click.testing import CliRunner

from xlabench.commands import campaign_options
from xlabench.commands.campaign_options import seconds as seconds_of
from xlabench.commands.fuzz import command
from xlabench.errors import BenchError, ExitCode
from xlabench.fuzzing import campaign
from xlabench.fuzzing.fuzz import Generated
from xlabench.fuzzing.progress import Progress


@pytest.mark.slow
def test_a_short_campaign_leaves_a_summary_and_a_page(tmp_path):
    done = CliRunner().invoke(
        command,
        ["--out", str(tmp_path / "c"), "--count", "20", "--engines", "cpu:opt=0", "--max-probes", "0", "--json"],
    )
    summary = json.loads(done.stdout)
    assert done.exit_code == (1 if summary["findings"] else 0)
    assert summary["cases"] == 20
    assert json.loads((tmp_path / "c" / "results.json").read_text()) == summary
    page = (tmp_path / "c" / "index.html").read_text()
    assert "cpu:opt=0" in page
    assert "$" not in page


def test_an_engine_is_named_once(tmp_path):
    done = CliRunner().invoke(command, ["--out", str(tmp_path / "c"), "--engines", "cpu,reference cpu"])
    assert isinstance(done.exception, BenchError)
    assert "given twice" in str(done.exception)
    assert not (tmp_path / "c").exists()


@pytest.mark.slow
def test_ctrl_c_ends_a_campaign_with_its_summary_and_loses_nothing(tmp_path, monkeypatch, capfd):
    finish = Progress.finish

    def finish_and_press(progress, cases):
        finish(progress, cases)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("xlabench.fuzzing.progress.BATCH", 1)
    monkeypatch.setattr(campaign, "BATCH", 1)
    monkeypatch.setattr(Progress, "finish", finish_and_press)
    monkeypatch.setattr(Generated, "support", lambda *_arguments: {"banned": []})
    options = ["--out", str(tmp_path / "c"), "--count", "1000", "--engines", "reference", "--max-probes", "0"]
    done = CliRunner().invoke(command, options)
    assert done.exit_code == ExitCode.INTERRUPTED
    assert "stopping after the programs at hand" in capfd.readouterr().err
    assert "the same command goes on" in done.stdout
    summary = json.loads((tmp_path / "c" / "results.json").read_text())
    assert summary["interrupted"]
    assert 1 <= summary["cases"] < 1000
    assert (tmp_path / "c" / "index.html").is_file()


@pytest.mark.slow
def test_the_bar_shows_the_time_of_this_call_and_what_the_summary_counts(tmp_path, monkeypatch):
    shown, update = [], campaign_options.Progress.update
    monkeypatch.setattr(
        campaign_options.Progress, "update", lambda bar, task, **what: shown.append(what) or update(bar, task, **what)
    )
    monkeypatch.setattr(Generated, "support", lambda *_arguments: {"banned": [["add", "f32"]]})
    options = ["--out", str(tmp_path / "c"), "--budget", "1s", "--engines", "reference", "--max-probes", "0"]
    for _ in range(2):
        shown.clear()
        assert CliRunner().invoke(command, options).exit_code == 0
        assert shown[0]["completed"] == 0
        coverage = json.loads((tmp_path / "c" / "results.json").read_text())["coverage"]
        assert f" {coverage['reached']} pairs," in shown[-1]["rate"]


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("1.5h", 5400)])
def test_budgets_have_units(text, seconds):
    assert seconds_of(text) == seconds


def test_a_budget_that_is_no_time_says_what_is():
    with pytest.raises(BenchError, match="90s, 10m or 8h"):
        seconds_of("soon")
