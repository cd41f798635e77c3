"""Planted bugs of each kind get the blame; the whole catalogue is measured by `tox -e mutants`."""

import numpy as np
import pytest
from in_process import Telling

import compiler
from xlabench import jobs
from xlabench.cases import inputs
from xlabench.diagnosis import blame, probe
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.isolate import examine
from xlabench.diagnosis.probe import Judgement, Prober, Setup
from xlabench.errors import BenchError, Undecidable


def _case(text):
    module = compiler.parse(text)
    return Case(module, tuple(inputs.generate(module, 1)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["call_arguments", "sign", "pass_raises", "short_lives", "lost_tail"])
def test_a_planted_bug_is_blamed(name, mutants):
    mutant = mutants[name]
    with Prober(Setup(mutant.engine, factory=f"mutants:{name}")) as prober:
        found = blame.find(prober, _case(mutant.text))
    assert found.signature.startswith(tuple(mutant.blamed.split("|")))


@pytest.mark.slow
def test_the_guilty_rewrite_is_shown_between_a_good_and_a_bad_engine(mutants):
    with Prober(Setup("cpu", factory="mutants:cse_slice")) as prober:
        found = blame.find(prober, _case(mutants["cse_slice"].text))
    assert (found.rule, found.where) == ("merge with equal", "main/b")
    assert (found.last_good, found.first_bad) == (f"cpu:fuel={found.rewrite - 1}", f"cpu:fuel={found.rewrite}")
    assert "-  z = f32[12,10] concatenate(b, a), dimensions={0}" in found.diff
    assert found.instruction_id == ("main", "b")


@pytest.mark.slow
def test_a_rewrite_that_no_compilation_can_do_without_is_named_too(mutants):
    text = """f { a = f32[3] parameter(0) b = f32[3] parameter(1) ROOT c = f32[3] subtract(a, b) }
      g { a = f32[3] parameter(0) ROOT c = f32[3] negate(a) }
      ENTRY main { x = f32[3] parameter(0) y = f32[3] parameter(1) n = f32[3] fusion(x), kind=kLoop, calls=g
      ROOT z = f32[3] fusion(n, y), kind=kLoop, calls=f }"""
    with Prober(Setup("cpu", factory="mutants:call_arguments")) as prober:
        found = blame.find(prober, _case(text))
    assert (found.signature, found.where) == ("pass/flatten-calls/inline fusion", "main/z")
    assert (found.last_good, found.first_bad) == ("", f"cpu:fuel={found.rewrite}")
    assert ("-  ROOT z = " in found.diff, "-  n = " in found.diff) == (True, False)


@pytest.mark.slow
def test_of_a_pass_that_raises_the_rewrite_is_named_with_which_it_does(mutants):
    text = """ENTRY main { p = s32[1] parameter(0) b = s32[2,1] broadcast(p), dimensions={1}
      ROOT z = s32[2,2,1,1] broadcast(b), dimensions={1,2} }"""
    with Prober(Setup(mutants["broadcast_dimension"].engine, factory="mutants:broadcast_dimension")) as prober:
        found = blame.find(prober, _case(text))
    assert found.signature == "pass/data-movement-simplification/broadcast_of_broadcast"
    assert (found.first_bad, found.diff.partition(":")[0]) == (f"cpu:threads=1,fuel={found.rewrite}", "ShapeError")


@pytest.mark.slow
def test_alone_only_the_guilty_instruction_diverges(mutants):
    with Prober(Setup("cpu", factory="mutants:sign")) as prober:
        wrong = [row.instruction_id for row in examine(prober, _case(mutants["sign"].text)) if row.judgement.is_failure]
    assert wrong == [("main", "z")]


@pytest.mark.slow
@pytest.mark.usefixtures("mutants")
def test_alone_what_is_in_a_loop_runs_on_what_it_is_given_first_and_on_what_last():
    text = """below { s = (s32[], f32[3]) parameter(0) n = s32[] get-tuple-element(s), index=0 m = s32[] constant(2)
        ROOT z = pred[] compare(n, m), direction=LT }
      iteration { s = (s32[], f32[3]) parameter(0) n = s32[] get-tuple-element(s), index=0 o = s32[] constant(1)
        x = f32[3] get-tuple-element(s), index=1 r = f32[3] reverse(x), dimensions={0} t = f32[3] subtract(r, r)
        m = s32[] add(n, o) ROOT z = (s32[], f32[3]) tuple(m, t) }
      ENTRY main { n = s32[] constant(0) x = f32[3] parameter(0) s = (s32[], f32[3]) tuple(n, x)
        w = (s32[], f32[3]) while(s), condition=below, body=iteration ROOT z = f32[3] get-tuple-element(w), index=1 }"""
    with Prober(Setup("drops", factory="broken_engines:engine")) as prober:  # zeros it reverses rightly
        rows = list(examine(prober, _case(text)))
    assert [row.instruction_id for row in rows if row.judgement.is_failure] == [("iteration", "r")]
    assert len(rows) == len({row.instruction_id for row in rows})


@pytest.mark.slow
def test_a_program_that_does_not_fail_has_nobody_to_blame():
    with Prober(Setup("cpu")) as prober, pytest.raises(BenchError, match="there is no failure"):
        blame.find(prober, _case("HloModule m\nENTRY e { ROOT x = f32[2] parameter(0) }\n"))


@pytest.mark.slow
def test_a_number_where_nan_belongs_is_wrong():
    case = Case(compiler.parse("HloModule m\nENTRY e { x = f32[2] parameter(0)\n ROOT y = f32[2] sqrt(x) }\n"), ())
    case = Case(case.module, (np.array([-1, 4], np.float32),))
    right = np.array([np.nan, 2], np.float32)
    with Prober(Setup("cpu")) as prober:
        assert prober.agrees(case, [right], [right])
        assert not prober.agrees(case, [right], [np.array([1, 2], np.float32)])


@pytest.mark.slow
def test_an_engine_that_takes_all_memory_fails_within_what_it_is_given(mutants):
    setup = Setup("hog@run", factory="faulty_engines:engine", timeout_s=60, memory_bytes=1 << 30)
    with Prober(setup) as prober:
        judgement = prober.judge(
            _case("HloModule m\nENTRY e { x = f32[2] parameter(0)\n ROOT y = f32[2] negate(x) }\n")
        )
    assert (judgement.verdict, "MemoryError" in judgement.message) == ("crash", True)


@pytest.mark.slow
def test_results_that_cannot_be_read_are_a_crash(monkeypatch):
    real, asked = jobs.read_arrays, []

    def read(path):
        asked.append(path)
        if len(asked) > 1:  # the first are the reference's
            raise ValueError("can only specify one unknown dimension")
        return real(path)

    monkeypatch.setattr(jobs, "read_arrays", read)
    with Prober(Setup("cpu")) as prober:
        judgement = prober.judge(_case("ENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] negate(x) }"))
    assert (judgement.verdict, judgement.stage) == ("crash", "run")
    assert "unknown dimension" in judgement.message


@pytest.mark.parametrize("is_refused", [True, False])
@pytest.mark.parametrize("was_refused", [True, False])
def test_what_an_engine_breaks_down_with_is_not_what_it_refuses(was_refused, is_refused, monkeypatch):
    """Smaller programs may well be refused rightly: routines whose operands are no longer of their types."""

    class Asked:
        setup = Setup("cpu")

        def judge(self, _):
            return Judgement("compile-error", "", is_refusal=is_refused)

        def passes(self, _):
            return None

        def is_by_layout(self, *_):
            return False

    case = _case("ENTRY e { ROOT x = f32[2] parameter(0) }")
    wanted = blame.find(Asked(), case, Judgement("compile-error", "", is_refusal=was_refused))
    assert blame.same_cause(Asked(), case, wanted) == (was_refused == is_refused)


@pytest.mark.parametrize(
    ("error", "is_refusal"),
    [(compiler.UnsupportedError("it", "us"), True), (ValueError("no"), False), (Undecidable("it is not here"), True)],
)
def test_who_says_that_a_program_is_not_taken_is_told_from_who_breaks_down(error, is_refusal, monkeypatch):
    def fail(*_given, **_named):
        raise error

    monkeypatch.setattr(probe, "Worker", Telling)
    monkeypatch.setattr(compiler, "compile", fail)
    with Prober(Setup("cpu", takes_all=True)) as prober:
        judgement = prober.judge(_case("ENTRY e { ROOT x = f32[2] parameter(0) }"))
    assert (judgement.verdict, judgement.is_refusal) == ("compile-error", is_refusal)
