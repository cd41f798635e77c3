"""`xlabench fuzz` on the CPU back end."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from xlabench.commands.campaign_options import seconds as seconds_of
from xlabench.commands.campaign_options import split
from xlabench.commands.fuzz import command
from xlabench.errors import BenchError


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


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        ("cpu nvptx:sim", ["cpu", "nvptx:sim"]),
        ("cpu,cpu:fusion=off,nvptx:sim,xla", ["cpu", "cpu:fusion=off", "nvptx:sim", "xla"]),
        ("cpu:opt=0,cpu:fusion=off,opt=0", ["cpu:opt=0", "cpu:fusion=off,opt=0"]),
    ],
)
def test_specs_are_told_apart(text, specs):
    assert split(text) == specs


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("1.5h", 5400)])
def test_budgets_have_units(text, seconds):
    assert seconds_of(text) == seconds


def test_a_budget_that_is_no_time_says_what_is():
    with pytest.raises(BenchError, match="90s, 10m or 8h"):
        seconds_of("soon")
