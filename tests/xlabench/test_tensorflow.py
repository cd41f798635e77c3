"""Functions and operators against what TensorFlow 2.21 made of the same expressions."""

import json
from pathlib import Path

import numpy as np
import pytest
from session_api import EXACT, VALUES, recorded
from session_functions import FUNCTIONS

RECORDED = json.loads((Path(__file__).parent / "tensorflow" / "api.json").read_text())


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    """Each expression runs once: to compile its ops would take longer than to interpret them."""
    monkeypatch.setenv("XLABENCH_TF_CPU", "reference")


def _close(found, expected):
    assert [one["dtype"] for one in found] == [one["dtype"] for one in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one["value"], other["value"], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("text", EXACT)
def test_names_shapes_types_and_values_are_those_of_tensorflow(text):
    found, expected = recorded(EXACT[text]), RECORDED[text]
    if "error" in expected:
        assert found == expected
        return
    _close(found, expected)
    assert [(one["name"], one["shape"]) for one in found] == [(one["name"], one["shape"]) for one in expected]


@pytest.mark.parametrize("text", {**VALUES, **FUNCTIONS})
def test_types_and_values_are_those_of_tensorflow(text):
    _close(recorded({**VALUES, **FUNCTIONS}[text]), RECORDED[text])


def test_every_expression_is_recorded():
    assert RECORDED.keys() == EXACT.keys() | VALUES.keys() | FUNCTIONS.keys()
