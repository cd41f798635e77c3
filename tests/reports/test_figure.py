"""What is drawn becomes the same bytes each time, in each format."""

import pytest
from matplotlib.figure import Figure

from reports.figure import files


def drawn(height):
    figure = Figure(figsize=(2, 1))
    figure.add_subplot().plot([0, height])
    return figure


@pytest.mark.slow
def test_files_depend_on_what_is_drawn_and_on_nothing_else():
    first, again, other = (files(lambda height=height: drawn(height)) for height in (1, 1, 2))
    assert first == again
    assert set(first) == {"svg", "png"}
    assert all(first[kind] != other[kind] for kind in first)
    assert first["png"].startswith(b"\x89PNG")
    assert b"<svg" in first["svg"]
