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


def scale(run, factor, *engines, canaries=False):
    """Make engines so many times slower; the machine too, if that is asked for."""
    for case in run["cases"]:
        rows = [timing for timing in case["timings"] if timing["engine"] in engines]
        for row in (*rows, *(case["canaries"] if canaries else ())):
            row["samples"] = [sample * factor for sample in row["samples"]]


def test_a_run_differs_in_nothing_from_itself(exported, later):
    found = compare(exported, later)
    assert not found.is_regression
    assert (found.verdicts, found.doubts) == ((), ())
    assert [time.speed.estimate for time in found.times] == [pytest.approx(1)] * 2
    assert [speedup.change.estimate for speedup in found.speedups] == [pytest.approx(1)]
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


BOTH = ("cpu:fusion=off", "cpu")
SLOWDOWNS = {
    "both, the baseline more": ({"cpu": 4, "cpu:fusion=off": 16}, ["slower", "slower"], "both changed"),
    "the candidate": ({"cpu": 4}, ["same or unclear", "slower"], "candidate changed"),
    "the baseline": ({"cpu:fusion=off": 4}, ["slower", "same or unclear"], "baseline changed"),
    "the candidate is faster": ({"cpu": 0.25}, ["same or unclear", "faster"], "candidate changed"),
}
"""Factors of times; what is said of baseline and candidate, and of the speed-up."""


@pytest.mark.parametrize("planted", SLOWDOWNS)
def test_what_is_slower_is_said_of_the_engine_whose_own_time_is(exported, later, planted):
    factors, own, speedup = SLOWDOWNS[planted]
    for engine, factor in factors.items():
        scale(later, factor, engine)
    found = compare(exported, later)
    kinds = {time.engine: time.kind for time in found.times}
    assert all(kinds[engine] in kind.split(" or ") for engine, kind in zip(BOTH, own, strict=True))
    assert [one.kind for one in found.speedups] == [speedup]
    assert found.is_regression == ("slower" in own)
    said = "\n".join(changes.to_text(found))
    for engine, kind in kinds.items():
        assert (f"{kind}: one on {engine}, " in said) == (kind in ("slower", "faster"))
    assert ("baseline changed: one, speed-up of cpu over cpu:fusion=off" in said) == (speedup == "baseline changed")


def test_what_is_compiled_differently_is_said_and_no_regression(exported, later):
    for run, digest in ((exported, "a"), (later, "b")):
        run["cases"][0]["decisions"] = [{"engine": "cpu", "digest": digest}, {"engine": "nvptx:sim", "digest": "c"}]
    later["cases"][1]["decisions"] = [{"engine": "cpu", "digest": "new"}]
    found = compare(exported, later)
    assert [(one.program, one.engine) for one in found.compiled] == [("one", "cpu")]
    assert "compiled differently: 1 on cpu: one" in list(changes.to_text(found))
    assert changes.to_json(found)["compiled_differently"] == [{"program": "one", "engine": "cpu"}]
    assert not found.is_regression


def test_the_factor_is_said_with_the_times(exported, later):
    scale(later, 4, "cpu")
    (line,) = (line for line in changes.to_text(compare(exported, later)) if line.startswith("slower"))
    assert line.startswith("slower: one on cpu, 1.03 ms before, 4.1 ms now, 4.00x (")


@pytest.mark.parametrize(("factor", "reason"), [(1.3, ""), (3, "the machine itself was more than 1.5x slower")])
def test_a_machine_that_is_slower_in_all_is_no_change(exported, later, factor, reason):
    scale(later, factor, *BOTH, canaries=True)
    found = compare(exported, later)
    assert found.canaries == {name: pytest.approx(1 / factor) for name in ("compute", "memory", "threads")}
    assert not found.is_regression
    assert all(time.kind in ("same", "unclear") and time.reason.startswith(reason) for time in found.times)
    assert [speedup.change.estimate for speedup in found.speedups] == [pytest.approx(1)]


@pytest.mark.parametrize("fact", ["machine", "cpu", "usable_cores"])
def test_times_of_another_machine_are_not_judged(exported, later, fact):
    scale(later, 9, *BOTH)
    later["run"]["environment"][fact] = "another"
    found = compare(exported, later)
    assert not found.is_regression
    assert {time.kind for time in found.times} == {"unclear"}
    assert any("not decided, for 2 times: another machine" in doubt for doubt in found.doubts)


def test_records_from_before_there_were_canaries_decide_no_time(exported, later):
    scale(later, 9, "cpu")
    for case in exported["cases"]:
        del case["canaries"]
    found = compare(exported, later)
    assert not found.is_regression
    assert [one.kind for one in found.speedups] == ["changed"]
    said = "\n".join(changes.to_text(found))
    assert "no canary was timed in both runs" in said
    assert "whose time did is not decided" in said


def test_programs_that_came_went_or_were_rewritten_are_named_and_not_compared(exported, later):
    scale(later, 4, "cpu")
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
    for expected in (
        "suite frozen is compared with suite another",
        "numpy was 2.4.6, is 9",
        "speed-up was that of cpu over",
    ):
        assert expected in said


def test_slowdowns_alone_cast_doubt_on_what_measures(exported, later):
    case = exported["cases"][0]
    exported["cases"] = [{**copy.deepcopy(case), "name": f"p{number}"} for number in range(5)]
    later["cases"] = copy.deepcopy(exported["cases"])
    scale(later, 4, "cpu")
    assert any("5 times are slower and none faster" in doubt for doubt in compare(exported, later).doubts)


@pytest.mark.slow
def test_the_page_shows_changes_and_results_json_holds_them(exported, later):
    scale(later, 4, "cpu")
    later["cases"][0]["verdicts"][0] |= {"verdict": "wrong", "message": "off by one"}
    files = Report.of(later, [exported]).files()
    held = json.loads(files["results.json"])["summary"]["changes"]
    assert held["is_regression"]
    assert {time["engine"] for time in held["times"] if time["kind"] == "slower"} == {"cpu"}
    shown = []
    reader = HTMLParser()
    reader.handle_data = shown.append
    reader.feed(files["index.html"].decode())
    assert {"Changes", "failing", "slower", "1.03 ms", "4.1 ms"} <= set(shown)
    assert "Changes" not in Report.of(later).files()["index.html"].decode()


@pytest.mark.slow
def test_nights_are_drawn_from_the_third_on(exported, later):
    assert "history.svg" not in Report.of(later, [exported]).files()
    scale(later, 4, "cpu")
    later["cases"][1]["verdicts"][0]["verdict"] = "wrong"
    files = Report.of(later, [exported, exported]).files()
    assert files["history.png"].startswith(b"\x89PNG")
    assert files == Report.of(json.loads(json.dumps(later)), [exported, exported]).files()


def test_a_night_knows_the_programs_that_it_timed_and_how_many_failed(exported):
    exported["cases"][0]["verdicts"][0]["verdict"] = "assembled"
    night = history.Night.of(exported, ["cpu:fusion=off", "cpu"])
    assert night.speedups == {("one", "aa"): pytest.approx(2, rel=0.05)}
    assert (night.started, night.failures) == ("2026-11-20", 1)
