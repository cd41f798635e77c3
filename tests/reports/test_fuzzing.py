"""The page of a campaign: all that its summary says, nothing of it taken for HTML, and old summaries too."""

import copy
import re

import pytest

from reports.fuzzing import page

SUMMARY = {
    "config": {"profile": "discovery", "seed": 7, "engines": ["cpu", "nvptx:sim"]},
    "coverage": {
        "of": "opcodes and types",
        "reached": 1_200,
        "allowed": 3_000,
        "missing": ["sort bf16"],
        "rules": {"often": 5_000, "hardly": 1},
        "tellingly": {"often": 4_000},
        "never": ["loop of loops"],
    },
    "cases": 12_345,
    "cases_per_s": 3.25,
    "cases_per_s_and_core": 1.625,
    "instructions_per_case": 21.4,
    "findings": [],
    "verdicts": {"cpu bitwise": 12_000, "nvptx:sim wrong": 3},
    "seconds": {"drawing": 10.0, "compiling cpu": 30.0},
    "variants": {"cpu:opt=0": 4, "cpu:opt=2": 9},
    "telling": {"asked": 100, "share": 0.75, "by_opcode": {"add": [90, 81], "floor": [10, 1]}},
}
FINDING = {
    "name": "wrong.add",
    "bundle": "findings/one",
    "engines": ["cpu"],
    "verdict": "wrong",
    "cases": [3, 9],
    "verified": True,
    "doubt": "",
    "bug": "",
    "cause": "fusion",
    "signature": ["add"],
    "message": "1 of 8 elements is wrong",
}


def text(**changed):
    return page(copy.deepcopy(SUMMARY) | changed)


def rows(found, cell):
    """The cells of the row that one with that text begins."""
    (row,) = (row for row in re.findall(r"<tr>.*?</tr>", found) if f"<td>{cell}</td>" in row)
    return re.findall(r"<td[^>]*>(.*?)</td>", row)


def test_numbers_of_the_campaign_are_there():
    found = text()
    for expected in ("fuzzing, profile discovery, seed 7", "12,345", "1,200 of 3,000", "cpu, nvptx:sim", "sort bf16"):
        assert expected in found


def test_what_fired_hardly_comes_first_with_how_often_it_showed():
    found = text()
    assert found.index("<td>hardly</td>") < found.index("<td>often</td>")
    assert rows(found, "often") == ["often", "5,000", "4,000"]
    assert rows(found, "hardly") == ["hardly", "1", "0"]


def test_stages_are_by_what_they_took_with_shares_and_rates():
    found = text()
    assert rows(found, "compiling cpu") == ["compiling cpu", "30.0", "75%", "411.5"]
    assert rows(found, "all")[1:3] == ["40.0", "100%"]
    assert found.index("compiling cpu") < found.index("<td>drawing</td>")


def test_opcodes_whose_values_hardly_show_come_first():
    found = text()
    assert "75% of 100" in found
    assert rows(found, "floor") == ["floor", "10", "10%"]
    assert found.index("<td>floor</td>") < found.index("<td>add</td>")


@pytest.mark.parametrize("verdict", ["wrong", "flaky", "crash", "compile-error", "timeout", "error"])
def test_bad_verdicts_look_bad(verdict):
    assert f'<span class="v bad">{verdict}</span>' in text(verdicts={f"cpu {verdict}": 1})
    assert '<span class="v bad">bitwise' not in text()


def test_a_finding_leads_to_its_bundle_and_says_whether_it_was_shown_again():
    found = text(findings=[FINDING])
    assert '<a href="findings/one/manifest.json">wrong.add</a>' in found
    assert "fusion, add" in found
    assert "<td>verified</td>" in found
    doubted = text(findings=[FINDING | {"verified": False, "doubt": "it is gone", "bug": "XLA-7"}])
    assert "not verified: it is gone" in doubted
    assert "known: XLA-7, fusion" in doubted


def test_a_failure_of_ours_leads_to_its_traceback():
    found = text(findings=[FINDING | {"traceback": "ValueError: <x>", "doubt": "of ours"}])
    assert 'href="findings/one/traceback.txt"' in found
    assert "ValueError: &lt;x&gt;" in found


def test_texts_are_never_html():
    hostile = "<script>alert(1)</script>"
    finding = FINDING | dict.fromkeys(("name", "bundle", "message", "cause", "verdict"), hostile)
    found = text(findings=[finding], verdicts={f"{hostile} wrong": 1}, variants={hostile: 1})
    assert "<script" not in found


def test_a_campaign_of_changes_says_of_what_and_which():
    config = {"corpus": ["a", "b"], "most_changes": 3, "seed": 1, "engines": ["cpu"]}
    coverage = SUMMARY["coverage"] | {"changes": {"swap": 2}, "skipped": {"big.hlo": "too large"}}
    found = text(config=config, coverage=coverage)
    assert "mutating 2 programs, up to 3 changes each" in found
    assert rows(found, "big.hlo") == ["big.hlo", "too large"]


def test_a_summary_without_what_came_later_has_a_page_too():
    old = {key: value for key, value in SUMMARY.items() if key not in ("telling", "variants")}
    coverage = {key: value for key, value in SUMMARY["coverage"].items() if key not in ("tellingly", "never")}
    found = page(old | {"coverage": coverage, "seconds": {}})
    assert "Variants of engines" not in found
    assert "Never come to" not in found
