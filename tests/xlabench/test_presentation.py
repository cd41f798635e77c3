"""What `xlabench run` says is JSON whatever the numbers are, and for people a table of what is wrong and where."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from xlabench import presentation
from xlabench.judging.differ import compare
from xlabench.judging.tolerance import TolerancePolicy

NAN, INF = float("nan"), float("inf")


def report(expected, actual, *, saved=None):
    comparison = None if expected is None else compare([np.array(expected, "f4")], [np.array(actual, "f4")])
    case = SimpleNamespace(
        module=SimpleNamespace(name="m"),
        source="drawn",
        seed=3,
        layout="aligned",
        filled="",
        policy=TolerancePolicy(1e-3, 1e-6),
    )
    judgement = SimpleNamespace(
        verdict="v", exit_code=1, stage="", message="what it came to", ran="", comparison=comparison
    )
    return SimpleNamespace(case=case, judgement=judgement, saved=saved, specs=("cpu", "reference"), notes=("a note",))


@pytest.mark.parametrize(
    ("expected", "actual", "wrong"),
    [([1, 2], [1, 2], 0), ([1, 2], [1, INF], 1), ([NAN, 0], [NAN, NAN], 1), ([-INF, INF], [INF, -INF], 2), ([], [], 0)],
)
def test_what_is_said_is_json_and_counts_what_is_wrong(expected, actual, wrong):
    said = presentation.to_json(Path("p.hlo"), report(expected, actual))
    (result,) = json.loads(json.dumps(said, allow_nan=False))["results"]
    assert (said["mismatches"], result["mismatches"], result["size"]) == (wrong, wrong, len(expected))
    assert (said["file"], said["engine"], said["reference"], said["seed"]) == ("p.hlo", "cpu", "reference", 3)


def test_an_infinite_difference_is_said_as_text():
    (result,) = presentation.to_json(Path("p.hlo"), report([1], [INF]))["results"]
    assert result["max_abs"] == "inf"


def test_what_did_not_come_to_a_comparison_has_no_results():
    said = presentation.to_json(Path("p.hlo"), report(None, None))
    assert (said["results"], said["elements"], said["bundle"]) == ([], None, None)


@pytest.mark.parametrize(
    ("verified", "words"), [(True, "verified by a replay"), (False, "not verified: it is right now")]
)
def test_people_are_shown_what_is_wrong_where_and_what_was_kept(verified, words, capsys):
    saved = SimpleNamespace(path=Path("b"), verified=verified, message="it is right now")
    presentation.show(report([1, 2, 3], [1, 9, 3], saved=saved))
    text = capsys.readouterr().out
    assert "m: cpu against reference" in text
    assert "1 of 3" in text
    assert "f32[3]" in text
    assert "v: what it came to" in text
    assert f"bundle: b ({words})" in text
