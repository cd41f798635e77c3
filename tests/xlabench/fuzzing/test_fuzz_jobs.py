"""What a campaign's worker does with a case, in this process."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from xlabench.fuzzing import crew, findings, fuzz_jobs

HERE = Path(__file__).resolve().parents[1]


@pytest.fixture
def batch(tmp_path, monkeypatch):
    """Runs cases whose first engine is wrong, in a folder of theirs."""
    monkeypatch.syspath_prepend(HERE)
    arguments = {
        "factory": "broken_engines:engine",
        "engines": ["spoils", "right"],
        "drawing": {"drawer": "broken_engines:draw_with_the_same_inputs"},
        "folder": str(tmp_path),
    }
    return lambda *numbers: fuzz_jobs.batch({**arguments, "numbers": numbers}, lambda _stage: None)


def test_an_engine_that_changes_its_inputs_spoils_neither_the_evidence_nor_others(tmp_path, batch):
    batch(0, 1)
    for record in crew._records(tmp_path):
        assert record["verdicts"]["spoils"] == ["wrong", "changed its inputs", "inputs"]
        assert record["verdicts"]["right"][0] == "bitwise"
    kept = list(findings.left_in(tmp_path))
    assert [raw.number for raw in kept] == [0, 1]
    for raw in kept:
        np.testing.assert_array_equal(raw.inputs[0], [0, 1, 2])
        np.testing.assert_array_equal(raw.expected[0], [0, -1, -2])
        np.testing.assert_array_equal(raw.actual[0], [0, -1, -2])


def test_what_a_process_was_writing_when_it_ended_spoils_no_other_record(tmp_path, batch):
    batch(0)
    with (tmp_path / "records.jsonl").open("a") as records:
        records.write('{"number": 1, "verd')
    assert [record["number"] for record in crew._records(tmp_path)] == [0]
    batch(2)
    assert [record["number"] for record in crew._records(tmp_path)] == [0, 2]


def test_a_finding_that_is_half_written_is_none(tmp_path, batch, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _descriptor: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        batch(0)
    assert list(findings.left_in(tmp_path)) == []
