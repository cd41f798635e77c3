"""What a campaign's worker does with a case, in this process."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from xlabench.fuzzing import findings, fuzz_jobs

HERE = Path(__file__).resolve().parents[1]


def test_an_engine_that_changes_its_inputs_spoils_neither_the_evidence_nor_others(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    arguments = {
        "factory": "broken_engines:engine",
        "engines": ["spoils", "right"],
        "drawing": {"drawer": "broken_engines:draw_with_the_same_inputs"},
        "folder": str(tmp_path),
        "numbers": [0, 1],
    }
    fuzz_jobs.batch(arguments, lambda _stage: None)
    records = [json.loads(line) for line in (tmp_path / "records.jsonl").read_text().splitlines()]
    for record in records:
        assert record["verdicts"]["spoils"] == ["wrong", "changed its inputs", "inputs"]
        assert record["verdicts"]["right"][0] == "bitwise"
    kept = list(findings.left_in(tmp_path))
    assert [raw.number for raw in kept] == [0, 1]
    for raw in kept:
        np.testing.assert_array_equal(raw.inputs[0], [0, 1, 2])
        np.testing.assert_array_equal(raw.expected[0], [0, -1, -2])
        np.testing.assert_array_equal(raw.actual[0], [0, -1, -2])
