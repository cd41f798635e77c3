"""How lines are cut of which only the first few of each chunk are read."""

from __future__ import annotations

import pytest

from compiler.backends.nvptx.kernels.sort.chunks import SHORT, most_of


@pytest.mark.parametrize(
    ("length", "first", "lines", "most"),
    [
        (SHORT, 2, 1, SHORT),  # one chunk
        (SHORT + 1, 2, 1, 512),
        (13179, 2, 3, 512),
        (13179, 60, 3, 1024),  # 26 chunks of 512 leave more than that
        (13179, 200, 3, SHORT),
        (13179, 2, 9, 1024),  # chunks of 512 are more than keep a GPU busy
        (13179, 2, 60, SHORT),
    ],
)
def test_chunks_are_small_where_few_blocks_leave_few_elements(length: int, first: int, lines: int, most: int) -> None:
    assert most_of(length, first, lines) == most
