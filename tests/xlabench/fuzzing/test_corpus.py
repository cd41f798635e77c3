"""A corpus is files, folders and suites; what cannot be read is named, and what is given must be."""

import pytest

from xlabench.errors import BenchError
from xlabench.fuzzing.corpus import find

PROGRAM = "ENTRY e { x = f32[2] parameter(0)  ROOT y = f32[2] negate(x) }\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.hlo").write_text(PROGRAM)
    (tmp_path / "inner" / "b.hlo").write_text(PROGRAM)
    (tmp_path / "notes.md").write_text("none")
    return tmp_path


def names(*paths, engines=("cpu",)):
    return [entry.name for entry in find([str(path) for path in paths], engines)]


def test_a_folder_is_searched_and_a_file_is_itself(folder):
    assert sorted(names(folder)) == ["a.hlo", "b.hlo"]
    assert names(folder / "a.hlo") == ["a.hlo"]


def test_what_is_given_twice_is_there_once(folder):
    assert len(names(folder, folder / "a.hlo")) == 2


def test_two_of_one_name_are_told_apart_by_their_places(folder):
    (folder / "inner" / "a.hlo").write_text(PROGRAM)
    found = names(folder)
    assert len(set(found)) == 3
    assert "a.hlo" not in found


def test_several_modules_of_a_file_are_programs_each(folder):
    (folder / "a.hlo").write_text(f"HloModule one\n{PROGRAM}// -----\nHloModule two\n{PROGRAM}")
    assert names(folder / "a.hlo") == ["a.hlo#1", "a.hlo#2"]


def test_what_a_folder_holds_that_cannot_be_read_is_named(folder):
    (folder / "bad.hlo").write_text("no program")
    entries = {entry.name: entry for entry in find([str(folder)], ["cpu"])}
    assert entries["bad.hlo"].digest == ""
    with pytest.raises(Exception, match=r"bad\.hlo"):
        find([str(folder / "bad.hlo")], ["cpu"])


def test_a_folder_without_programs_is_refused(tmp_path):
    with pytest.raises(BenchError, match="there is no program in it"):
        find([str(tmp_path)], ["cpu"])


def test_equal_files_have_equal_digests(folder):
    assert len({entry.digest for entry in find([str(folder)], ["cpu"])}) == 1
