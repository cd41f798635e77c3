"""Archives have the same bytes each time, and those of strangers are read with care."""

import stat
import struct
import zipfile

import pytest

from xlabench.bundles import archive

FILES = {"b.txt": b"two", "a.txt": b"one" * 100}


def _zip(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, data in members:
            file.writestr(name, data)
    return path


def _link(name):
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def test_what_is_packed_is_unpacked_and_the_bytes_do_not_depend_on_order(tmp_path):
    data = archive.pack(FILES)
    assert archive.pack(dict(sorted(FILES.items()))) == data
    (tmp_path / "a.zip").write_bytes(data)
    assert archive.unpack(tmp_path / "a.zip", 1000) == FILES


def test_what_people_zip_with_the_folder_around_it_is_the_same(tmp_path):
    members = [("bundle/", b""), *((f"bundle/{name}", data) for name, data in FILES.items())]
    assert archive.unpack(_zip(tmp_path / "a.zip", members, zipfile.ZIP_DEFLATED), 1000) == FILES


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([("../evil", b"")], "leads out"),
        ([("/etc/passwd", b"")], "leads out"),
        ([("a/../../evil", b"")], "leads out"),
        ([("a\\..\\evil", b"")], "leads out"),
        ([("C:evil", b"")], "leads out"),
        ([(_link("a"), "/etc/passwd")], "is a link"),
        ([("a/x", b""), ("b/y", b"")], "several folders"),
        ([("big", bytes(2000))], "the limit of 1,000 bytes"),
        ([(f"{number}", b"") for number in range(1001)], "more than 1000 files"),
    ],
    ids=str,
)
def test_an_archive_that_means_harm_is_refused(tmp_path, members, message):
    with pytest.raises(ValueError, match=message):
        archive.unpack(_zip(tmp_path / "a.zip", members), 1000)


def test_a_bomb_that_lies_about_its_size_is_stopped(tmp_path):
    path = _zip(tmp_path / "a.zip", [("bomb", bytes(10_000_000))], zipfile.ZIP_DEFLATED)
    data = path.read_bytes()
    path.write_bytes(data.replace(struct.pack("<I", 10_000_000), struct.pack("<I", 10)))
    with pytest.raises((ValueError, zipfile.BadZipFile)):
        archive.unpack(path, 1000)


def test_what_is_compressed_may_not_grow_to_much(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MOST_INFLATED", 1000)
    assert archive.unpack(_zip(tmp_path / "a.zip", [("a", bytes(1000))], zipfile.ZIP_DEFLATED), 10_000)
    assert archive.unpack(_zip(tmp_path / "a.zip", [("a", bytes(2000))]), 10_000)
    with pytest.raises(ValueError, match="grows to more than the limit of 1,000 bytes"):
        archive.unpack(_zip(tmp_path / "a.zip", [("a", bytes(600)), ("b", bytes(600))], zipfile.ZIP_DEFLATED), 10_000)


@pytest.mark.parametrize("folder", ["softmax cpu:fusion=off", "Übung", "a/b"])
def test_the_folder_around_it_may_have_any_name(tmp_path, folder):
    assert archive.unpack(_zip(tmp_path / "a.zip", [(f"{folder}/x", b"1")]), 1000) == {"x": b"1"}


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_that_stands_twice_is_refused(tmp_path):
    with pytest.raises(ValueError, match="twice"):
        archive.unpack(_zip(tmp_path / "a.zip", [("a", b"1"), ("a", b"2")]), 1000)
