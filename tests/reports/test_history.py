"""A night is a point of each line that was timed on both sides, and failures are counted."""

import pytest

from reports.history import FEWEST_NIGHTS, Night, charts


def case(name, *, ours=(1.0, 1.0, 1.0), verdict="bitwise"):
    timings = [{"engine": "xla", "samples": [2.0, 2.0, 2.0]}]
    timings += [{"engine": "cpu", "samples": list(ours)}] if ours else []
    return {"name": name, "digest": f"d{name}", "timings": timings, "verdicts": [{"verdict": verdict}]}


def exported(*cases):
    return {"run": {"started_at": "2026-01-02T03:04:05", "options": {"timed": ["xla", "cpu"]}}, "cases": list(cases)}


def test_a_ratio_is_there_where_both_sides_were_timed():
    night = Night.of(exported(case("a"), case("b", ours=()), case("c", verdict="wrong")), ["xla", "cpu"])
    assert night.started == "2026-01-02"
    assert night.speedups == {("a", "da"): pytest.approx(2), ("c", "dc"): pytest.approx(2)}
    assert night.failures == 1


def test_of_few_nights_there_is_no_chart():
    assert charts([exported(case("a"))] * (FEWEST_NIGHTS - 1), None) == {}
    assert charts([exported(case("a", ours=()))] * FEWEST_NIGHTS, None) == {}
