"""What is kept of a campaign's findings: the smallest case of each."""

from pathlib import Path

import pytest

import compiler
from xlabench.bundles import bundle
from xlabench.cases import inputs
from xlabench.fuzzing.findings import CaseFailure, Findings, signature_of

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
    assert [place.name for place in tmp_path.iterdir() if place.is_dir()] == [smallest.bundle.rpartition("/")[2]]
    assert Findings(tmp_path).all == [smallest]


class OfOneCause(Findings):
    """Findings whose cases are small already, and all of one rewrite."""

    def _triaged(self, failure):
        return failure, "pass/rewrite", 1


def test_engines_that_fail_on_the_same_case_leave_a_bundle(tmp_path, monkeypatch):
    def save(_failure, folder, **_):
        folder.mkdir(parents=True, exist_ok=True)
        return bundle.Saved(folder, verified=True)

    monkeypatch.setattr(bundle, "save", save)
    findings = OfOneCause(tmp_path / "findings", max_probes=1)
    medium = "ENTRY main { x = f32[4] parameter(0) y = f32[4] abs(x) z = f32[4] abs(y) ROOT r = f32[4] abs(z) }"
    for number, text in ((1, _LARGE), (2, medium), (2, _SMALL)):
        findings.add(_unreduced(number, text))
        (found,) = findings.all
        assert [tmp_path / found.bundle] == [place for place in (tmp_path / "findings").iterdir() if place.is_dir()]
    assert (Path(found.bundle).name, found.instructions) == ("000-wrong-by-2-again", 2)


@pytest.mark.parametrize("number", ["1", "4"])
def test_a_wrong_result_of_any_device_is_told_by_what_it_comes_of(number):
    text = "ENTRY main { x = f32[4] parameter(0) y = f32[4] tanh(x) z = f32[4] abs(x) t = (f32[4], f32[4]) tuple(x, y)"
    failure = _unreduced(
        1, f"{text} ROOT r = ((f32[4], f32[4]), f32[4]) tuple(t, z) }}"
    )  # three arrays of each of two devices
    failure = CaseFailure(
        1, failure.engine, "wrong", "", number, failure.module_text, failure.inputs, failure.expected, []
    )
    assert signature_of(failure) == ("tanh f32", "tuple")
