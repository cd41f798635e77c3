"""A file is the old one or the new one."""

import os

import pytest

from xlabench import atomic
from xlabench.errors import BenchError


def test_the_file_is_replaced_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    atomic.write(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BenchError, match="cannot be written: No space left on device"):
        atomic.write(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_is_not_there_is_said(tmp_path):
    with pytest.raises(BenchError, match="file: cannot be written: No such file or directory"):
        atomic.write(tmp_path / "folder" / "file", b"new")


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with (
        pytest.raises(BenchError, match="folder: cannot be written to: No such file"),
        atomic.alone_in(tmp_path / "folder"),
    ):
        pass
