"""Long work is seen: by a bar on a terminal, by lines in a log, not at all where only JSON is wanted."""

import pytest
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

from xlabench.commands import progress

NIGHTLY = (TextColumn("{task.fields[step]:<44}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "EVERY_S", 0.0)


def test_a_log_gets_a_line_for_each_step(at_once, capsys):
    with progress.steps(is_quiet=False) as step:
        step("pass 3 of 40: [dce]")
    assert capsys.readouterr() == ("", "[0:00] pass 3 of 40: [dce]\n")


def test_a_log_says_how_many_are_done(at_once, capsys):
    with progress.counted(3, is_quiet=False) as done:
        done("add.1")
        done("tanh.2")
    assert capsys.readouterr().err == "[0:00] add.1  1/3\n[0:00] tanh.2  2/3\n"


def test_a_log_has_the_texts_of_all_columns_and_none_of_the_pictures(at_once, capsys):
    with progress.bars(*NIGHTLY, is_quiet=False) as bar:
        bar.update(bar.add_task("nightly", total=16, step="starting"), advance=1, step="softmax_1k: cpu")
    assert capsys.readouterr().err.split() == ["[0:00]", "softmax_1k:", "cpu", "1/16"]


def test_lines_are_some_seconds_apart(capsys):
    with progress.counted(1000, is_quiet=False) as done:
        for number in range(1000):
            done(str(number))
    assert capsys.readouterr().err == ""


def test_nothing_is_shown_where_only_json_is_wanted(at_once, capsys):
    with progress.counted(1, is_quiet=True) as done:
        done("add.1")
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_bar(at_once, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress.counted(2, is_quiet=False) as done:
        done("add.1")
    shown = capsys.readouterr().err
    assert "1/2" in shown
    assert "\x1b[" in shown
