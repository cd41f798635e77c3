"""Handwritten digits: from IDX files as MNIST comes in, or drawn here when there are none.

An IDX file is a magic number (two zero bytes, the element type, the number of dimensions), the sizes as big-endian
32-bit integers, then the bytes; `.gz` or not is seen from its first bytes, not from its name.

The drawn digits need no download and are the same everywhere: ten prototypes, each the segments of a seven-segment
display in soft strokes, moved by up to two pixels, in changing brightness, under noise.
"""

from __future__ import annotations

import gzip
import math
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler import InputError

SIDE = 28
CLASSES = 10

_UNSIGNED_BYTE = 8
_LARGEST_BYTES = 1 << 30
_STEMS = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
_TRAINING_SHARE = 0.8

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Digits:
    """Images as rows of pixels in [0, 1], and the digit that each shows."""

    images: Floats
    labels: NDArray[np.uint8]

    @property
    def count(self) -> int:
        """The number of images."""
        return len(self.labels)

    def one_hot(self) -> Floats:
        """The labels as rows with a single one."""
        return np.eye(CLASSES, dtype=np.float32)[self.labels]

    def rows(self, start: int, stop: int) -> Digits:
        """A range of the images."""
        return Digits(self.images[start:stop], self.labels[start:stop])


@dataclass(frozen=True, slots=True)
class Dataset:
    """Digits to learn from and others to be tested on."""

    train: Digits
    test: Digits
    source: str


def load(folder: Path) -> Dataset:
    """Read MNIST from a folder; with the test files alone, the first four fifths of them are for training."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; give the one that holds {_STEMS['test'][0]}[.gz]")
    found = {split: _read_split(folder, split) for split in _STEMS}
    train, test = found["train"], found["test"]
    if train is None and test is None:
        names = ", ".join(name for stems in _STEMS.values() for name in stems)
        raise InputError(f"{folder}: no IDX files; expected {names}, each with or without .gz")
    if train is not None and test is not None:
        return Dataset(train, test, "MNIST files")
    whole = train if train is not None else test
    assert whole is not None, "one of the two is there"
    border = int(whole.count * _TRAINING_SHARE)
    return Dataset(whole.rows(0, border), whole.rows(border, whole.count), "MNIST files, one set split in two")


def synthetic(*, train: int = 8000, test: int = 2000, seed: int = 0) -> Dataset:
    """Draw digits; the same seed draws the same."""
    prototypes = np.stack([_prototype(digit) for digit in range(CLASSES)])
    whole = _draw(prototypes, train + test, np.random.default_rng([seed, train, test]))
    return Dataset(whole.rows(0, train), whole.rows(train, train + test), "synthetic digits")


def read_idx(path: Path, *, rank: int) -> NDArray[np.uint8]:
    """An IDX file of unsigned bytes with this many dimensions."""
    data = _read_bytes(path)
    header = 4 + 4 * rank
    magic = bytes([0, 0, _UNSIGNED_BYTE, rank])
    if data[:4] != magic:
        raise InputError(
            f"{path}: starts with {data[:4].hex(' ') or 'nothing'}, but an IDX file of bytes in {rank} dimensions "
            f"starts with {magic.hex(' ')}; check that it is the right file"
        )
    if len(data) < header:
        raise InputError(f"{path}: ends within its header; get it again")
    sizes = [int(size) for size in np.frombuffer(data[4:header], ">u4")]
    if len(data) - header != math.prod(sizes):
        shape = "x".join(map(str, sizes))
        raise InputError(f"{path}: {len(data) - header:,} bytes of data, but its header says {shape}; get it again")
    return np.frombuffer(data, np.uint8, offset=header).reshape(sizes)


def _read_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            is_zipped = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            stream: Any = gzip.GzipFile(fileobj=file) if is_zipped else file
            data: bytes = stream.read(_LARGEST_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: damaged gzip data: {error}; get it again") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if len(data) > _LARGEST_BYTES:
        raise InputError(f"{path}: more than {_LARGEST_BYTES:,} bytes, which no set of digits needs")
    return data


def _read_split(folder: Path, split: str) -> Digits | None:
    """Images and labels of one set, None if the folder has neither."""
    paths = [_find(folder, stem) for stem in _STEMS[split]]
    if paths == [None, None]:
        return None
    for path, stem in zip(paths, _STEMS[split], strict=True):
        if path is None:
            raise InputError(f"{folder}: {stem}[.gz] is missing beside the other file of its set; get it as well")
    images, labels = (read_idx(path, rank=rank) for path, rank in zip(paths, (3, 1), strict=True) if path is not None)
    if images.shape[1:] != (SIDE, SIDE):
        raise InputError(f"{paths[0]}: images of {images.shape[1]}x{images.shape[2]}; expected {SIDE}x{SIDE}")
    if len(images) != len(labels) or not len(labels):
        raise InputError(f"{folder}: {len(images)} images and {len(labels)} labels; get files that belong together")
    if labels.max() >= CLASSES:
        raise InputError(f"{paths[1]}: a label of {labels.max()}; expected digits from 0 to 9")
    return Digits(images.reshape(len(images), -1).astype(np.float32) / np.float32(255), labels)


def _find(folder: Path, stem: str) -> Path | None:
    candidates = (folder / stem, folder / f"{stem}.gz")
    return next((path for path in candidates if path.exists()), None)


# Segments of a seven-segment display from (row, column) to (row, column), and which of them each digit lights.
_SEGMENTS = {
    "a": ((6, 9), (6, 18)),
    "b": ((6, 18), (13, 18)),
    "c": ((13, 18), (21, 18)),
    "d": ((21, 9), (21, 18)),
    "e": ((13, 9), (21, 9)),
    "f": ((6, 9), (13, 9)),
    "g": ((13, 9), (13, 18)),
}
_LIT = ("abcdef", "bc", "abdeg", "abcdg", "bcfg", "acdfg", "acdefg", "abc", "abcdefg", "abcdfg")
_STROKE = 1.0  # pixels from the middle of a stroke to where it has faded
_JITTER = 2
_NOISE = 0.15


def _prototype(digit: int) -> NDArray[np.float64]:
    """The digit in soft strokes: brightness falls off with the distance from the nearest lit segment."""
    pixels = np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij"), axis=-1).astype(np.float64)
    distances = []
    for letter in _LIT[digit]:
        start, end = (np.array(point, np.float64) for point in _SEGMENTS[letter])
        along = ((pixels - start) @ (end - start)) / ((end - start) @ (end - start))
        nearest = start + np.clip(along, 0, 1)[..., None] * (end - start)
        distances.append(((pixels - nearest) ** 2).sum(axis=-1))
    return np.asarray(np.exp(-np.min(distances, axis=0) / (2 * _STROKE**2)))


def _draw(prototypes: NDArray[np.float64], count: int, rng: np.random.Generator) -> Digits:
    labels = rng.integers(0, CLASSES, count).astype(np.uint8)
    padded = np.pad(prototypes, ((0, 0), (_JITTER, _JITTER), (_JITTER, _JITTER)))
    shifts = rng.integers(0, 2 * _JITTER + 1, (count, 2))
    rows = shifts[:, 0, None, None] + np.arange(SIDE)[None, :, None]
    columns = shifts[:, 1, None, None] + np.arange(SIDE)[None, None, :]
    images = padded[labels[:, None, None], rows, columns]
    images = images * rng.uniform(0.5, 0.9, (count, 1, 1)) + _NOISE * rng.standard_normal(images.shape)
    return Digits(np.clip(images, 0, 1).reshape(count, -1).astype(np.float32), labels)
