"""Gradients of ops are what differences say; where a formula or a lowering is another, that is raised."""

from dataclasses import replace

import numpy as np
import pytest

from compiler.tf import RECORDS
from xlabench.fuzzing.graphs import cases
from xlabench.fuzzing.graphs.differences import DIFFERENTIATED, WrongDerivative, check

_OF_OTHERS = {op for op in DIFFERENTIATED if op.endswith(("Grad", "BackpropInput", "BackpropFilter", "FilterV2"))}
NOT_DRAWN = {*_OF_OTHERS, "Conv3DBackpropInputV2", "DynamicPartition", "PlaceholderWithDefault", "Polygamma"}
"""Ops that are drawn as gradients of others only, whose sizes follow from values, or that take whole numbers in f64."""


def points(op, count):
    return (np.random.default_rng([count, number, len(op)]) for number in range(count))


def is_told(op):
    """Whether some of the points shows that something is wrong."""
    for rng in points(op, 12):
        try:
            check(rng, op)
        except WrongDerivative:
            return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("op", DIFFERENTIATED)
def test_gradients_are_what_differences_say(op):
    held = [check(rng, op) for rng in points(op, 10)]
    assert any(held) or op in NOT_DRAWN


@pytest.mark.slow
@pytest.mark.parametrize("op", sorted(set(DIFFERENTIATED) - NOT_DRAWN))
def test_a_formula_of_the_other_sign_is_told(op, monkeypatch):
    """Of ops whose gradients are not zero."""
    right = RECORDS[op].gradient

    def wrong(node, *gradients):
        return right(node, *(None if one is None else one.op("Neg") for one in gradients))

    monkeypatch.setitem(RECORDS, op, replace(RECORDS[op], gradient=wrong))
    assert is_told(op) or op in FLAT


FLAT = {"Floor"}
"""Ops whose gradients are zero wherever they have any."""


@pytest.mark.parametrize("op", ["Tanh", "Sum", "StridedSlice", "Conv2D", "FFT", "GatherV2"])
def test_a_lowering_that_gives_twice_as_much_is_told(op, monkeypatch):
    """Of ops that do not stand in their own gradients."""
    right = RECORDS[op].lower
    monkeypatch.setitem(RECORDS, op, replace(RECORDS[op], lower=lambda operation: right(operation) * 2))
    assert is_told(op)


def test_campaigns_hold_every_gradient(monkeypatch):
    asked = []
    monkeypatch.setattr(cases, "check", lambda _, op: asked.append(op))
    for number in range(len(DIFFERENTIATED)):
        cases.hold_gradients(5, number)
    assert set(asked) == set(DIFFERENTIATED)
