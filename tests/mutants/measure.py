"""The catalogue of planted bugs: each is found, blamed and reduced.  Run by `tox -e mutants`; writes `mutants.json`."""

import json
import statistics
import sys
import time
import warnings
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "xlabench"))

from mutants import MUTANTS

import compiler
from xlabench.cases import inputs
from xlabench.diagnosis import blame
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.moves import instruction_count
from xlabench.diagnosis.probe import Prober, Setup
from xlabench.diagnosis.reduce import reduce

MOST_INSTRUCTIONS = 12
MOST_PROBES = 200
ROWS = {}


def _measure(name):
    mutant = MUTANTS[name]
    module = compiler.parse(mutant.text)
    case = Case(module, tuple(inputs.generate(module, 1)))
    begin = time.perf_counter()
    with Prober(Setup(mutant.engine, factory=f"mutants:{name}", timeout_s=mutant.timeout_s)) as prober:
        judgement = prober.judge(case)
        assert judgement.is_failure, judgement.message
        found = blame.find(prober, case, judgement)
        done = reduce(case, lambda c: blame.same_cause(prober, c, found), prober.record, focus=[found.instruction_id])
    return {
        "verdict": judgement.verdict,
        "blamed": found.signature,
        "right": found.signature.startswith(tuple(mutant.blamed.split("|"))),
        "before": instruction_count(module),
        "after": instruction_count(done.case.module),
        "probes": done.probes,
        "seconds": round(time.perf_counter() - begin, 1),
        "text": done.case.text(),
    }


@pytest.fixture(autouse=True)
def _catalogue(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "xlabench"))


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_reduced(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        row = ROWS[name] = _measure(name)
    assert row["after"] <= MOST_INSTRUCTIONS
    assert row["probes"] <= MOST_PROBES


def test_the_catalogue_as_a_whole():
    Path("mutants.json").write_text(json.dumps(ROWS, indent=1) + "\n", encoding="utf-8")
    right = sum(row["right"] for row in ROWS.values())
    sizes = [row["after"] for row in ROWS.values()]
    assert right >= 0.95 * len(ROWS), f"only {right} of {len(ROWS)} are blamed rightly"
    assert statistics.median(sizes) <= 5
