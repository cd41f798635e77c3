"""One engine is asked about one program: the worst of its calls is the answer, with the inputs that it came of."""

from pathlib import Path

import numpy as np
import pytest

import compiler
from xlabench.cases.layouts import LAYOUTS
from xlabench.errors import BenchError
from xlabench.fuzzing import asking
from xlabench.fuzzing.asking import Asking, Baseline, call_numbers_on, phase_in, phase_of, raised
from xlabench.fuzzing.generate import Case
from xlabench.judging import needed
from xlabench.judging.needed import basis_of_some

X = np.asarray([1, 2, 3], np.float32)
KINDS = {"special": [np.asarray([1, np.nan, 2], np.float32)], "equal": [np.full(3, 5, np.float32)]}
NEGATE = "HloModule fuzz_1 ENTRY e { x = f32[3] parameter(0) ROOT r = f32[3] negate(x) }"
REVERSE = "HloModule fuzz_1 ENTRY e { x = f32[3] parameter(0) ROOT r = f32[3] reverse(x), dimensions={0} }"
ABS = "HloModule fuzz_1 ENTRY e { x = f32[3] parameter(0) ROOT r = f32[3] abs(x) }"


def case_of(text, **given):
    return Case(6, compiler.parse(text), [X], others=KINDS, **given)


@pytest.fixture
def ask(monkeypatch):
    """Asks a broken engine about all calls of a program; gives the question, whose stages are kept."""
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[1])
    engine = pytest.importorskip("broken_engines").engine

    def asked(spec, text=NEGATE, **given):
        case, baseline, stages = case_of(text, **given), Baseline(), []
        expected = {kind: baseline.expected(case, kind) for kind, _ in case.calls}
        decided = compiler.generate.Decisions()
        made = Asking(case, spec, engine(spec), expected, baseline, stages.append, {}, decided, range(len(case.calls)))
        return made, stages

    return asked


@pytest.mark.parametrize(
    ("spec", "text", "verdict", "key", "kind"),
    [
        ("right", NEGATE, "bitwise", "", ""),
        ("drops", REVERSE, "wrong", "0", ""),
        ("errs-on-nan", NEGATE, "wrong", "0", "special"),
        ("spoils", NEGATE, "wrong", "inputs", ""),
        ("writes-on", NEGATE, "wrong", "held", ""),
        ("forgets", NEGATE, "flaky", "", ""),
        ("errs-beside-others", NEGATE, "flaky", "", ""),
        ("refuses", NEGATE, "unsupported", "UnsupportedError in broken_engines.py:compile: ", ""),
        ("raises", ABS, "compile-error", "RuntimeError in broken_engines.py:compile: cannot select abs", ""),
    ],
)
def test_the_answer_is_what_is_wrong_first_and_with_which_inputs(spec, text, verdict, key, kind, ask):
    question, _ = ask(spec, text)
    answer = question.answer()
    assert (answer.verdict, answer.kind) == (verdict, kind)
    assert answer.key.startswith(key)
    assert (answer.verdict in asking.FINE) == (spec in ("right", "refuses"))


def test_an_engine_that_takes_all_that_is_generated_may_not_refuse(ask, monkeypatch):
    monkeypatch.setattr(asking, "is_complete", lambda spec: spec == "refuses")
    refused, _ = ask("refuses")
    assert refused.answer().verdict == "compile-error"
    assert (refused.results(), refused.raised) == (None, "compile-error")
    changed, _ = ask("refuses", original=compiler.parse(NEGATE))
    assert changed.answer().verdict == "unsupported"


def test_what_is_at_work_is_told_before_it_begins_and_its_time_is_counted(ask):
    question, stages = ask("right")
    question.answer()
    assert stages[:3] == ["6 right compile", "6 right run", "6 reference judge"]
    assert "6 right run@special" in stages
    assert set(question.spent) == {"right compile", "right run", "judging"}


def test_results_that_nobody_judged_say_the_same_or_nothing(ask):
    right, _ = ask("right")
    least = right.of_results(right.results())
    assert (least.verdict, least.message) == ("bitwise", "")
    wrong, _ = ask("drops", REVERSE)
    assert wrong.of_results(wrong.results()) is None
    refused, _ = ask("refuses")
    assert (refused.results(), refused.raised) == (None, "unsupported")
    for spec in ("spoils", "writes-on", "forgets"):
        assert ask(spec)[0].results() is None


def test_a_changed_program_is_held_against_what_its_original_gives_on_the_same_engine(ask):
    twice = compiler.parse("ENTRY e { x = f32[3] parameter(0) n = f32[3] negate(x) ROOT r = f32[3] copy(n) }")
    question, _ = ask("right", original=twice)
    case, baseline = question.case, question.baseline
    for kind, inputs in case.calls:
        np.testing.assert_array_equal(baseline.expected(case, kind)[0], -inputs[0])
        assert baseline.is_met(case, kind, question.subject, [-inputs[0]])
    assert not baseline.is_met(case, "", question.subject, [X])
    assert not baseline.is_met(case_of(NEGATE), "", question.subject, [-X])


def test_a_simulator_and_the_reference_are_asked_one_call_by_turns():
    turns = [Case(number, None, [X], others=KINDS) for number in range(9)]
    assert [call_numbers_on("cpu:opt=0", case) for case in turns] == [range(3)] * 9
    for spec in ("nvptx:sim", "reference"):
        assert [tuple(call_numbers_on(spec, case)) for case in turns] == [(n,) for n in (0, 0, 0, 1, 1, 1, 2, 2, 2)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["", "special"])
def test_a_phase_says_in_one_word_with_which_inputs_it_was_and_how_they_lay(kind, layout):
    word = phase_of("run", kind, layout)
    assert (phase_in(word), len(word.split())) == (("run", kind, layout), 1)


def test_errors_that_differ_in_names_and_numbers_have_one_key():
    def answer(message):
        try:
            raise RuntimeError(message)
        except RuntimeError as error:
            return raised(error)

    one, other, another = map(answer, ("no rule for %x.1 of 3", "no rule for %y.22 of 4", "no register for %x.1 of 3"))
    assert one.key == other.key == "RuntimeError in test_asking.py:answer: no rule for # of #"
    assert another.key != one.key
    assert one.message != other.message


def test_the_key_is_that_of_what_was_raised_first():
    error = BenchError("cannot compile")
    error.__cause__ = KeyError("abs")
    assert raised(error).key == "KeyError in : 'abs'"
    assert raised(error).message == "BenchError: cannot compile"


def test_the_bounds_of_all_results_are_asked_for_in_one_call_of_a_case_and_where_any_is_wrong(ask, monkeypatch):
    text = """ENTRY e { x = f32[3] parameter(0) s = f32[3] sine(x) c = f32[3] cosine(x)
      ROOT r = (f32[3], f32[3]) tuple(s, c) }"""
    asked = []

    def some(*arguments):
        asked.append(arguments[-1])
        return basis_of_some(*arguments)

    monkeypatch.setattr(needed, "basis_of_some", some)
    question, _ = ask("right", text)
    calls = [list(question.expected[kind]) for kind, _ in question.calls]
    last = [[sine, np.nextafter(cosine, np.float32(9))] for sine, cosine in calls]
    assert question.of_results(last).verdict == "within"
    whole = question.case.call(question.case.number % len(calls)).kind
    assert asked == [frozenset() if kind == whole else {1} for kind, _ in question.calls]
    for call in range(len(calls)):
        wrong = [*last[:call], [calls[call][0] + 1, calls[call][1]], *last[call + 1 :]]
        assert question.of_results(wrong) is None
