import gzip
import struct

import numpy as np
import pytest

from xlabench.tensorflow.examples.tutorials.mnist.input_data import DataSet, read_data_sets


@pytest.fixture
def folder(tmp_path):
    """Ten images, whose pixels are their digits, in IDX files of which one is compressed."""
    labels = np.arange(10, dtype=np.uint8)
    images = np.repeat(labels, 28 * 28)
    header = struct.pack(">IIII", 2051, 10, 28, 28)
    (tmp_path / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(header + images.tobytes()))
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, 10) + labels.tobytes())
    return tmp_path


def test_files_are_split_where_there_is_one_set(folder):
    digits = read_data_sets(str(folder), one_hot=True)
    assert [one.num_examples for one in digits] == [8, 0, 2]
    assert digits.test.images.shape == (2, 784)
    assert digits.test.labels.argmax(1).tolist() == [8, 9]
    assert digits.train.images.max() == np.float32(7 / 255)


def test_images_have_the_form_that_is_asked_for(folder):
    digits = read_data_sets(str(folder), dtype=np.uint8, reshape=False, validation_size=3)
    assert digits.train.images.shape == (5, 28, 28, 1)
    assert digits.train.images[0, 0, 0, 0] == 3
    assert digits.validation.labels.tolist() == [0, 1, 2]


def test_batches_are_the_same_in_every_run_and_go_round():
    data = [DataSet(np.arange(5), np.arange(5)) for _ in range(2)]
    batches = [[one.next_batch(3)[0].tolist() for _ in range(5)] for one in data]
    assert batches[0] == batches[1]
    assert sorted(one for batch in batches[0] for one in batch) == sorted([*range(5)] * 3)
    assert data[0].epochs_completed == 2
    assert DataSet(np.arange(3), np.arange(3)).next_batch(2, shuffle=False)[1].tolist() == [0, 1]


@pytest.mark.slow
def test_digits_are_drawn_where_there_are_no_files(tmp_path, capsys):
    digits = read_data_sets(str(tmp_path / "nowhere"))
    assert "no IDX files, and nothing is downloaded" in capsys.readouterr().err
    assert [one.num_examples for one in digits] == [8000, 0, 2000]


@pytest.mark.parametrize(
    "options", [{"fake_data": True}, {"dtype": np.float64}, {"validation_size": 9}, {"validation_size": -1}]
)
def test_what_cannot_be_is_refused(folder, options):
    with pytest.raises(ValueError, match=r"fake_data|Invalid image dtype|Validation size"):
        read_data_sets(str(folder), **options)


def test_a_batch_is_no_larger_than_the_data():
    with pytest.raises(ValueError, match="a batch of 4, but there are 3"):
        DataSet(np.arange(3), np.arange(3)).next_batch(4)
