"""The chart of a roofline: bytes left, arithmetic right, each under its limits, on logarithmic axes."""

import pytest

from reports.roofline import _draw, _size, charts

POINTS = [{"bytes": 1 << 10, "rate": 2e9}, {"bytes": 1 << 20, "rate": 8e9}]
RECORD = {
    "engine": "cpu:threads=1",
    "environment": {"cpu": "Some Processor", "machine": "x86_64", "usable_cores": 2},
    "peak_flops": 64e9,
    "limits": {"read": POINTS, "copy": POINTS},
    "kinds": [
        {"name": "reduce", "what": "a sum", "unit": "bytes", "points": POINTS},
        {"name": "dot", "what": "a product", "unit": "flops", "points": POINTS},
        {"name": "new", "what": "a kind without a colour", "unit": "flops", "points": POINTS},
    ],
}


@pytest.fixture(scope="module")
def panels():
    return _draw(RECORD).axes


def labels(axes):
    return [line.get_label() for line in axes.get_lines()]


def test_what_moves_bytes_is_left_under_reading_and_copying_and_the_rest_right_under_the_peak(panels):
    left, right = panels
    assert labels(left) == ["reduce: a sum", "limit: read", "limit: copy"]
    assert labels(right) == ["dot: a product", "new: a kind without a colour", "limit: 64 GFLOP/s"]


def test_points_are_bytes_by_billions_a_second(panels):
    line = panels[0].get_lines()[0]
    assert list(line.get_xdata()) == [1 << 10, 1 << 20]
    assert list(line.get_ydata()) == [2, 8]
    assert (panels[0].get_xscale(), panels[0].get_yscale()) == ("log", "log")


def test_the_machine_is_named_by_its_processor_or_by_what_it_is():
    assert "Some Processor, 2 cores" in _draw(RECORD).get_supxlabel()
    unknown = RECORD | {"environment": RECORD["environment"] | {"cpu": None}}
    assert "x86_64, 2 cores" in _draw(unknown).get_supxlabel()


@pytest.mark.parametrize(
    ("count", "said"), [(1, "1 B"), (1023, "1023 B"), (1 << 10, "1 KiB"), (3 << 20, "3 MiB"), (1 << 42, "4096 GiB")]
)
def test_sizes_are_in_the_unit_that_keeps_them_short(count, said):
    assert _size(count) == said


@pytest.mark.slow
def test_it_is_an_svg_and_a_png():
    assert charts(RECORD).keys() == {"svg", "png"}
