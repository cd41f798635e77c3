"""What is kept of a campaign's findings: the smallest case of each."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import compiler
from xlabench.bundles import bundle, saving
from xlabench.cases import inputs
from xlabench.diagnosis import blame
from xlabench.diagnosis.budget import OutOfTime
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.probe import Judgement
from xlabench.diagnosis.triage import Triaged
from xlabench.diagnosis.unsound import told_about
from xlabench.fuzzing import asking, sharing
from xlabench.fuzzing import findings as findings_module
from xlabench.fuzzing.case_failure import CaseFailure
from xlabench.fuzzing.findings import Findings
from xlabench.fuzzing.followed_up import FollowedUp
from xlabench.fuzzing.own_failures import OwnFailure
from xlabench.fuzzing.signature import ENDED
from xlabench.judging.self_check import JudgeError
from xlabench.survival import caught

_LARGE = """ENTRY main { x = f32[12,10] parameter(0) y = f32[12,10] parameter(1) s = f32[12,10] add(x, y)
  t = f32[12,10] tanh(s) u = f32[12,10] multiply(t, y) m = f32[12,10] negate(u) z = f32[12,10] negate(m)
  ROOT r = (f32[12,10], f32[12,10]) tuple(z, t) }"""
_SMALL = "ENTRY main { p = f16[4] parameter(0) q = f16[4] negate(p) ROOT z = f16[4] negate(q) }"


def _unreduced(number, text):
    module = compiler.parse(text)
    given = inputs.generate(module, 1)
    return CaseFailure(number, "cpu:threads=1", "wrong", "", "0", text, given, compiler.interpret(module, *given), [])


@pytest.mark.slow
def test_a_smaller_case_takes_the_place_of_a_larger_one(tmp_path, mutants):
    assert "negate_negate" in mutants
    known = {"factory": "mutants:negate_negate"}
    Findings(tmp_path, max_probes=1, **known).add(_unreduced(1, _LARGE))
    findings = Findings(tmp_path, max_probes=9, **known)
    (first,) = findings.all
    findings.add(_unreduced(2, _SMALL))
    (smallest,) = findings.all
    assert first.instructions > smallest.instructions == 2
    assert (smallest.name, smallest.cases) == (first.name, (1, 2))
    assert [folder.name for folder in tmp_path.iterdir() if folder.is_dir()] == [smallest.bundle.rpartition("/")[2]]
    assert Findings(tmp_path).all == [smallest]


@pytest.mark.slow
def test_a_pass_that_few_instructions_show_is_blamed_and_nothing_more_is_reduced(tmp_path, mutants):
    assert "negate_negate" in mutants
    findings = Findings(tmp_path, max_probes=99, factory="mutants:negate_negate")
    findings.add(_unreduced(1, _SMALL))
    (first,) = findings.all
    findings.add(_unreduced(2, _LARGE))
    assert findings.all == [replace(first, cases=(1, 2))]
    again = Findings(tmp_path, max_probes=99)
    blamed = blame.Blame("pass", "algebraic-simplification", "wrong", rule="negate_negate")
    assert again._is_small("nvptx:sim", blamed)
    assert not again._is_small("nvptx:sim", replace(blamed, rule="abs_abs"))
    assert not again._is_small("nvptx:sim", replace(blamed, stage="kernel"))


class OfOneCause(Findings):
    """Findings whose cases are small already, and all of one rewrite."""

    def _triaged(self, failure, _budget):
        return FollowedUp(failure, "pass/rewrite", 1)


def test_engines_that_fail_on_the_same_case_leave_a_bundle(tmp_path, monkeypatch):
    def save(_failure, folder, **_):
        folder.mkdir(parents=True, exist_ok=True)
        return saving.Saved(folder, verified=True)

    monkeypatch.setattr(saving, "save", save)
    findings = OfOneCause(tmp_path / "findings", max_probes=1)
    medium = "ENTRY main { x = f32[4] parameter(0) y = f32[4] abs(x) z = f32[4] abs(y) ROOT r = f32[4] abs(z) }"
    for number, text in ((1, _LARGE), (2, medium), (2, _SMALL)):
        findings.add(_unreduced(number, text))
        (found,) = findings.all
        assert [tmp_path / found.bundle] == [
            instruction_id for instruction_id in (tmp_path / "findings").iterdir() if instruction_id.is_dir()
        ]
    assert (Path(found.bundle).name, found.instructions) == ("000-wrong-by-2-again", 2)


def test_another_engine_is_asked_about_a_bundle_that_nobody_had_an_answer_for(tmp_path, monkeypatch):
    class Crashing:
        def __init__(self, *_):
            self.judge = lambda _: Judgement("crash", "")

        __enter__, __exit__ = (lambda self: self), (lambda *_: None)

    monkeypatch.setattr(sharing, "Prober", Crashing)
    monkeypatch.setattr(saving, "_verify", lambda *_: "")
    findings = OfNoAnswer(tmp_path / "findings", max_probes=1)
    for number, engine in ((1, "cpu"), (2, "nvptx:sim")):
        case = replace(_unreduced(number, _SMALL), engine=engine, verdict="crash", key="run", expected=[])
        findings.add(case)
    (found,) = findings.all
    assert (found.engines, found.cases) == (("cpu", "nvptx:sim"), (1, 2))
    assert bundle.load(tmp_path / found.bundle).is_unanswered


class OfNoAnswer(Findings):
    """Findings of kernels that are small already."""

    def _triaged(self, failure, _budget):
        return FollowedUp(failure, "kernel/negate", 1)


@pytest.mark.parametrize("verdict", ["wrong", "timeout", "crash", "compile-error"])
def test_a_case_whose_time_is_up_before_anybody_is_to_blame_is_kept_and_says_so(verdict, tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "_verify", lambda *_: "")
    monkeypatch.setattr(findings_module, "triage", _out_of_time)
    findings = Findings(tmp_path / "findings", max_probes=9)
    texts = [_SMALL, _SMALL.replace("negate", "tanh")]
    for number, text in enumerate(texts):
        key = {"wrong": "0", "compile-error": f"error {number}"}.get(verdict, "run")
        findings.add(replace(_unreduced(number, text), verdict=verdict, key=key))
    assert [found.cases for found in findings.all] == [(0,), (1,)]
    for found, text in zip(findings.all, texts, strict=True):
        kept = bundle.load(tmp_path / found.bundle)
        assert (kept.module_text, kept.verdict) == (text, verdict)
        assert "the time for looking into it was up" in kept.message


def test_a_case_that_became_smaller_before_its_time_was_up_is_kept_as_small_and_says_so(tmp_path, monkeypatch):
    case = _unreduced(1, _SMALL)
    small = Triaged(
        case.engine, "wrong", _SMALL, case.inputs, case.expected, case.expected, "", "pass/p", 3, unfinished=True
    )
    monkeypatch.setattr(saving, "_verify", lambda *_: "")
    monkeypatch.setattr(findings_module, "triage", lambda *_, **__: small)
    findings = Findings(tmp_path / "findings", max_probes=9)
    findings.add(_unreduced(1, _LARGE))
    kept = bundle.load(tmp_path / findings.all[0].bundle)
    assert (kept.module_text, kept.message) == (_SMALL, "pass/p; the time for looking into it was up")


def test_what_another_engine_is_not_asked_in_time_is_a_finding_of_its_own(tmp_path, monkeypatch):
    class Late:
        def __init__(self, *_):
            self.judge = _out_of_time

        __enter__, __exit__ = (lambda self: self), (lambda *_: None)

    monkeypatch.setattr(sharing, "Prober", Late)
    monkeypatch.setattr(saving, "_verify", lambda *_: "")
    findings = OfNoAnswer(tmp_path / "findings", max_probes=1)
    for number, engine in ((1, "cpu"), (2, "nvptx:sim")):
        findings.add(replace(_unreduced(number, _SMALL), engine=engine, verdict="crash", key="run"))
    assert [found.engines for found in findings.all] == [("cpu",), ("nvptx:sim",)]


def _out_of_time(*_, **__):
    raise OutOfTime


_ANGLE = "ENTRY main { x = f32[4] parameter(0) y = f32[4] parameter(1) ROOT z = f32[4] atan2(x, y) }"
_OTHER = "ENTRY main { x = f32[4] parameter(0) y = f32[4] tanh(x) ROOT z = f32[4] atan2(y, y) }"


def test_a_known_bug_is_named_and_does_not_hide_what_holds_more(tmp_path, monkeypatch):
    """Nor is each case looked at that may be it: of those counted to it the second, third and fifth are."""
    looked_at = []

    class OnXla(Findings):
        def _triaged(self, failure, _budget):
            looked_at.append(failure.number)
            return FollowedUp(failure, "engine/xla", 1)

    monkeypatch.setattr(saving, "save", lambda _failure, folder, **_: saving.Saved(folder, verified=True))
    findings, denormal = OnXla(tmp_path / "findings", max_probes=1), np.full(4, 9e-41, np.float32)

    def add(number, text, value):
        given = [value] * text.count("parameter(")
        findings.add(CaseFailure(number, "xla", "wrong", "", "0", text, given, [value], [value]))

    for number in range(1, 8):
        add(number, _ANGLE, denormal)
    assert [(found.bug, len(found.cases)) for found in findings.all] == [("angle_of_denormals", 7)]
    assert looked_at == [1, 2, 3, 5]
    for number in range(8, 11):
        add(number, _OTHER, np.ones(4, np.float32))
    assert [(found.bug, found.cases[-1]) for found in findings.all] == [("angle_of_denormals", 8), ("", 10)]
    assert findings.all == OnXla(tmp_path / "findings").all


def test_one_pass_of_xla_has_many_bugs(tmp_path, monkeypatch):
    """Where of ours one pass or rewrite that is blamed twice is one finding."""

    class OfOnePass(Findings):
        def _triaged(self, failure, _budget):
            return FollowedUp(failure, "pass/simplification/algsimp", 1)

    monkeypatch.setattr(saving, "save", lambda _failure, folder, **_: saving.Saved(folder, verified=True))
    for engine, count in (("cpu", 1), ("xla", 2)):
        findings = OfOnePass(tmp_path / engine, max_probes=1)
        for number, opcode in enumerate(("tanh", "sine")):
            text = f"ENTRY main {{ x = f32[4] parameter(0) ROOT z = f32[4] {opcode}(x) }}"
            findings.add(replace(_unreduced(number, text), engine=engine))
        assert len(findings.all) == count


@pytest.mark.parametrize("phase", sorted(ENDED))
def test_processes_that_end_once_and_not_again_are_one_finding_and_hide_no_other(phase, tmp_path, monkeypatch, saved):
    monkeypatch.setattr(findings_module, "triage", lambda *_, **__: None)
    findings = Findings(tmp_path / "findings", max_probes=9)
    for number, text in enumerate((_LARGE, _SMALL, _LARGE.replace("tanh", "cosine"))):
        findings.add(replace(_unreduced(number, text), verdict="crash", key=phase))
    (once,) = findings.all
    assert once.cases == (0, 1, 2)
    again = OfOneCause(tmp_path / "findings", max_probes=9)
    again.add(replace(_unreduced(3, _SMALL), verdict="crash", key=phase))
    assert [found.cause for found in again.all] == ["", "pass/rewrite"]


@pytest.mark.parametrize(("verdict", "key", "is_reduced"), [("crash", "run", True), ("wrong", "0", False)])
def test_a_reference_that_breaks_down_is_reduced_by_that(verdict, key, is_reduced, tmp_path, monkeypatch, saved):
    asked = []
    monkeypatch.setattr(findings_module, "triage", lambda setup, *_, **__: asked.append(setup.engine))
    findings = Findings(tmp_path / "findings", max_probes=9)
    findings.add(replace(_unreduced(0, _SMALL), engine="reference", verdict=verdict, key=key))
    assert asked == ["reference"] * is_reduced
    assert len(findings.all) == 1


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_one_error_is_one_finding_where_it_ends_a_run_that_a_campaign_calls_a_refusal(
    is_elsewhere, tmp_path, monkeypatch, saved
):
    def small(_setup, text, given, **_):
        function = "another" if is_elsewhere and text == _LARGE else "emit"
        said = f"'name'\nTraceback:\n  File \"/there/pure.py\", line 7, in {function}\nKeyError: 'name'"
        return Triaged("cpu", "crash", text, given, given, given, said, f"kernel/{len(text)}", 1)

    monkeypatch.setattr(findings_module, "triage", small)
    findings = Findings(tmp_path / "findings", max_probes=9)
    for number, text in enumerate((_LARGE, _SMALL)):
        findings.add(replace(_unreduced(number, text), verdict="compile-error", key="KeyError in pure.py:emit: #"))
    assert len(findings.all) == 1 + is_elsewhere


def test_an_error_that_is_another_one_once_it_is_reduced_is_what_its_program_shows(tmp_path, monkeypatch, saved):
    """The words of an error may be of several lines, of which the first tells it."""
    frame = '  File "/there/pure.py", line 7, in emit\n    text\n    ^^^^'
    said = f"'name'\nTraceback:\n{frame}\nKeyError: 'name'\nin line 3\n"

    def small(_setup, text, given, **_):
        return Triaged("cpu", "compile-error", text, given, given, given, said, f"kernel/{len(text)}", 1)

    monkeypatch.setattr(findings_module, "triage", small)
    findings = Findings(tmp_path / "findings", max_probes=9)
    keys = ("KeyError in pure.py:emit: 'name'", "ShapeError in late.py:plan: it is late", "IndexError in b.py:plan: #")
    for number, key in enumerate(keys):
        findings.add(replace(_unreduced(number, _LARGE), verdict="compile-error", key=key))
    (one,) = findings.all
    assert (one.signature, one.cases) == (keys[:1], (0, 1, 2))


RAISING = {
    "chosen words": lambda: compiler.ir.shape_rules.require(0, "3 operands are too few"),
    "other words": lambda: compiler.ir.shape_rules.require(0, "no such dimension"),
    "Python's own": lambda: compiler.parse(None),
}
"""What raises, in a function of the compiler."""


def own_and_engines(name):
    """The same error as one of our own, and as that of an engine."""
    try:
        RAISING[name]()
    except Exception as error:  # noqa: BLE001 - whatever it is
        bug, answer = caught(RAISING[name]), asking.raised(error)
    return OwnFailure(3, "generate", bug), replace(_unreduced(4, _SMALL), verdict="compile-error", key=answer.key)


@pytest.mark.parametrize("is_own_first", [True, False])
@pytest.mark.parametrize("other", RAISING)
@pytest.mark.parametrize("name", RAISING)
def test_an_error_that_an_engine_raises_too_is_one_finding_with_a_program(name, other, is_own_first, tmp_path, saved):
    findings, (own, _), (_, engines) = Findings(tmp_path), own_and_engines(name), own_and_engines(other)
    for add in (lambda: findings.add_own(own, {}), lambda: findings.add(engines))[:: 1 if is_own_first else -1]:
        add()
    assert len(findings.all) == 1 + (name != other)
    if name == other:
        (one,) = findings.all
        assert (one.verdict, set(one.cases)) == ("compile-error", {3, 4})
        assert one.instructions == 2
        assert not one.traceback
        findings.add_own(own, {})
        findings.add(engines)
        assert len(findings.all) == 1
    assert {folder.name for folder in tmp_path.iterdir() if folder.is_dir()} == {
        Path(one.bundle).name for one in findings.all
    }


@pytest.mark.parametrize("is_own_first", [True, False])
def test_what_the_reference_breaks_down_with_is_what_fails_of_our_own(is_own_first, tmp_path, monkeypatch, saved):
    bug = caught(RAISING["Python's own"])
    own = OwnFailure(3, "generate", bug)
    broken = replace(_unreduced(4, _SMALL), engine="reference", verdict="crash", key="run")

    def small(_setup, text, given, **_):
        return Triaged("reference", "compile-error", text, given, given, given, bug.said, f"reference/{bug.kind}", 1)

    monkeypatch.setattr(findings_module, "triage", small)
    findings = Findings(tmp_path, max_probes=9)
    for add in (lambda: findings.add_own(own, {}), lambda: findings.add(broken))[:: 1 if is_own_first else -1]:
        add()
    (one,) = findings.all
    assert (one.cause, set(one.cases)) == (f"reference/{bug.kind}", {3, 4})


def test_a_rule_that_a_module_breaks_is_told_by_what_the_rule_raises():
    text = "ENTRY e { x = f32[2] parameter(0) ROOT y = f32[3] add(x, x) }"
    keys = set()
    for broken in (text, text.replace("f32[3]", "f32[2]").replace("add(x, x)", "concatenate(x, x), dimensions={7}")):
        try:
            compiler.compile(broken)
        except compiler.CompilerError as error:
            keys.add(asking.raised(error).key.partition(":")[0])
    assert len(keys) == 2


def _wrong_about(opcode):
    """What a judge that is wrong about an opcode raises, as a failure of our own."""
    text = f"ENTRY main {{ x = f32[4] parameter(0) ROOT z = f32[4] {opcode}(x) }}"
    case = Case(compiler.parse(text), (np.ones(4, np.float32),))

    def wrong(_):
        raise JudgeError("it breaks its bounds")

    def work():
        with told_about(case, wrong):
            wrong(case)

    return caught(work)


def test_a_judge_that_is_wrong_about_one_opcode_hides_no_other(tmp_path, saved):
    findings = Findings(tmp_path, max_probes=9)
    for number, opcode in enumerate(("acosh", "tanh", "acosh")):
        findings.add_own(OwnFailure(number, "judge", _wrong_about(opcode)), {})
    assert [(found.cause, found.cases) for found in findings.all] == [("judge/acosh", (0, 2)), ("judge/tanh", (1,))]


def _breaking_down_on(opcode):
    """What a judge that breaks down in one function on any opcode raises, as a failure of our own."""
    text = f"ENTRY main {{ x = f32[4] parameter(0) ROOT z = f32[4] {opcode}(x) }}"
    case = Case(compiler.parse(text), (np.ones(4, np.float32),))

    def breaks(_):
        RAISING["Python's own"]()

    def work():
        with told_about(case, breaks):
            breaks(case)

    return caught(work)


def test_a_judge_that_breaks_down_in_one_function_is_one_finding_on_whatever_opcodes(tmp_path, saved):
    findings = Findings(tmp_path, max_probes=9)
    for number, opcode in enumerate(("acosh", "tanh")):
        findings.add_own(OwnFailure(number, "judge", _breaking_down_on(opcode)), {})
    findings.add_own(OwnFailure(2, "judge", _wrong_about("acosh")), {})
    (one,) = findings.all
    assert (one.cause, one.cases) == ("judge/acosh", (0, 1, 2))


@pytest.mark.parametrize("name", ["IndexError", "ShapeError"])
def test_a_function_in_which_python_raised_one_case_is_known_by_it(name, tmp_path, monkeypatch, saved):
    """Who takes first what is broken is chance; what a function refuses in words of its own is another matter."""

    def small(_setup, text, given, **_):
        place, cause = told_of[text]
        said = f'Traceback:\n  File "/there/given.py", line 7, in {place}\n{name}: no'
        return Triaged("cpu", "compile-error", text, given, given, given, said, cause, 1)

    texts = [_LARGE.replace("tanh", opcode) for opcode in ("tanh", "cosine", "sine", "floor")]
    places = ("group", "plan", "plan", "other")
    causes = ("kernel/slice", "kernel/slice", "kernel/reduce", "kernel/dot")
    told_of = {text: told for text, *told in zip(texts, places, causes, strict=True)}
    monkeypatch.setattr(findings_module, "triage", small)
    for number, (text, place) in enumerate(zip(texts, places, strict=True)):
        key = f"{name} in given.py:{place}: {number}"
        findings = Findings(tmp_path / "findings", max_probes=9)
        findings.add(replace(_unreduced(number, text), verdict="compile-error", key=key))
    assert [one.cases for one in findings.all] == ([(0, 1, 2), (3,)] if name == "IndexError" else [(0, 1), (2,), (3,)])
