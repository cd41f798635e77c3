"""Bundles come from strangers: what is not what it says, leads elsewhere or is too large is refused."""

import hashlib
import json
import os
import pickle
import zipfile

import ml_dtypes
import numpy as np
import pytest

from xlabench.bundles import archive, bundle, files, saving
from xlabench.bundles.failure import Failure
from xlabench.errors import BenchError

PROGRAM = """HloModule m

ENTRY e {
  x = bf16[3]{0} parameter(0)
  ROOT y = bf16[3]{0} add(x, x)
}
"""
X = np.array([1.5, -2.0, np.nan], ml_dtypes.bfloat16)


@pytest.fixture
def draft(tmp_path):
    """A bundle on disk that nobody verified."""
    folder = tmp_path / "bundle"
    folder.mkdir()
    failure = Failure(PROGRAM, [X], [X], [X + X], "reference", "reference", 7, "wrong", "2 elements are wrong")
    for name, data in saving._contents(failure).items():
        (folder / name).write_bytes(data)
    return folder


def _edit(folder, **changes):
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def _archive(folder, path):
    path.write_bytes(archive.pack({file.name: file.read_bytes() for file in folder.iterdir()}))
    return path


def test_a_link_is_refused(draft):
    (draft / "module.hlo").rename(draft / "elsewhere")
    (draft / "module.hlo").symlink_to(draft / "elsewhere")
    with pytest.raises(BenchError, match=r"module\.hlo is a link"):
        bundle.load(draft)
    (draft / "module.hlo").unlink()
    os.mkfifo(draft / "module.hlo")
    with pytest.raises(BenchError, match=r"module\.hlo is no plain file"):
        bundle.load(draft)


def test_a_changed_file_is_refused(draft):
    (draft / "module.hlo").write_text(PROGRAM.replace("add", "subtract"))
    with pytest.raises(BenchError, match=r"module\.hlo is not the file that the manifest describes"):
        bundle.load(draft)


def test_a_large_bundle_is_refused_before_it_is_read(draft):
    with pytest.raises(BenchError, match="larger than the limit of 10 bytes"):
        bundle.load(draft, max_bytes=10)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("", "not a whole bundle"),
        ("[]", "not a whole bundle"),
        ("[" * 100_000, "not a whole bundle"),
        ("{}", "not that of a bundle"),
        ('{"format": "xlabench-bundle", "version": 99}', "format version 99, this xlabench reads versions 1 to 3"),
        ('{"format": "xlabench-bundle", "version": 1}', "not that of a bundle"),
    ],
)
def test_a_bad_manifest_is_refused(draft, manifest, message):
    (draft / "manifest.json").write_text(manifest)
    with pytest.raises(BenchError, match=message):
        bundle.load(draft)


@pytest.mark.parametrize(
    "changes",
    [
        {"engine": None},
        {"verdict": "odd"},
        {"files": {}},
        {"seed": "x"},
        {"tolerance": {"rtol": "x"}},
        {"tolerance": {"speed": 1}},
        {"arrays": []},
    ],
    ids=str,
)
def test_a_manifest_of_other_types_is_refused(draft, changes):
    _edit(draft, **changes)
    with pytest.raises(BenchError, match="not a whole bundle"):
        bundle.load(draft)


def _put(folder, name, data):
    (folder / name).write_bytes(data)
    digests = json.loads((folder / "manifest.json").read_text())["files"]
    _edit(folder, files={**digests, name: hashlib.sha256(data).hexdigest()})


def _zip(tmp_path, data, *, compression=zipfile.ZIP_STORED):
    path = tmp_path / "made.zip"
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("array_0000.npy", data)
    return path.read_bytes()


def _npy(descr, shape, data=b""):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (_npy("|O", (1,), pickle.dumps([1])), "not as long as its header says"),
        (_npy("<u2", (1 << 60,)), "not as long as its header says"),
        (_npy("<u2", (3,), b"12345"), "not as long as its header says"),
        (_npy("<f8", (1,), b"12345678"), "an array of float64, but the manifest says bfloat16"),
        (b"\x93NUMPY\x02\x00", "unknown .npy version"),
        (b"nothing", "not a whole bundle"),
    ],
)
def test_an_array_that_lies_is_refused(tmp_path, draft, data, message):
    _put(draft, "inputs.npz", _zip(tmp_path, data))
    with pytest.raises(BenchError, match=message):
        bundle.load(draft)


def test_a_compressed_archive_is_refused_unread(tmp_path, draft):
    _put(draft, "inputs.npz", _zip(tmp_path, b"0" * 1_000_000, compression=zipfile.ZIP_DEFLATED))
    with pytest.raises(BenchError, match="compressed"):
        bundle.load(draft)


@pytest.mark.parametrize("name", files.FILES)
def test_a_truncated_or_missing_file_is_refused(draft, name):
    path = draft / name
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(BenchError):
        bundle.load(draft)
    path.unlink()
    with pytest.raises(BenchError, match="cannot be read"):
        bundle.load(draft)


def test_an_archive_of_a_changed_bundle_is_refused(tmp_path, draft):
    (draft / "module.hlo").write_text(PROGRAM.replace("add", "subtract"))
    with pytest.raises(BenchError, match=r"module\.hlo is not the file that the manifest describes"):
        bundle.load(_archive(draft, tmp_path / "b.zip"))


@pytest.mark.parametrize("name", ["manifest.json", *files.FILES])
def test_an_archive_that_lacks_a_file_is_refused(tmp_path, draft, name):
    (draft / name).unlink()
    with pytest.raises(BenchError, match=f"the archive lacks {name}"):
        bundle.load(_archive(draft, tmp_path / "b.zip"))


@pytest.mark.parametrize("keep", [0, 10, 500, -1])
def test_an_archive_cut_short_is_refused(tmp_path, draft, keep):
    path = _archive(draft, tmp_path / "b.zip")
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(BenchError, match="not a whole bundle"):
        bundle.load(path)


def test_an_archive_that_leads_out_of_its_folder_is_refused(tmp_path, draft):
    path = _archive(draft, tmp_path / "b.zip")
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("../../evil", "x")
    with pytest.raises(BenchError, match="leads out of the archive"):
        bundle.load(path)


def test_an_archive_may_not_hold_what_its_manifest_does_not_name(tmp_path, draft, monkeypatch):
    (draft / "big").write_bytes(bytes(1000))
    path = _archive(draft, tmp_path / "b.zip")
    monkeypatch.setattr(archive, "_read", lambda *_: pytest.fail("it was read"))
    with pytest.raises(BenchError, match="holds 'big', which is no file of a bundle"):
        bundle.load(path)
    (draft / "big").unlink()
    (draft / "original.hlo").write_text(PROGRAM)
    monkeypatch.undo()
    with pytest.raises(BenchError, match=r"holds 'original\.hlo', which the manifest does not name"):
        bundle.load(_archive(draft, path))


def test_the_files_of_a_bundle_together_have_a_limit(draft):
    sizes = [path.stat().st_size for path in draft.iterdir() if path.name != "manifest.json"]
    assert bundle.load(draft, max_bytes=sum(sizes))
    with pytest.raises(BenchError, match="larger than the limit"):
        bundle.load(draft, max_bytes=sum(sizes) - 1)
