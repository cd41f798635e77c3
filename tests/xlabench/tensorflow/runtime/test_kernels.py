"""Ops that are no formulas: variables, feeds, sides of a branch, checks; what they raise names the node."""

import numpy as np
import pytest

from compiler.tf import BY_NAME, AttributeList, Node, PartialShape, Tensor, tensor_of
from xlabench.tensorflow import errors
from xlabench.tensorflow.runtime.kernels import DEAD, KERNELS, raised, read, text_of
from xlabench.tensorflow.runtime.resources import Resources

TRUE, FALSE = np.ones((), bool), np.zeros((), bool)


@pytest.fixture
def resources():
    return Resources()


@pytest.fixture
def kernel(resources):
    def make(op, device="", **attributes):
        return KERNELS[op](Node("n", op, (), device, attributes), resources)

    return make


@pytest.fixture
def variable(resources):
    return resources.variable("v")


def test_a_constant_is_its_value(kernel):
    [value] = kernel("Const", value=tensor_of(np.arange(3)))([])
    assert value.tolist() == [0, 1, 2]
    [text] = kernel("Const", value=Tensor(BY_NAME["string"], (2,), strings=(b"a", b"b")))([])
    assert (text.dtype, text_of(text)) == (object, "a")


@pytest.mark.parametrize(
    ("shape", "said"),
    [(PartialShape((2, None)), r"with dtype float and shape \[2,\?\]"), (PartialShape(None), r"with dtype float\n")],
)
def test_a_placeholder_that_is_not_fed_says_what_to_feed(kernel, shape, said):
    dtype = tensor_of(np.zeros(1, np.float32)).type
    with pytest.raises(errors.InvalidArgumentError, match=f"You must feed a value for placeholder tensor 'n' {said}"):
        kernel("Placeholder", dtype=dtype, shape=shape)([])


def test_a_variable_goes_by_the_name_that_it_is_shared_by(kernel, resources):
    assert kernel("VarHandleOp", shared_name=b"other")([]) == (resources.variable("other"),)
    assert kernel("VarHandleOp", shared_name=b"")([]) == (resources.variable("n"),)


def test_a_variable_is_read_and_changed(kernel, variable):
    assert not kernel("VarIsInitializedOp")([variable])[0]
    kernel("AssignVariableOp")([variable, np.float32(5)])
    kernel("AssignAddVariableOp")([variable, np.float32(2)])
    kernel("AssignSubVariableOp")([variable, np.float32(1)])
    [value] = kernel("ReadVariableOp")([variable])
    assert (value, value.dtype) == (6, np.float32)
    assert kernel("VarIsInitializedOp")([variable])[0]


@pytest.mark.parametrize("op", ["ReadVariableOp", "AssignAddVariableOp"])
def test_what_holds_nothing_cannot_be_read(kernel, variable, op):
    with pytest.raises(errors.FailedPreconditionError, match=r"Could not find variable v[^$]*\{\{node n\}\}"):
        kernel(op)([variable, np.float32(1)][: 1 + (op != "ReadVariableOp")])
    with pytest.raises(errors.FailedPreconditionError):
        read(variable, Node("n", "Op"))


def test_a_switch_kills_one_side_and_a_merge_takes_the_first_that_lives(kernel):
    assert kernel("Switch")([7, TRUE]) == (DEAD, 7)
    assert kernel("Switch")([7, FALSE]) == (7, DEAD)
    assert kernel("Merge")([DEAD, 8]) == (8, 1)
    assert kernel("Merge")([DEAD, DEAD]) == (DEAD, DEAD)


def test_an_assertion_shows_what_it_was_given(kernel):
    assert kernel("Assert")([TRUE, np.arange(2)]) == ()
    with pytest.raises(errors.InvalidArgumentError, match=r"assertion failed: \[.*x.*\] \[0 1 2\.\.\.\]"):
        kernel("Assert")([FALSE, np.array(b"x", object), np.arange(9)])


def test_a_message_is_printed_and_the_value_handed_on(kernel, capsys):
    [value] = kernel("Print", message=b"here: ", summarize=2)([5, np.arange(9)])
    assert value == 5
    assert capsys.readouterr() == ("", "here: [0 1...]\n")


@pytest.mark.parametrize(("value", "said"), [(np.inf, "Inf"), (-np.inf, "Inf"), (np.nan, "NaN")])
def test_numbers_that_are_none_are_said(kernel, value, said):
    with pytest.raises(errors.InvalidArgumentError, match=f"loss : Tensor had {said} values"):
        kernel("CheckNumerics", message=b"loss")([np.array([1, value])])
    [same] = kernel("CheckNumerics")([np.array([1.0])])
    assert same.tolist() == [1]


@pytest.mark.parametrize(("device", "number"), [("/device:CPU:0", 0), ("/device:GPU:0", 1), ("/device:TPU:0", 2)])
def test_where_it_runs_is_a_number_among_those_asked_for_or_the_one_behind(kernel, device, number):
    names = AttributeList("s", (b"CPU", b"GPU"))
    assert kernel("DeviceIndex", device, device_names=names)([]) == (number,)


def test_what_is_raised_has_tensorflows_form():
    error = raised(errors.AbortedError, Node("a/b", "Op"), "so")
    assert str(error).startswith("so\n\t [[{{node a/b}}]]")


def test_what_is_dead_says_so():
    assert repr(DEAD) == "dead"
