"""Windows over images: how many places there are, and how much is added at the edges."""

import pytest

from compiler.tf2xla.windows import Along, Layout


@pytest.mark.parametrize(
    ("along", "extent", "output_size"),
    [
        (Along(3, 1, 1, 0, 0, 5), 3, 3),
        (Along(3, 2, 1, 1, 1, 5), 3, 3),
        (Along(3, 1, 2, 0, 0, 5), 5, 1),
        (Along(1, 1, 1, 0, 0, 0), 1, 0),
        (Along(7, 1, 1, 0, 0, 5), 7, 0),
        (Along(2, 3, 1, 0, 1, 5), 2, 2),
    ],
)
def test_places_are_those_that_fit(along, extent, output_size):
    assert (along.extent, along.output_size) == (extent, output_size)
    fitting = [start for start in range(0, 100, along.stride) if start + extent <= along.image + along.low + along.high]
    assert len(fitting) == output_size


@pytest.mark.parametrize(
    ("layout", "whole"), [(Layout(0, (1, 2), 3), (1, 5, 7, 1)), (Layout(0, (2, 3), 1), (1, 1, 5, 7))]
)
def test_numbers_for_places_go_to_their_dimensions_and_back(layout, whole):
    assert layout.to((5, 7)) == whole
    assert layout.of(whole) == (5, 7)
    assert layout.to((5, 7), other=0).count(0) == 2
