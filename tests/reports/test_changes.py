"""What changed between two runs: each kind of change is told, nothing else is, and doubts are said."""

import copy
import json
from html.parser import HTMLParser

import pytest

from reports import changes, history, summary
from reports.report import Report
from xlabench.results import VERDICTS


@pytest.fixture
def later(exported):
    return copy.deepcopy(exported)


def compare(exported, later):
    return changes.compare(summary.summarise(exported), summary.summarise(later))


def scale_candidate(run, factor):
    for case in run["cases"]:
        for timing in case["timings"]:
            if timing["engine"] == "cpu":
                timing["samples"] = [sample * factor for sample in timing["samples"]]


def test_a_run_differs_in_nothing_from_itself(exported, later):
    found = compare(exported, later)
    assert not found.is_regression
    assert (found.verdicts, found.doubts) == ((), ())
    assert [speed.change.estimate for speed in found.speeds] == [pytest.approx(1)]
    assert "worse" not in "".join(changes.to_text(found))


@pytest.mark.parametrize("before", VERDICTS)
@pytest.mark.parametrize("after", VERDICTS)
def test_a_verdict_changes_for_the_worse_where_it_was_fine(exported, later, before, after):
    for run, verdict in ((exported, before), (later, after)):
        run["cases"][0]["verdicts"][0]["verdict"] = verdict
    found = compare(exported, later)
    fine = {"bitwise", "within", "assembled"}
    told = before != after and not {before, after} <= fine
    expected = "failing" if before in fine else "mended" if after in fine else "different"
    assert [change.kind for change in found.verdicts] == ([expected] if told else [])
    assert found.is_regression == (told and expected == "failing")


@pytest.mark.parametrize(("factor", "kind"), [(4, "slower"), (0.25, "faster")])
def test_a_speed_up_that_changed_is_told_and_only_slower_is_worse(exported, later, factor, kind):
    scale_candidate(later, factor)
    found = compare(exported, later)
    assert [speed.kind for speed in found.speeds] == [kind]
    assert found.is_regression == (kind == "slower")
    assert f"{kind}: one, 1.9" in "\n".join(changes.to_text(found))


def test_a_machine_that_is_slower_in_all_is_no_change(exported, later):
    for case in later["cases"]:
        for timing in case["timings"]:
            timing["samples"] = [3 * sample for sample in timing["samples"]]
    assert compare(exported, later).speeds[0].change.estimate == pytest.approx(1)


def test_programs_that_came_went_or_were_rewritten_are_named_and_not_compared(exported, later):
    scale_candidate(later, 4)
    later["cases"][0]["digest"] = "another"
    later["cases"][1]["name"] = "new"
    found = compare(exported, later)
    assert (found.rewritten, found.only_earlier, found.only_later) == (("one",), ("two",), ("new",))
    assert not found.is_regression
    said = "\n".join(changes.to_text(found))
    assert "not compared: one" in said
    assert "only in the later run: new" in said


def test_what_else_is_different_is_said(exported, later):
    later["run"]["suite"] = "another"
    later["run"]["environment"]["versions"] = {"numpy": "9"}
    later["run"]["options"]["timed"] = ["cpu", "cpu:fusion=off"]
    said = " ".join(compare(exported, later).doubts)
    for expected in ("suite frozen is compared with suite another", "numpy was 2.4.6, is 9", "timed other engines"):
        assert expected in said


def test_slowdowns_alone_cast_doubt_on_what_measures(exported, later):
    case = exported["cases"][0]
    exported["cases"] = [{**copy.deepcopy(case), "name": f"p{number}"} for number in range(5)]
    later["cases"] = copy.deepcopy(exported["cases"])
    scale_candidate(later, 4)
    assert any("5 programs are slower and none faster" in doubt for doubt in compare(exported, later).doubts)


def test_the_page_shows_changes_and_results_json_holds_them(exported, later):
    scale_candidate(later, 4)
    later["cases"][0]["verdicts"][0] |= {"verdict": "wrong", "message": "off by one"}
    files = Report.of(later, [exported]).files()
    held = json.loads(files["results.json"])["summary"]["changes"]
    assert held["is_regression"]
    assert [speed["kind"] for speed in held["speeds"]] == ["slower"]
    shown = []
    reader = HTMLParser()
    reader.handle_data = shown.append
    reader.feed(files["index.html"].decode())
    assert {"Changes", "failing", "slower"} <= set(shown)
    assert "Changes" not in Report.of(later).files()["index.html"].decode()


@pytest.mark.slow
def test_nights_are_drawn_from_the_third_on(exported, later):
    assert "history.svg" not in Report.of(later, [exported]).files()
    scale_candidate(later, 4)
    later["cases"][1]["verdicts"][0]["verdict"] = "wrong"
    files = Report.of(later, [exported, exported]).files()
    assert files["history.png"].startswith(b"\x89PNG")
    assert files == Report.of(json.loads(json.dumps(later)), [exported, exported]).files()


def test_a_night_knows_the_programs_that_it_timed_and_how_many_failed(exported):
    exported["cases"][0]["verdicts"][0]["verdict"] = "assembled"
    night = history.Night.of(exported, ["cpu:fusion=off", "cpu"])
    assert night.speedups == {("one", "aa"): pytest.approx(2, rel=0.05)}
    assert (night.started, night.failures) == ("2026-11-20", 1)
