"""What fails of our own in one program of a campaign is a finding, whatever it is and wherever; the others go on."""

from __future__ import annotations

import errno
import json
import os
import traceback
from pathlib import Path
from types import SimpleNamespace

import pytest
from in_process import InProcess

from reports.fuzzing import page
from xlabench.bundles import saving
from xlabench.commands import campaign_options
from xlabench.errors import BenchError, ExitCode
from xlabench.fuzzing import (
    asking,
    campaign,
    case_failure,
    described,
    findings,
    fuzz,
    fuzz_jobs,
    mutate,
    patients,
    worker_pool,
)
from xlabench.fuzzing.config import Config
from xlabench.fuzzing.corpus import Entry
from xlabench.fuzzing.fuzz import Generated
from xlabench.judging import bounds
from xlabench.judging.bounds import Bounds
from xlabench.worker import Outcome, Worker

HERE = str(Path(__file__).resolve().parents[1])
FAULTS = {
    "value": ValueError("no such thing"),
    "recursion": RecursionError("maximum recursion depth exceeded"),
    "memory": MemoryError(),
    "assertion": AssertionError("this cannot be"),
    "system": OSError(errno.EIO, os.strerror(errno.EIO)),
    "bench": BenchError("it is not to be written; give another"),
}
STAGES = {
    "drawing": (described, "made_of", "right", "generate"),
    "judging": (asking, "judged", "right", "judge of reference"),
    "tracing": (fuzz_jobs, "_rules", "right", "trace"),
    "leaving a finding": (fuzz_jobs, "_keep", "spoils", "keep"),
    "reading a finding": (case_failure, "left_at", "spoils", "reading what a worker left"),
    "telling findings apart": (findings, "signature_of", "spoils", "following up the verdict wrong of spoils"),
    "narrowing": (Generated, "narrowed", "spoils", "following up the verdict wrong of spoils"),
    "reducing and blaming": (findings, "triage", "spoils", "following up the verdict wrong of spoils"),
    "saving a bundle": (saving, "save", "spoils", "following up the verdict wrong of spoils"),
    "following up an end": (worker_pool, "drawer_of", "dies", "following up the crash of dies"),
    "looking for who did it": (worker_pool, "attribute_crash", "dies", "looking for what is behind the crash of dies"),
}
"""What fails in each stage, the engine that brings a campaign there, and what the step is called."""
_LOST = ("leaving a finding", "reading a finding", "following up an end")
"""Where nothing is left of what was found about an engine but its verdict."""


class Unprobed(Generated):
    """The same small program again and again, of which every engine supports all."""

    def support(self, config, support_probe):
        return {"banned": []}

    def drawing(self, config, support):
        return {"drawer": "broken_engines:draw_with_the_same_inputs"}


class Here(InProcess):
    """Says what is raised in it, as a worker does; the engine `dies` ends it once."""

    ended: list[str] = []  # noqa: RUF012 - emptied by the fixture

    def run(self, job, arguments, **times):
        if "dies" in arguments["engines"] and not self.ended:
            self.ended.append("dies")
            return Outcome("died", "0 dies run", message="the process was killed by SIGABRT")
        try:
            return super().run(job, arguments, **times)
        except Exception as error:  # noqa: BLE001 - as in a worker
            names = " ".join(kind.__name__ for kind in type(error).__mro__)
            return Outcome("raised", self.stages[-1], error=names, message=str(error), output=traceback.format_exc())


@pytest.fixture(autouse=True)
def _here(monkeypatch):
    monkeypatch.setattr(Here, "ended", [])
    monkeypatch.setattr(worker_pool, "Worker", Here)
    monkeypatch.syspath_prepend(HERE)
    monkeypatch.setattr(findings, "triage", lambda *_given, **_options: None)
    monkeypatch.setattr(saving, "save", lambda _failure, folder, **_: saving.Saved(folder, verified=True))


def plant(monkeypatch, owner, name, error, *, times=1):
    """Let a function raise an error so many times, then do its work."""
    kept, left = getattr(owner, name), [error] * times

    def failing(*given, **named):
        if left:
            raise left.pop()
        return kept(*given, **named)

    monkeypatch.setattr(owner, name, failing)


def run(folder, engine, *, count=3):
    config = Config((engine,), count=count, max_probes=1, factory="broken_engines:engine")
    return campaign.run(config, Unprobed(), folder, observe=lambda *_: None)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("stage", STAGES)
def test_an_exception_in_any_stage_of_a_program_is_a_finding(stage, fault, tmp_path, monkeypatch):
    owner, name, engine, step = STAGES[stage]
    error = FAULTS[fault]
    plant(monkeypatch, owner, name, error)
    summary = run(tmp_path / "campaign", engine)
    own = [one for one in summary["findings"] if one["verdict"] == "error"]
    (found,) = own
    assert (found["engines"], found["cases"]) == (("xlabench",), (0,))
    assert found["message"].startswith((type(error).__name__, f"xlabench.errors.{type(error).__name__}"))
    assert found["note"].startswith(f"in: {step}")
    assert "in failing" in found["traceback"]
    folder = tmp_path / "campaign" / found["bundle"]
    assert "in failing" in (folder / "traceback.txt").read_text()
    entry = json.loads((folder / "error.json").read_text())
    assert entry["drawing"] == {"drawer": "broken_engines:draw_with_the_same_inputs"}
    assert entry["number"] == 0
    is_known = stage not in ("drawing", "reading a finding")
    assert (folder / "module.hlo").exists() == is_known
    assert not is_known or "negate(x)" in (folder / "module.hlo").read_text()
    others = [one["verdict"] for one in summary["findings"] if one["verdict"] != "error" and 0 in one["cases"]]
    assert others == {"right": [], "spoils": ["wrong"], "dies": ["crash"]}[engine][: stage not in _LOST]
    assert (summary["cases"], summary["verdicts"]["xlabench error"]) == (3, 1)
    again = run(tmp_path / "campaign", engine, count=5)
    assert (again["cases"], again["verdicts"]["xlabench error"]) == (5, 1)
    assert [one for one in again["findings"] if one["verdict"] == "error"] == own


def test_a_reference_that_breaks_its_own_bounds_is_a_finding_beside_that_about_the_engine(tmp_path, monkeypatch):
    engines = pytest.importorskip("broken_engines").Broken
    checked, given = bounds.checked, engines.remembered
    monkeypatch.setattr(
        bounds, "checked", lambda found, own: checked([Bounds(b.value + 1, b.error) for b in found], own)
    )
    monkeypatch.setattr(engines, "remembered", lambda *results: [one + 9 for one in given(*results)])
    monkeypatch.setattr(patients, "examine", lambda _: None)
    summary = run(tmp_path / "campaign", "right")
    own = [one["message"] for one in summary["findings"] if one["verdict"] == "error"]
    assert own == ["JudgeError: about negate: the reference's own result 0 lies outside of its bounds"]
    assert summary["verdicts"]["right wrong"] == summary["verdicts"]["xlabench error"] == 3


def test_one_kind_is_one_finding_with_its_cases_on_the_page_and_in_the_exit_code(tmp_path, monkeypatch):
    plant(monkeypatch, asking, "judged", ValueError("no such <thing>"), times=2)
    plant(monkeypatch, fuzz_jobs, "_rules", TypeError("another kind"))
    summary = run(tmp_path / "campaign", "right", count=4)
    assert [(one["name"], one["cases"]) for one in summary["findings"]] == [("000-error", (0, 1)), ("001-error", (2,))]
    assert summary["verdicts"]["xlabench error"] == 3
    shown = page(summary)
    assert shown.count("Traceback (most recent call last)") == 2
    assert "no such &lt;thing&gt;" in shown
    assert 'href="findings/000-error/traceback.txt"' in shown
    assert '<td>xlabench</td><td><span class="v bad">error</span></td><td class="n">3</td>' in shown


@pytest.mark.parametrize(("is_interrupted", "code"), [(False, ExitCode.INTERNAL), (True, ExitCode.INTERRUPTED)])
def test_a_campaign_in_which_we_failed_ends_as_a_bug_of_ours(is_interrupted, code, tmp_path, monkeypatch, capsys):
    plant(monkeypatch, asking, "judged", ValueError("no such thing"))
    summary = run(tmp_path / "campaign", "right")
    monkeypatch.setattr(campaign, "run", lambda *_given, **_named: {**summary, "interrupted": is_interrupted})
    options = {"out": tmp_path / "campaign", "seed": 0, "count": 3, "budget": None, "workers": 1, "timeout": 60.0}
    options |= {"memory_limit": 8192, "max_probes": 0, "as_json": False}
    assert campaign_options.run(options, ("right",), Unprobed(), name="fuzzing") is code
    assert "ValueError: no such thing" in capsys.readouterr().out
    assert "Traceback" in (tmp_path / "campaign" / "index.html").read_text()


def _full(*_given, **_named):
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    raise BenchError(f"findings: cannot be written: {error}") from error


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (saving, "save"),
        (findings.atomic, "write"),
        (fuzz_jobs, "write_arrays"),
        (findings.own_failures.atomic, "write_all"),
    ],
)
def test_a_disk_that_is_full_ends_the_campaign_which_goes_on_later(owner, name, tmp_path, monkeypatch):
    whole = tmp_path / "campaign"
    with monkeypatch.context() as patch:
        if name == "write_all":
            plant(patch, case_failure, "left_at", ValueError("something of our own, which cannot be kept"))
        run(whole, "spoils", count=1) if name == "write" else None
        patch.setattr(owner, name, _full)
        with pytest.raises(BenchError, match=r"No space left on device.*make room, and run"):
            run(whole, "spoils")
    summary = run(whole, "spoils")
    assert summary["cases"] == 3
    assert [(one["verdict"], sorted(one["cases"])) for one in summary["findings"]] == [("wrong", [0, 1, 2])]


def test_ctrl_c_is_no_failure_of_our_own(tmp_path, monkeypatch):
    plant(monkeypatch, findings, "triage", KeyboardInterrupt())
    assert run(tmp_path / "campaign", "spoils")["interrupted"]
    summary = run(tmp_path / "campaign", "spoils")
    assert [one["verdict"] for one in summary["findings"]] == ["wrong"]


def test_a_question_beforehand_that_we_fail_on_is_a_finding_and_not_drawn(tmp_path, monkeypatch):
    raised = Outcome("raised", "abs f32", error="ValueError Exception", message="no such thing", output="Traceback")
    outcomes = iter([raised, Outcome("answered", "abs f64", value={"unsupported": []})])
    question = ("right", "abs", [("abs", "f32"), ("abs", "f64")])
    config = Config(("right",), count=1, factory="broken_engines:engine")
    asked = SimpleNamespace(run=lambda *_given, **_named: next(outcomes))
    unsupported, fatal = fuzz._probe(asked, config, question)
    assert (unsupported, fatal) == (set(), [("f32", "error", "ValueError: no such thing", "Traceback")])
    support = {"banned": [["abs", "f32"]], "fatal": [["right", "abs", *fatal[0]]]}
    monkeypatch.setattr(Unprobed, "support", lambda *_: support)
    for count in (1, 2):
        (found,) = run(tmp_path / "campaign", "right", count=count)["findings"]
        assert (found["verdict"], found["cases"], found["traceback"]) == ("error", (-1,), "Traceback")


def test_a_program_of_a_corpus_that_we_fail_on_is_a_finding_even_of_that_alone(tmp_path):
    bug = Outcome("raised", "reference", error="ValueError Exception", message="no such thing", output="Traceback")
    bad = Outcome("raised", "reference", error="ParseError CompilerError Exception", message="a.hlo:1: no program")
    entries = [Entry("a.hlo", "a.hlo", None, ""), Entry("b.hlo", "b.hlo", None, "")]
    source, config = mutate.Mutated(entries, 1), Config(("right",), count=3)
    support = source.support(config, SimpleNamespace(each=lambda _ask, _entries: [bad, bug]))
    assert support["skipped"] == {"a.hlo": "a.hlo:1: no program", "b.hlo": "no such thing"}
    (tmp_path / "support.json").write_text(json.dumps(support))
    identity = {"engines": ["right"], "seed": 0, **source.identity}
    (tmp_path / "campaign.json").write_text(json.dumps(identity))
    summary = campaign.run(config, source, tmp_path, observe=lambda *_: None)
    (found,) = summary["findings"]
    assert (found["verdict"], found["cases"], summary["cases"]) == ("error", (-1,), 0)
    assert "b.hlo" in found["note"]


@pytest.mark.slow
def test_a_generator_that_ends_hangs_or_raises_in_a_worker_costs_one_program_each(tmp_path, monkeypatch):
    monkeypatch.setattr(worker_pool, "Worker", Worker)
    monkeypatch.setenv("PYTHONPATH", HERE)
    drawing = {"drawer": "broken_engines:draw_what_we_fail_on"}
    monkeypatch.setattr(Unprobed, "drawing", lambda *_: drawing)
    config = Config(("right",), count=6, max_probes=0, timeout_s=3, factory="broken_engines:engine")
    summary = campaign.run(config, Unprobed(), tmp_path / "campaign", observe=lambda *_: None)
    assert summary["verdicts"] == {"right bitwise": 3, "xlabench error": 3}
    assert summary["cases"] == 6
    assert [(one["verdict"], one["cases"]) for one in summary["findings"]] == [("error", (n,)) for n in (0, 2, 4)]
    died, raised, hung = (one["message"] for one in summary["findings"])
    assert "SIGABRT" in died
    assert raised == "ValueError: no such thing"
    assert "no result after 3 s" in hung
    again = campaign.run(config, Unprobed(), tmp_path / "campaign", observe=lambda *_: None)
    assert (again["cases"], again["findings"]) == (6, summary["findings"])
