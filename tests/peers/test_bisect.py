"""Whom `xlabench bisect` blames for what XLA does wrong: known bugs of its own, so this tells when they are gone."""

import numpy as np
import pytest

import compiler
from xlabench.diagnosis import blame
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.pass_dumps import CONVERSION
from xlabench.diagnosis.probe import Prober, Setup
from xlabench.engines import engine

pytest.importorskip("jaxlib", reason="jaxlib is not installed")

FOLDED = """
ENTRY main {
  x = s16[4] parameter(0)
  minus = s16[4] constant({0, 1, -1, -300})
  zeros = s16[4] count-leading-zeros(minus)
  ROOT y = s16[4] add(zeros, x)
}
"""


def test_the_pass_that_folds_wrongly_is_named():
    case = Case(compiler.parse(FOLDED), (np.zeros(4, np.int16),))
    with Prober(Setup("xla")) as prober:
        judgement = prober.judge(case)
        if not judgement.is_failure:
            pytest.skip("this version of XLA folds count-leading-zeros rightly")
        found = blame.find(prober, case, judgement)
    assert found.stage == "pass"
    assert found.step.endswith("constant_folding"), found
    assert "count-leading-zeros" in found.diff


def test_every_pass_of_a_right_program_is_right(tmp_path):
    text = FOLDED.replace("count-leading-zeros", "negate")
    case = Case(compiler.parse(text), (np.zeros(4, np.int16),))
    with Prober(Setup("xla")) as prober:
        passes = prober.passes(case)
        assert passes.is_foreign
        assert passes.steps[0].name == CONVERSION
        expected = prober.expected(case)
        for step in passes.steps:
            assert prober.agrees(case, expected, prober.expected_of(step.text, case.inputs))
    engine("xla").dump_passes(text, str(tmp_path))
    assert list(tmp_path.iterdir())
