"""Files and folders by TensorFlow's names, with its errors."""

import pytest

import xlabench.tensorflow as tf

gfile = tf.gfile


def test_what_is_written_is_read(tmp_path):
    path = str(tmp_path / "a.txt")
    with gfile.GFile(path, "w") as file:
        file.write("é\nb\n")
    with gfile.Open(path) as file:
        assert file.readline() == "é\n"
        assert file.read() == "b\n"
        assert file.size() == 5
    assert gfile.FastGFile(path, "rb").read() == "é\nb\n".encode()
    assert list(gfile.GFile(path)) == ["é\n", "b\n"]
    found = gfile.Stat(path)
    assert (found.length, found.is_directory) == (5, False)
    assert found.mtime_nsec > 0


def test_an_empty_file_is_made(tmp_path):
    gfile.GFile(tmp_path / "a", "w").close()
    assert gfile.Exists(tmp_path / "a")


def test_folders_are_made_listed_and_removed(tmp_path):
    top = str(tmp_path / "a" / "b")
    gfile.MakeDirs(top)
    gfile.MakeDirs(top)
    for name in ("1.x", "2.x", "3"):
        gfile.GFile(f"{top}/{name}", "w").close()
    assert gfile.IsDirectory(top)
    assert sorted(gfile.ListDirectory(top)) == ["1.x", "2.x", "3"]
    assert gfile.Glob([f"{top}/*.x", f"{top}/3"]) == [f"{top}/{name}" for name in ("1.x", "2.x", "3")]
    assert [folder for folder, _, _ in gfile.Walk(tmp_path)] == [str(tmp_path), str(tmp_path / "a"), top]
    gfile.DeleteRecursively(tmp_path / "a")
    assert not gfile.Exists(top)


def test_files_are_copied_and_renamed_over_others_only_where_that_is_asked_for(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("old")
    new.write_text("new")
    for change in (gfile.Copy, gfile.Rename):
        with pytest.raises(tf.errors.AlreadyExistsError, match="File exists"):
            change(old, new)
    gfile.Copy(old, new, overwrite=True)
    assert new.read_text() == "old"
    gfile.Rename(old, new, overwrite=True)
    assert not old.exists()


MISSING = {
    "read": lambda path: gfile.GFile(path).read(),
    "size": lambda path: gfile.GFile(path).size(),
    "Remove": gfile.Remove,
    "ListDirectory": gfile.ListDirectory,
    "Stat": gfile.Stat,
    "DeleteRecursively": gfile.DeleteRecursively,
    "Copy": lambda path: gfile.Copy(path, "other"),
    "MkDir": lambda path: gfile.MkDir(path / "inner"),
}


@pytest.mark.parametrize("name", MISSING)
def test_what_is_not_there_is_not_found(name, tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        MISSING[name](tmp_path / "none")
