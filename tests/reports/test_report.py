"""The report: everything that was recorded is there, and it can be made again."""

import json
import xml.etree.ElementTree as ET

import pytest
from html_reader import Reader

from reports import report, summary
from reports.report import Report
from xlabench.errors import BenchError


@pytest.mark.slow
def test_the_same_records_give_the_same_bytes(exported):
    assert Report.of(exported).files() == Report.of(json.loads(json.dumps(exported))).files()


@pytest.mark.slow
def test_links_are_relative_and_lead_to_what_is_written(exported):
    page = Reader(Report.of(exported).files()["index.html"].decode())
    assert set(page.links) == {
        "bundles/run-1/two.cpu/manifest.json",
        "speedup.svg",
        "speedup.png",
        "results.json",
    }


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
def test_a_run_without_cases_has_a_report_too(exported):
    exported["cases"] = []
    assert Reader(Report.of(exported).files()["index.html"].decode())


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
