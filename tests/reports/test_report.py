"""The report: everything that was recorded is there, nothing of it is taken for HTML, and it can be made again."""

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from reports import report, summary
from reports.report import Report
from xlabench.errors import BenchError
from xlabench.results import VERDICTS

VOID = {"meta", "br", "link", "hr", "img"}


class Reader(HTMLParser):
    """Fails on unbalanced tags; collects links and text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.links, self.text = [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.links += [value for key, value in attrs if key in ("href", "src") and not value.startswith("#")]
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(exported):
    return Reader(Report.of(exported).files()["index.html"].decode())


@pytest.mark.slow
def test_the_same_records_give_the_same_bytes(exported):
    assert Report.of(exported).files() == Report.of(json.loads(json.dumps(exported))).files()


@pytest.mark.slow
def test_the_page_is_well_formed_and_shows_every_program_verdict_and_engine(exported):
    page = read(exported)
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


@pytest.mark.slow
def test_links_are_relative_and_lead_to_what_is_written(exported):
    assert set(read(exported).links) == {
        "bundles/run-1/two.cpu/manifest.json",
        "speedup.svg",
        "speedup.png",
        "results.json",
    }


@pytest.mark.slow
def test_text_from_records_is_escaped(exported):
    hostile = "<script>alert(1)</script>&\"'"
    exported["run"]["description"] = exported["cases"][0]["name"] = hostile
    exported["cases"][1]["verdicts"][0]["message"] = hostile
    exported["cases"][1]["bundles"][0]["path"] = hostile
    exported["run"]["environment"]["cpu"] = hostile
    page = Report.of(exported).files()["index.html"].decode()
    assert "<script" not in page
    assert hostile in "".join(Reader(page).text)


@pytest.mark.slow
def test_results_json_holds_the_samples_and_the_derived_numbers(exported):
    results = json.loads(Report.of(exported).files()["results.json"])
    assert results["cases"][0]["timings"][0]["samples"] == [0.002, 0.0021]
    assert results["summary"]["verdicts"] == {"bitwise": 1, "within": 1, "crash": 1}
    assert results["summary"]["speedups"]["one"]["estimate"] == pytest.approx(2, rel=0.05)
    assert results["summary"]["speedups"]["two"] is None


@pytest.mark.slow
def test_the_chart_is_an_svg_and_a_png_without_a_date(exported):
    files = Report.of(exported).files()
    assert ET.fromstring(files["speedup.svg"]).tag.endswith("svg")
    assert b"<dc:date" not in files["speedup.svg"]
    assert files["speedup.png"].startswith(b"\x89PNG")


@pytest.mark.slow
def test_kernels_are_shown_with_what_they_take_those_that_spill_first(exported):
    taken = {"registers": 40, "shared_bytes": 1536, "stack_bytes": 0}
    exported["cases"][0]["kernels"] = [
        {"engine": "nvptx:sim", "name": name, "spill_bytes": spilled, **taken} for name, spilled in (("a", 0), ("b", 8))
    ]
    text = read(exported).text
    assert text.index("b") < text.index("a")
    assert "1,536" in text
    assert any("2 kernels, 1 of which spill" in part for part in text)
    del exported["cases"][0]["kernels"]
    assert "Kernels" not in read(exported).text


@pytest.mark.slow
def test_a_run_in_which_nothing_was_timed_has_a_report_too(exported):
    for case in exported["cases"]:
        case["timings"] = []
    text = " ".join(read(exported).text)
    assert "Nothing was timed" in text


@pytest.mark.slow
def test_a_run_without_cases_has_a_report_too(exported):
    exported["cases"] = []
    assert read(exported)


@pytest.mark.slow
@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_has_a_label(exported, verdict):
    exported["cases"][0]["verdicts"][0]["verdict"] = verdict
    page = Report.of(exported).files()["index.html"].decode()
    assert re.search(rf'class="v (good|bad|warn|mute)">{verdict}<', page)


def test_a_failure_while_timing_hides_the_earlier_verdict(exported):
    case = exported["cases"][0]
    case["verdicts"].append({**case["verdicts"][0], "verdict": "crash", "stage": "measure"})
    assert summary.summarise(exported).programs[0].verdicts["cpu"]["verdict"] == "crash"


def test_a_folder_that_cannot_be_written_is_said(exported, tmp_path):
    (tmp_path / "index.html").mkdir()
    with pytest.raises(BenchError, match="the records are safe"):
        report.write(tmp_path, {"index.html": b""})


@pytest.mark.slow
def test_stale_names_the_files_that_differ(exported, tmp_path):
    files = Report.of(exported).files()
    report.write(tmp_path, files)
    assert report.stale(tmp_path, files) == []
    (tmp_path / "index.html").write_text("edited")
    (tmp_path / "speedup.png").unlink()
    assert report.stale(tmp_path, files) == ["speedup.png", "index.html"]
