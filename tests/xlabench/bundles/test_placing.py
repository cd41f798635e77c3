"""What is made comes to its place whole, and what makers that were killed left behind is cleared away."""

import os
from pathlib import Path

import pytest

from xlabench.bundles import placing


def _make(folder, text):
    made = folder / "made"
    made.mkdir()
    (made / "file").write_text(text)
    return made


def _abandoned(tmp_path, older=None):
    """What a maker leaves that is killed, an hour ago."""
    left = tmp_path / ".bundle-killed"
    (left / "old").mkdir(parents=True)
    if older is not None:
        (left / "old" / "b").mkdir()
        (left / "old" / "b" / "file").write_text(older)
    os.utime(left, (0, 0))
    return left


def test_the_new_one_takes_the_place_of_the_old_and_nothing_else_is_left(tmp_path):
    for text in ("one", "two"):
        with placing.workshop(tmp_path) as folder:
            placing.put(_make(folder, text), tmp_path / "b")
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
    assert (tmp_path / "b" / "file").read_text() == "two"


def test_the_old_one_is_put_back_where_the_new_one_cannot_be_moved(tmp_path, monkeypatch):
    with placing.workshop(tmp_path) as folder:
        placing.put(_make(folder, "one"), tmp_path / "b")
    rename = Path.rename

    def fails(path, target):
        if path.name == "made":
            raise OSError(28, "No space left on device")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(OSError, match="No space"), placing.workshop(tmp_path) as folder:
        placing.put(_make(folder, "two"), tmp_path / "b")
    assert (tmp_path / "b" / "file").read_text() == "one"


@pytest.mark.parametrize("is_replaced", [True, False])
def test_what_a_killed_maker_left_is_cleared_away_and_what_it_moved_is_put_back(tmp_path, is_replaced):
    _abandoned(tmp_path, older="one")
    if is_replaced:
        _make(tmp_path, "two").rename(tmp_path / "b")
    with placing.workshop(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
    assert (tmp_path / "b" / "file").read_text() == ("two" if is_replaced else "one")


def test_the_folder_of_a_maker_at_work_stays(tmp_path):
    with placing.workshop(tmp_path) as folder:
        os.utime(folder, (0, 0))
        with placing.workshop(tmp_path) as other:
            assert folder.is_dir()
            assert other != folder


def test_a_folder_that_is_not_locked_yet_stays(tmp_path):
    left = _abandoned(tmp_path)
    os.utime(left)
    with placing.workshop(tmp_path):
        assert left.is_dir()
