"""Partial shapes of nodes, from what they are when unknown sizes are one number and another."""

import pytest

from compiler.diagnostics import InputError
from compiler.graph import BY_NAME, PartialShape
from compiler.tf2xla.builder import Builder
from compiler.tf2xla.inference import Inference, trials_of, types_of


def placeholder(builder, *dims):
    return builder.add("Placeholder", dtype="float32", shape=dims).output


@pytest.mark.parametrize("dims", [(), (3,), (None,), (2, None, None, 5)])
def test_known_sizes_are_the_same_in_every_trial_and_unknown_ones_differ(dims):
    trials = trials_of(PartialShape(dims))
    assert len(trials) == 2
    for place, size in enumerate(dims):
        tried = {trial.dims[place] for trial in trials}
        assert tried == {size} if size is not None else len(tried) == 2


def test_a_shape_of_unknown_rank_is_not_tried():
    assert trials_of(PartialShape(None)) == ()


def test_sizes_that_follow_from_unknown_ones_are_unknown_and_others_known():
    builder = Builder()
    x = placeholder(builder, None, 3)
    assert x.op("Transpose", [1, 0]).shape.dims == (3, None)
    assert x.op("Reshape", [-1]).shape.dims == (None,)
    assert x.op("Shape").value is None
    assert x.op("Rank").value == 2
    assert x.op("Shape").op("StridedSlice", [1], [2], [1], shrink_axis_mask=1).value == 3


def test_an_op_that_refuses_its_sizes_does_so_at_once():
    builder = Builder()
    with pytest.raises(InputError):
        placeholder(builder, 2, 3).op("MatMul", placeholder(builder, 4, 5))


def test_ports_have_as_many_types_as_they_have_tensors():
    builder = Builder()
    x = placeholder(builder, 2)
    built = builder.add("ConcatV2", [x, x, x], 0)
    found = {port.name: types for port, types in types_of(built, built.signature.inputs)}
    assert found == {"values": [BY_NAME["float32"]] * 3, "axis": [BY_NAME["int32"]]}


@pytest.mark.parametrize(
    ("dims", "is_of_shape", "times"), [((2, 3), False, 1), ((2, None), False, 2), ((2, 3), True, 1)]
)
def test_what_is_the_same_in_both_trials_is_tried_once(monkeypatch, dims, is_of_shape, times):
    builder = Builder()
    x = placeholder(builder, *dims)
    x = x.op("Shape") if is_of_shape else x
    tried = []
    trial = Inference._trial
    monkeypatch.setattr(Inference, "_trial", lambda self, *given: [tried.append(given), trial(self, *given)][1])
    x.op("Neg")
    assert len(tried) == times


def test_a_known_shape_with_a_value_that_is_not_known_is_tried_twice():
    builder = Builder()
    sizes = placeholder(builder, None, 3).op("Shape")
    assert sizes.shape.dims == (2,)
    assert builder.add("Fill", sizes, builder.constant(1.0)).output.shape.dims == (None, 3)
