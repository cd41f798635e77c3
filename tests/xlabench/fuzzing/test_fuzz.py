"""Campaigns on engines with planted bugs: found, told apart, resumed, repeatable."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import compiler
from xlabench import atomic
from xlabench.errors import BenchError
from xlabench.fuzzing import campaign, fuzz, fuzz_jobs
from xlabench.fuzzing.case_failure import CaseFailure
from xlabench.fuzzing.config import Config
from xlabench.fuzzing.fuzz import Generated
from xlabench.fuzzing.worker_pool import attribute_crash
from xlabench.worker import Outcome, Worker

HERE = str(Path(__file__).resolve().parents[1])
CONFIG = Config(("right",), count=60, max_probes=0, factory="broken_engines:engine", timeout_s=60)


@pytest.fixture(autouse=True)
def _findable_engines(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [HERE, os.environ.get("PYTHONPATH", "")])))


class Unprobed(Generated):
    """Programs of a profile, of which every engine supports all, on engines as they are named."""

    def __init__(self):
        super().__init__(varied=False)

    def support(self, config, support_probe):
        return {"banned": []}


def of_the_profile(pairs):
    """Of pairs of opcode and type those that a campaign asks engines about, which are given no others."""
    return {(opcode, kind) for opcode, kind in pairs} & Generated()._drawable()


def run(config, folder, source=Generated):
    return campaign.run(config, source(), folder, observe=lambda *_: None)


@pytest.mark.slow
def test_a_right_engine_has_no_findings_and_is_not_spoilt_by_one_of_others(tmp_path):
    config = replace(CONFIG, engines=("right", "xla"))
    summary = run(config, tmp_path / "campaign")
    assert summary["findings"] == []
    support = json.loads((tmp_path / "campaign" / "support.json").read_text())
    draw = fuzz_jobs.drawer_of(Generated().drawing(config, support))
    asked = sum(not compiler.edit.calls_functions(draw(number).module) for number in range(60))
    assert 50 < asked < 60, "neither engine calls functions of a program's caller"
    assert summary["verdicts"] == {"right bitwise": asked, "xla bitwise": asked}
    assert summary["cases"] == 60
    assert summary["cases_per_s_and_core"] > 0
    stages = {f"{engine} {stage}" for engine in ("right", "xla") for stage in ("compile", "run")}
    assert set(summary["seconds"]) == {
        "drawing",
        "reference",
        "judging",
        "tracing",
        "telling",
        "trying the judge",
        *stages,
    }
    assert summary["coverage"]["reached"] > 200


@pytest.mark.slow
def test_an_engine_that_dies_of_one_opcode_is_asked_about_the_others(tmp_path):
    summary = run(replace(CONFIG, engines=("perishes",), count=20), tmp_path / "campaign")
    support = json.loads((tmp_path / "campaign" / "support.json").read_text())
    assert {(opcode, verdict) for _, opcode, _, verdict in support["fatal"]} == {("abs", "crash")}
    assert {opcode for opcode, _ in of_the_profile(support["banned"])} == {"abs"}
    (found,) = summary["findings"]
    assert (found["verdict"], found["cases"]) == ("crash", (-1, -2, -3))
    assert summary["verdicts"] == {"perishes bitwise": 20}


def test_a_process_that_ends_before_the_question_is_asked_again_once():
    died, answered = Outcome("died", message="killed"), Outcome("answered", value={"unsupported": [["abs", "f32"]]})
    outcomes = iter([died, answered, died, died])
    worker = SimpleNamespace(run=lambda *_, **__: next(outcomes))
    question = ("cpu", "abs", [("abs", "f32"), ("abs", "f64")])
    assert fuzz._probe(worker, CONFIG, question) == ({("abs", "f32")}, [])
    with pytest.raises(BenchError, match="cpu: no process of it comes to a question: killed"):
        fuzz._probe(worker, CONFIG, question)


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "verdict"), [("wrong", "wrong"), ("raises", "compile-error"), ("dies", "crash")])
def test_a_bug_is_found_bundled_and_counted_once(tmp_path, engine, verdict):
    config = replace(CONFIG, engines=(engine,), seed=4)
    summary = run(config, tmp_path / "campaign")
    found = summary["findings"]
    assert {finding["verdict"] for finding in found} == {verdict}
    assert len(found) <= 5
    assert summary["cases"] == CONFIG.count
    assert summary["verdicts"][f"{engine} {verdict}"] == len({case for finding in found for case in finding["cases"]})
    for finding in found:
        assert (tmp_path / "campaign" / finding["bundle"] / "manifest.json").is_file()


@pytest.mark.slow
def test_a_case_that_ends_its_process_counts_with_what_is_known_of_it(tmp_path):
    config = replace(CONFIG, engines=("falls", "dies"), count=20, seed=3)
    whole = run(replace(config, engines=("falls",)), tmp_path / "whole", Unprobed)
    summary = run(config, tmp_path / "dying", Unprobed)
    assert summary["cases"] == 20
    assert summary["verdicts"]["dies crash"] + summary["verdicts"]["dies bitwise"] == 20
    known = {verdict: count for verdict, count in summary["verdicts"].items() if verdict.startswith("falls")}
    assert known == whole["verdicts"]
    assert {**summary["coverage"], "rules": {}} == {**whole["coverage"], "rules": {}}


@pytest.mark.slow
def test_an_engine_that_hangs_does_not_stop_the_campaign(tmp_path):
    summary = run(replace(CONFIG, engines=("hangs",), timeout_s=2, count=20), tmp_path / "campaign")
    assert [finding["verdict"] for finding in summary["findings"]] in (["timeout"], [])
    assert summary["cases"] == 20
    assert summary["verdicts"].get("hangs timeout", 0) == sum(len(finding["cases"]) for finding in summary["findings"])


@pytest.mark.slow
def test_a_process_that_others_code_ends_after_its_call_is_put_down_to_that(tmp_path):
    summary = run(replace(CONFIG, engines=("right", "xla:late"), count=6), tmp_path / "campaign", Unprobed)
    (found,) = summary["findings"]
    assert (found["engines"], found["verdict"]) == (("xla:late",), "crash")
    assert found["message"].startswith("the process was killed by SIGABRT ")
    crashes = len(found["cases"])  # while the judge is tried on it, which is not every case
    assert summary["verdicts"] == {"right bitwise": 6, "xla:late bitwise": 6 - crashes, "xla:late crash": crashes}


@pytest.mark.slow
def test_a_process_that_others_code_ends_while_the_next_case_is_drawn_does_not_end_the_campaign(tmp_path):
    summary = run(replace(CONFIG, engines=("right", "xla:later"), count=3), tmp_path / "campaign", Unprobed)
    (found,) = summary["findings"]
    # The others were drawn together before either was run.
    assert (found["engines"], found["verdict"], found["cases"]) == (("xla:later",), "crash", (0,))
    assert found["message"].startswith("the process was killed by SIGABRT while case 1 was drawn")
    assert summary["verdicts"] == {"right bitwise": 3, "xla:later bitwise": 2, "xla:later crash": 1}


@pytest.mark.slow
def test_a_process_that_an_earlier_case_damaged_is_put_down_to_that(tmp_path):
    summary = run(replace(CONFIG, engines=("cpu",), count=7), tmp_path / "campaign", Unprobed)
    (found,) = summary["findings"]
    assert (found["engines"], found["verdict"], found["cases"]) == (("cpu:check_memory=on",), "crash", (0,))
    assert summary["verdicts"] == {"cpu bitwise": 6, "cpu crash": 1}


def _crash(number, engine="cpu:opt=0"):
    return CaseFailure(number, engine, "crash", "killed in run", "run", "", [], [], [])


_CHECKED = "cpu:opt=0,check_memory=on"


@pytest.mark.parametrize(
    ("ended", "found", "guilty", "asked"),
    [
        (_crash(7), {7: _CHECKED}, (7, "cpu:opt=0"), [[7]]),
        (_crash(7, "reference"), {7: _CHECKED}, (7, _CHECKED), [[7]]),
        (_crash(7, "cpu:opt=0,fusion=off"), {7: _CHECKED}, (7, _CHECKED), [[7]]),
        (_crash(7), {6: _CHECKED}, (6, _CHECKED), [[7], [5, 6]]),
        (_crash(7), {}, (7, "cpu:opt=0"), [[7], [5, 6]]),
        (_crash(5), {}, (5, "cpu:opt=0"), [[5]]),
        (replace(_crash(7), verdict="timeout"), {6: _CHECKED}, (7, "cpu:opt=0"), []),
    ],
)
def test_the_end_of_a_process_is_put_down_to_who_ends_it_with_checks_on(ended, found, guilty, asked):
    numbers = []

    def again(engines, cases):
        assert engines == [_CHECKED]
        numbers.append(cases)
        wrong = CaseFailure(cases[0], _CHECKED, "wrong", "", "0", "", [], [], [])
        return [wrong, *(_crash(number, found[number]) for number in cases if number in found)]

    failure = attribute_crash(ended, ["cpu:opt=0"], [5, 6, 7, 8], again)
    assert ((failure.number, failure.engine), numbers) == (guilty, asked)


def test_engines_without_checks_are_not_asked_again():
    ended = _crash(7, "xla")
    assert attribute_crash(ended, ["xla"], [5, 6, 7], None) is ended


class _StopError(Exception):
    pass


@pytest.mark.slow
def test_a_campaign_that_is_stopped_does_not_wait_for_an_engine_that_hangs(tmp_path):
    def observe(progress, *_):
        if progress.done:
            raise _StopError

    begin = time.monotonic()
    with pytest.raises(_StopError):
        campaign.run(replace(CONFIG, engines=("stalls",)), Unprobed(), tmp_path / "campaign", observe=observe)
    assert time.monotonic() - begin < CONFIG.timeout_s / 2


class Unknown(Unprobed):
    """Programs that the reference cannot evaluate."""

    def drawing(self, config, support):
        return {"drawer": "broken_engines:draw_what_the_reference_cannot_evaluate"}


@pytest.mark.slow
def test_what_the_reference_cannot_evaluate_is_a_finding_and_the_campaign_goes_on(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    config = replace(CONFIG, count=20)
    summary = run(config, tmp_path / "campaign", Unknown)
    (found,) = summary["findings"]
    assert (found["engines"], found["verdict"], found["cases"]) == (("reference",), "crash", tuple(range(1, 20, 2)))
    assert "elided" in found["message"]
    assert summary["verdicts"] == {"right bitwise": 10, "reference crash": 10}


@pytest.mark.slow
def test_what_an_engine_does_not_support_is_not_drawn(tmp_path):
    run(replace(CONFIG, engines=("refuses",), count=20), tmp_path / "campaign")
    banned = json.loads((tmp_path / "campaign" / "support.json").read_text())["banned"]
    # A complex matrix is positive definite by way of its conjugate, which takes a negation.
    assert {opcode for opcode, kind in of_the_profile(banned) if kind[0] != "c"} == {"negate"}


@pytest.mark.slow
def test_a_campaign_is_resumed_where_it_was_left(tmp_path):
    whole = run(replace(CONFIG, count=40), tmp_path / "whole")
    run(replace(CONFIG, count=20), tmp_path / "parts")
    resumed = run(replace(CONFIG, count=40), tmp_path / "parts")
    assert resumed["cases"] == 40
    assert resumed["coverage"] == whole["coverage"]


@pytest.mark.slow
def test_a_campaign_that_is_to_go_further_leaves_no_case_out(tmp_path):
    whole = run(replace(CONFIG, count=50), tmp_path / "whole", Unprobed)
    run(replace(CONFIG, count=30), tmp_path / "parts", Unprobed)
    assert json.loads((tmp_path / "parts" / "progress.json").read_text())["done"] == [[0, 30]]
    resumed = run(replace(CONFIG, count=50), tmp_path / "parts", Unprobed)
    assert resumed["cases"] == 50
    assert resumed["coverage"] == whole["coverage"]


@pytest.mark.slow
def test_workers_do_not_change_what_is_drawn(tmp_path):
    one = run(replace(CONFIG, count=60), tmp_path / "one", Unprobed)
    two = run(replace(CONFIG, count=60, workers=2), tmp_path / "two", Unprobed)
    assert one["coverage"] == two["coverage"]


@pytest.mark.slow
def test_a_disk_that_is_full_is_no_finding_and_the_campaign_goes_on_later(tmp_path, monkeypatch):
    config, write = replace(CONFIG, count=20), atomic.write
    full = Outcome(
        "raised", "7 right run", error="RecordsLost BenchError Exception", message="[Errno 28] No space left on device"
    )

    def fill(path, data):
        if path.name == "progress.json":
            raise OSError(28, "No space left on device", str(path))
        write(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(Worker, "run", lambda *_, **__: full)
        with pytest.raises(BenchError, match=r"a worker cannot go on: .Errno 28. No space left on device"):
            run(config, tmp_path, Unprobed)
    with monkeypatch.context() as patch:
        patch.setattr(atomic, "write", fill)
        with pytest.raises(BenchError, match=r"No space left on device: .*progress.json.*; .* run it again"):
            run(config, tmp_path, Unprobed)
    assert run(config, tmp_path, Unprobed)["cases"] == 20


@pytest.mark.parametrize(
    ("name", "content", "remedy"),
    [
        ("progress.json", "{}", "remove it, and all its cases are run again"),
        ("progress.json", "[]", "remove it, and all its cases are run again"),
        ("progress.json", '{"done": [[0]], "cases": 1, "instructions": 1, "elapsed_s": 1}', "remove it"),
        ("progress.json", '{"done": [], "cases": "one", "instructions": 1, "elapsed_s": 1}', "remove it"),
        ("progress.json", '{"done": [', "remove it"),
        ("support.json", "{}", "remove it, and it is found out again"),
        ("support.json", "[]", "remove it, and it is found out again"),
        ("support.json", '{"banned": ["abs"]}', "remove it"),
        ("campaign.json", "nothing", "give a new folder"),
        ("campaign.json", "[" * 50_000, "give a new folder"),
        ("findings/findings.json", "{}", "give a new folder"),
        ("findings/findings.json", '[{"name": "000-wrong"}]', "give a new folder"),
        ("findings/findings.json", "[", "give a new folder"),
    ],
)
def test_a_damaged_file_of_a_campaign_is_named(tmp_path, name, content, remedy):
    identity = {"engines": ["right"], "seed": 0, "profile": "ratchet", "varied": True}
    for known, whole in (("campaign.json", json.dumps(identity)), ("support.json", '{"banned": []}')):
        (tmp_path / known).write_text(whole)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(content)
    with pytest.raises(BenchError, match=f"{tmp_path / name}: is damaged: .*; {remedy}"):
        run(CONFIG, tmp_path)
