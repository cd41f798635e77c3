"""A bug of ours is said in three lines, and kept whole in a file."""

import tempfile
from pathlib import Path

import pytest

from compiler import crash


@pytest.fixture
def error(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("XLABENCH_TRACEBACK", raising=False)
    try:
        raise KeyError("first\nsecond")
    except KeyError as caught:
        return caught


def test_three_lines_are_said_and_the_traceback_is_kept(error):
    said, kept = crash.report(error)
    assert len(said.splitlines()) == 3
    assert "KeyError" in said
    assert kept in said
    assert "in error" in Path(kept).read_text()


def test_whoever_asks_is_shown_the_traceback(error, monkeypatch):
    monkeypatch.setenv("XLABENCH_TRACEBACK", "1")
    assert crash.report(error)[0].startswith("Traceback")
    monkeypatch.setenv("XLABENCH_TRACEBACK", "0")
    assert not crash.report(error)[0].startswith("Traceback")


def test_where_nothing_can_be_written_the_traceback_is_said(error, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    said, kept = crash.report(error)
    assert kept == ""
    assert said.startswith("Traceback")
