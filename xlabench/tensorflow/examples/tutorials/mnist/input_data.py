"""`input_data.read_data_sets`: handwritten digits from a folder of IDX files, compressed by gzip or not.

Nothing is downloaded: where a folder has no such files, digits are drawn, the same everywhere.  Batches are shuffled by
a generator of their own with a fixed seed, so that two runs of a program see the same digits in the same order.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from suites.models import data

_WHOLE = 50_000
_VALIDATION = 5000
_SIDE = 28


class DataSet:
    """Images with their labels, in batches."""

    def __init__(self, images: Any, labels: Any, seed: int | None = None) -> None:
        if len(images) != len(labels):
            raise ValueError(f"images.shape: {images.shape} labels.shape: {labels.shape}")
        self._images = images
        self._labels = labels
        self._generator = np.random.default_rng(0 if seed is None else seed)
        self._order = np.arange(len(images))
        self._next = 0
        self._epochs = 0

    @property
    def images(self) -> Any:
        """The images, pixels in [0, 1]."""
        return self._images

    @property
    def labels(self) -> Any:
        """The digits, as numbers or as rows with a single one."""
        return self._labels

    @property
    def num_examples(self) -> int:
        """How many there are."""
        return len(self._images)

    @property
    def epochs_completed(self) -> int:
        """How often all have been given."""
        return self._epochs

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Any, Any]:
        """The next `batch_size` images, with their labels; when all have been given they are taken anew.

        With `shuffle` they are then, and at first, in another order. `fake_data` must be False.

        Raises:
            ValueError: there are fewer, or made-up data are asked for.
        """
        if fake_data:
            raise ValueError("next_batch(fake_data=True) is not there: read a folder without IDX files")
        if batch_size > self.num_examples:
            raise ValueError(f"a batch of {batch_size}, but there are {self.num_examples} examples")
        if not self._next and not self._epochs and shuffle:
            self._generator.shuffle(self._order)
        chosen = self._order[self._next : self._next + batch_size].copy()
        self._next += batch_size
        if len(chosen) < batch_size:
            self._epochs += 1
            if shuffle:
                self._generator.shuffle(self._order)
            self._next = batch_size - len(chosen)
            chosen = np.concatenate([chosen, self._order[: self._next]])
        return self._images[chosen], self._labels[chosen]


class Datasets(NamedTuple):
    """Digits to learn from, to choose by, and to be tested on."""

    train: DataSet
    validation: DataSet
    test: DataSet


def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = np.float32,
    reshape: bool = True,
    validation_size: int | None = None,
    seed: int | None = None,
    source_url: str = "",
) -> Datasets:
    """Read the digits of a folder, or draw some where it has none.

    Args:
        train_dir: the folder.
        fake_data: not there.
        one_hot: whether labels are rows with a single one.
        dtype: float32, pixels in [0, 1], or uint8, pixels from 0 to 255.
        reshape: whether an image is a row.
        validation_size: how many of the digits to learn from are kept apart; by default 5,000 of the whole of MNIST,
            and none of fewer.
        seed: of the order of batches.
        source_url: not heard: nothing is downloaded.

    Raises:
        ValueError: an argument makes no sense.
    """
    if fake_data:
        raise ValueError("read_data_sets(fake_data=True) is not there: give a folder without IDX files")
    name = np.dtype(getattr(dtype, "as_numpy_dtype", dtype)).name
    if name not in ("float32", "uint8"):
        raise ValueError(f"Invalid image dtype {name}, expected uint8 or float32")
    digits = _digits(Path(train_dir))
    count = digits.train.count
    kept = (_VALIDATION if count >= _WHOLE else 0) if validation_size is None else validation_size
    if not 0 <= kept <= count:
        raise ValueError(f"Validation size should be between 0 and {count}. Received: {kept}.")
    splits = digits.train.rows(kept, count), digits.train.rows(0, kept), digits.test
    made = [_made(split, one_hot=one_hot, is_row=reshape, name=name, seed=seed) for split in splits]
    return Datasets(*made)


def _digits(folder: Path) -> data.Dataset:
    if folder.is_dir() and any(folder.glob("*-idx?-ubyte*")):
        return data.load(folder)
    print(f"{folder}: no IDX files, and nothing is downloaded: the digits are drawn", file=sys.stderr)  # noqa: T201 - its user must know
    return data.synthetic()


def _made(split: data.Digits, *, one_hot: bool, is_row: bool, name: str, seed: int | None) -> DataSet:
    images: Any = split.images if is_row else split.images.reshape(-1, _SIDE, _SIDE, 1)
    if name == "uint8":
        images = np.rint(images * 255).astype(np.uint8)
    labels: Any = split.one_hot().astype(np.float64) if one_hot else split.labels
    return DataSet(images, labels, seed)
