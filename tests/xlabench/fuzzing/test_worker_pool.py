"""What the workers of a campaign keep of a case that fails: the variant of the engine, and the inputs of one kind."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from xlabench.bundles import bundle
from xlabench.fuzzing import campaign
from xlabench.fuzzing.config import Config
from xlabench.fuzzing.fuzz import Generated

HERE = str(Path(__file__).resolve().parents[1])
CONFIG = Config(("right",), count=60, max_probes=0, factory="broken_engines:engine", timeout_s=60)


@pytest.fixture(autouse=True)
def _findable_engines(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [HERE, os.environ.get("PYTHONPATH", "")])))


def _run(config, folder, source):
    return campaign.run(config, source(), folder, observe=lambda *_: None)


class OfVariants(Generated):
    """One program, drawn for a variant of the engine."""

    def support(self, config, support_probe):
        return {"banned": []}

    def drawing(self, config, support):
        return {"drawer": "broken_engines:draw_for_a_variant"}


@pytest.mark.parametrize(("given", "variant"), [("cpu", "cpu:opt=0,threads=7"), ("cpu:opt=2", "cpu:opt=2,threads=7")])
@pytest.mark.parametrize("end", ["cpu_dies", "cpu_errs"])
def test_a_finding_keeps_the_variant_and_counts_for_the_engine(tmp_path, monkeypatch, given, variant, end):
    monkeypatch.syspath_prepend(HERE)
    config = replace(CONFIG, engines=(given,), count=1, factory=f"broken_engines:{end}_with_seven_threads")
    summary = _run(config, tmp_path / "campaign", OfVariants)
    (found,) = summary["findings"]
    verdict = {"cpu_dies": "crash", "cpu_errs": "wrong"}[end]
    assert summary["verdicts"] == {f"{given} {verdict}": 1}
    assert bundle.load(tmp_path / "campaign" / found["bundle"]).engine.replace(",check_memory=on", "") == variant
    assert summary["variants"] == {"cpu opt=0": 1, "cpu threads=7": 1}


class OfTwoKinds(Generated):
    """One program, called with inputs of two kinds."""

    def support(self, config, support_probe):
        return {"banned": []}

    def drawing(self, config, support):
        return {"drawer": "broken_engines:draw_with_two_kinds_of_inputs"}


def test_of_a_process_that_ends_on_some_inputs_those_are_kept(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    summary = _run(replace(CONFIG, engines=("dies-of-nan",), count=1), tmp_path / "campaign", OfTwoKinds)
    (found,) = summary["findings"]
    assert (found["verdict"], found["signature"], found["note"]) == ("crash", ("run",), "inputs of the kind special")
    kept = bundle.load(tmp_path / "campaign" / found["bundle"])
    np.testing.assert_array_equal(kept.inputs[0], np.asarray([1, np.nan, 2], np.float32))


@pytest.mark.slow
def test_of_a_process_that_ends_on_inputs_that_lie_otherwise_the_layout_is_kept(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    summary = _run(replace(CONFIG, engines=("dies-of-views",), count=2), tmp_path / "campaign", OfTwoKinds)
    (found,) = summary["findings"]
    assert (found["verdict"], found["cases"]) == ("crash", (1,))
    assert bundle.load(tmp_path / "campaign" / found["bundle"]).layout == "strided"
