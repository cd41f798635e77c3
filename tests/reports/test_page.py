"""The page of a run shows every program, verdict and time, and takes nothing of the records for HTML."""

import copy
import re

import pytest
from html_reader import Reader

from reports.changes import compare
from reports.page import _micro, _minute, render
from reports.summary import summarise
from xlabench.results import VERDICTS

CHART = b'<?xml version="1.0"?>\n<svg id="chart"></svg>'


def shown(exported, earlier=None, nights=None):
    """The page of a run, with a chart that says nothing."""
    found = summarise(exported)
    return render(found, compare(summarise(earlier), found) if earlier else None, CHART, nights)


def test_the_page_is_well_formed_and_shows_every_program_verdict_and_engine(exported):
    page = Reader(shown(exported))
    text = " ".join(page.text)
    for expected in (
        "one",
        "two",
        "within",
        "bitwise",
        "crash",
        "killed by SIGSEGV",
        "cpu:fusion=off",
        "Some Processor",
    ):
        assert expected in text
    assert "µs per call" in text


def test_text_from_records_is_escaped(exported):
    hostile = "<script>alert(1)</script>&\"'"
    exported["run"]["description"] = exported["cases"][0]["name"] = hostile
    exported["cases"][1]["verdicts"][0]["message"] = hostile
    exported["cases"][1]["bundles"][0]["path"] = hostile
    exported["run"]["environment"]["cpu"] = hostile
    page = shown(exported)
    assert "<script" not in page
    assert hostile in "".join(Reader(page).text)


def test_kernels_are_shown_with_what_they_take_those_that_spill_first(exported):
    taken = {"registers": 40, "shared_bytes": 1536, "stack_bytes": 0}
    exported["cases"][0]["kernels"] = [
        {"engine": "nvptx:sim", "name": name, "spill_bytes": spilled, **taken} for name, spilled in (("a", 0), ("b", 8))
    ]
    text = Reader(shown(exported)).text
    assert text.index("b") < text.index("a")
    assert "1,536" in text
    assert any("2 kernels, 1 of which spill" in part for part in text)
    del exported["cases"][0]["kernels"]
    assert "Kernels" not in Reader(shown(exported)).text


def test_a_run_in_which_nothing_was_timed_has_a_report_too(exported):
    for case in exported["cases"]:
        case["timings"] = []
    text = " ".join(Reader(shown(exported)).text)
    assert "Nothing was timed" in text


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_has_a_label(exported, verdict):
    exported["cases"][0]["verdicts"][0]["verdict"] = verdict
    page = shown(exported)
    assert re.search(rf'class="v (good|bad|warn|mute)">{verdict}<', page)


def test_charts_are_part_of_the_page_without_what_begins_a_file(exported):
    page = shown(exported)
    assert '<svg id="chart">' in page
    assert "<?xml" not in page
    assert "History" not in page


def test_what_changed_since_the_night_before_is_told(exported):
    earlier = copy.deepcopy(exported)
    earlier["cases"][1]["verdicts"][0]["verdict"] = "bitwise"
    page = shown(exported, earlier, CHART)
    assert page.count('<svg id="chart">') == 2
    assert re.search(r'class="v bad">failing<', page)
    assert re.search(r'class="v good">mended<', shown(earlier, exported))


def test_a_distance_is_in_ulp_or_an_error_where_these_say_nothing(exported):
    verdict = exported["cases"][0]["verdicts"][0]
    verdict |= {"verdict": "within", "max_ulp": 3.0, "max_abs": 1e-7}
    assert ">3 ULP<" in shown(exported)
    verdict |= {"max_ulp": 5e6}
    assert ">error 1.0e-07<" in shown(exported)


def test_a_reduced_program_is_marked_and_said(exported):
    exported["cases"][0]["verdicts"][0]["reduced"] = "8 of 4096 rows"
    page = shown(exported)
    assert "†" in page
    assert "8 of 4096 rows" in page


def test_sizes_that_open_ones_were_given_are_said(exported):
    assert "Open sizes" not in shown(exported)
    exported["cases"][0]["opened"] = [{"program": "one.pb", "sizes": "x<y [?,4] is [2, 4]"}]
    assert "x&lt;y [?,4] is [2, 4]" in shown(exported)


@pytest.mark.parametrize(("seconds", "said"), [(1.234e-6, "1.23"), (12.34e-6, "12.3"), (1.5, "1,500,000")])
def test_times_are_microseconds_with_three_digits(seconds, said):
    assert _micro(seconds) == said


@pytest.mark.parametrize(
    ("stamp", "said"), [("2026-11-26T05:11:08+00:00", "2026-11-26 05:11 UTC"), ("not finished", "not finished")]
)
def test_a_time_stamp_is_given_to_the_minute(stamp, said):
    assert _minute(stamp) == said
