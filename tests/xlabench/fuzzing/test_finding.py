"""What a campaign's list keeps of a finding."""

import json
from dataclasses import asdict, replace

import pytest

from xlabench.fuzzing.finding import Finding, from_json, name_beside, next_number

_FOUND = Finding(
    name="007-wrong",
    engines=("cpu",),
    verdict="wrong",
    signature=("add f32",),
    cause="kernel/add",
    message="",
    instructions=1,
    bundle="findings/007-wrong",
    verified=True,
    doubt="",
    cases=(3, 9),
)


def test_what_is_stored_is_read_again():
    stored = json.loads(json.dumps([asdict(replace(_FOUND, is_cut_short=True, key="0"))]))
    assert from_json(stored) == [replace(_FOUND, is_cut_short=True, key="0")]


def test_what_older_campaigns_stored_is_not_cut_short():
    stored = json.loads(json.dumps(asdict(_FOUND)))
    assert from_json([{key: stored[key] for key in stored.keys() - {"key", "is_cut_short"}}]) == [_FOUND]


def test_what_is_no_list_is_refused():
    with pytest.raises(TypeError, match="no list"):
        from_json({})


def test_a_new_number_is_none_of_the_known_ones():
    assert next_number([]) == 0
    assert next_number([replace(_FOUND, name="002-crash"), _FOUND]) == 8


def test_another_bundle_of_a_finding_has_another_name():
    beside = name_beside(_FOUND, 9)
    assert beside == "007-wrong-by-9"
    assert name_beside(replace(_FOUND, bundle=f"findings/{beside}"), 9) == "007-wrong-by-9-again"
