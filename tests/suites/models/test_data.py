import gzip
import struct

import numpy as np
import pytest

from compiler import InputError
from suites.models import data

IMAGES, LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"


def _idx(array):
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.astype(np.uint8).tobytes()


def _write(folder, count=10, stems=(IMAGES, LABELS), pack=bytes, suffix=""):
    images = np.arange(count * 784).reshape(count, 28, 28) % 256
    labels = np.arange(count) % 10
    for stem, array in zip(stems, (images, labels), strict=True):
        (folder / f"{stem}{suffix}").write_bytes(pack(_idx(array)))
    return images


@pytest.mark.parametrize(("pack", "suffix"), [(bytes, ""), (gzip.compress, ".gz"), (gzip.compress, ""), (bytes, ".gz")])
def test_idx_files_are_read_zipped_or_not_whatever_their_name(tmp_path, pack, suffix):
    images = _write(tmp_path, pack=pack, suffix=suffix)
    dataset = data.load(tmp_path)
    assert (dataset.train.count, dataset.test.count) == (8, 2)
    np.testing.assert_array_equal(dataset.train.images, (images[:8].reshape(8, 784) / np.float32(255)).astype("f4"))
    np.testing.assert_array_equal(dataset.test.labels, [8, 9])


def test_both_sets_are_used_as_they_are(tmp_path):
    _write(tmp_path)
    _write(tmp_path, count=30, stems=("train-images-idx3-ubyte", "train-labels-idx1-ubyte"))
    dataset = data.load(tmp_path)
    assert (dataset.train.count, dataset.test.count) == (30, 10)


def _damage_magic(folder):
    path = folder / IMAGES
    path.write_bytes(b"\x00\x00\x0d\x03" + path.read_bytes()[4:])


def _swap(folder):
    (folder / IMAGES).write_bytes((folder / LABELS).read_bytes())


def _cut(folder):
    path = folder / IMAGES
    path.write_bytes(path.read_bytes()[:-1])


def _cut_header(folder):
    path = folder / IMAGES
    path.write_bytes(path.read_bytes()[:9])


def _cut_gzip(folder):
    path = folder / IMAGES
    path.write_bytes(gzip.compress(path.read_bytes())[:-20])


def _damage_gzip(folder):
    path = folder / IMAGES
    path.write_bytes(b"\x1f\x8b" + path.read_bytes())


def _empty(folder):
    (folder / LABELS).write_bytes(b"")


def _remove(folder):
    (folder / LABELS).unlink()


def _remove_all(folder):
    _remove(folder)
    (folder / IMAGES).unlink()


def _fewer_labels(folder):
    (folder / LABELS).write_bytes(_idx(np.zeros(9)))


def _large_label(folder):
    (folder / LABELS).write_bytes(_idx(np.full(10, 10)))


def _small_images(folder):
    (folder / IMAGES).write_bytes(_idx(np.zeros((10, 8, 8))))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_damage_magic, "starts with 00 00 0d 03"),
        (_swap, "starts with 00 00 08 01"),
        (_cut, "its header says 10x28x28"),
        (_cut_header, "ends within its header"),
        (_cut_gzip, "damaged gzip data"),
        (_damage_gzip, "damaged gzip data"),
        (_empty, "starts with nothing"),
        (_remove, "is missing beside the other file"),
        (_remove_all, "no IDX files"),
        (_fewer_labels, "10 images and 9 labels"),
        (_large_label, "a label of 10"),
        (_small_images, "images of 8x8"),
    ],
)
def test_damaged_files_are_refused(tmp_path, damage, message):
    _write(tmp_path)
    damage(tmp_path)
    with pytest.raises(InputError, match=message) as caught:
        data.load(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        data.load(tmp_path / "none")


def test_drawn_digits_are_the_same_every_time():
    one, two = (data.synthetic(train=20, test=10) for _ in range(2))
    np.testing.assert_array_equal(one.train.images, two.train.images)
    np.testing.assert_array_equal(one.test.labels, two.test.labels)
    assert one.train.images.dtype == np.float32
    assert (one.train.images.min(), one.train.images.max()) == (0, 1)


def test_one_hot_rows_have_a_single_one():
    digits = data.synthetic(train=20, test=1).train
    np.testing.assert_array_equal(digits.one_hot().argmax(axis=1), digits.labels)
    np.testing.assert_array_equal(digits.one_hot().sum(axis=1), 1)
