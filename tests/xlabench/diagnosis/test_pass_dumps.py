"""A foreign engine's passes, judged by the files that it leaves."""

import numpy as np
import pytest

import compiler
from xlabench.diagnosis import blame
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.pass_dumps import CONVERSION, ordered
from xlabench.diagnosis.probe import Prober, Setup

X = np.array([1, 3, 5], np.int32)


def test_dumps_are_told_from_other_files_and_ordered(dumping):
    names = [f"{dumping.NAME}.{name}" for name in dumping.FILES]
    dumps = ordered([*reversed(names), "module_0001.other.0000.p.after_q.txt", "notes.txt"])
    assert [dump.step for dump in dumps] == [
        CONVERSION,
        "first/pipeline-start",
        "first/library-rewriter",
        "copy-insertion/adding_copies",
        "last/algsimp",
    ]
    assert [dump.number for dump in dumps] == [0, 1, 2, 3, 4]


def test_names_with_dots_and_many_passes_are_read():
    names = [
        "module_0012.a.0001.b.10000.HLO_passes.after_fusion.before_fusion-wrapper.txt",
        "module_0012.a.0001.b.0999.HLO_passes.after_algsimp.txt",
    ]
    assert [dump.step for dump in ordered(names)] == ["HLO_passes/algsimp", "HLO_passes/fusion"]
    assert ordered(["readme.md"]) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "stage", "step"),
    [
        ("wrong", "pass", "copy-insertion/adding_copies"),
        ("behind", "engine", "behind behind its passes"),
        ("dies-late", "pass", "after last/algsimp"),
    ],
)
def test_the_first_wrong_dump_names_the_pass(dumping, spec, stage, step):
    with Prober(Setup(spec, factory="dumping_engines:engine")) as prober:
        found = blame.find(prober, Case(compiler.parse(dumping.RIGHT), (X,)))
    assert (found.stage, found.step) == (stage, step)
    if spec == "wrong":
        assert found.where == "or first/library-rewriter"
        assert "+ENTRY e { x = s32[3] parameter(0) ROOT y = s32[3] multiply(x, x) }" in found.diff
        verdicts = [one.verdict for one in found.evidence]
        assert verdicts == ["right", "right", "unknown", "wrong"]
