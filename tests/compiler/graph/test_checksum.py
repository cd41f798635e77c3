"""The checksum of Castagnoli's polynomial, against its published values, short and in lanes."""

import numpy as np
import pytest

from compiler.graph.checksum import _followed, crc32c


@pytest.mark.parametrize(
    ("data", "value"),
    [(b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (bytes(range(32)), 0x46DD794E)],
)
def test_checksums_are_those_that_are_published(data, value):
    assert crc32c(data) == value


def test_lanes_are_the_same():
    data = np.random.default_rng(0).bytes((1 << 16) + 12_345)
    assert crc32c(data) == _followed(data, 0xFFFFFFFF) ^ 0xFFFFFFFF
