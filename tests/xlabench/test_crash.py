"""A bug of ours is three lines and a file that has the command."""

import tempfile
from pathlib import Path

import pytest

from xlabench import crash


@pytest.fixture(autouse=True)
def _place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv(crash.VARIABLE, raising=False)


def test_three_lines_name_the_file_that_keeps_the_rest():
    said, kept = crash.report(ValueError("bad\nworse"), "xlabench", ["run", "m.hlo"])
    assert len(said.splitlines()) == 3
    assert "ValueError: bad" in said.splitlines()[0]
    assert kept in said
    assert Path(kept).read_text().startswith("xlabench run m.hlo\nPython ")


def test_text_that_cannot_be_encoded_is_kept_all_the_same():
    _, kept = crash.report(ValueError("\ud800"), "xlabench", [])
    assert "\\ud800" in Path(kept).read_text()


def test_without_a_file_the_traceback_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    said, kept = crash.report(ValueError("bad"), "xlabench", [])
    assert kept == ""
    assert "cannot be kept in a file" in said
    assert said.splitlines()[0] == "ValueError: bad"
