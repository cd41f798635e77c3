"""A kernel that is a lowering: one program for each signature that it meets, shared by all nodes that are alike."""

import numpy as np
import pytest

from compiler.diagnostics import CompilerError, UnsupportedError
from compiler.tf import AttributeList, Function, Node, tensor_of
from xlabench.tensorflow.runtime import programs
from xlabench.tensorflow.runtime.programs import LoweredKernel, output_count, shape_of
from xlabench.tensorflow.runtime.resources import Resources

FLOAT, INT = (tensor_of(np.zeros(1, kind)).type for kind in (np.float32, np.int32))
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def lowered(monkeypatch):
    """The modules that are made, where nothing is known from before."""
    seen, before = [], programs.compiled
    monkeypatch.setattr(programs, "_PROGRAMS", {})
    monkeypatch.setattr(programs, "compiled", lambda spec, module: seen.append(module) or before(spec, module))
    return seen


def kernel(op, resources=None, name="n", **attributes):
    return LoweredKernel(Node(name, op, (), "", attributes), "reference", resources or Resources())


def test_an_op_is_its_formula(lowered):
    [sums] = kernel("Sum", T=FLOAT, Tidx=INT, keep_dims=False)([X, np.int32(1)])
    assert sums.tolist() == [3, 12]
    assert len(lowered) == 1


def test_there_is_one_program_for_each_shape_and_each_value_that_must_be_known(lowered):
    made = kernel("Sum", T=FLOAT, Tidx=INT, keep_dims=False)
    for axis, rows in ((0, 2), (1, 2), (0, 2), (0, 1)):
        made([X[:rows], np.int32(axis)])
    assert len(lowered) == 3


def test_nodes_that_are_alike_share_theirs_whatever_they_are_called(lowered):
    for name, more in (("a", {}), ("b", {"_class": b"loc"}), ("c", {"T": FLOAT})):
        kernel("Neg", name=name, **{"T": FLOAT, **more})([X])
    assert len(lowered) == 1
    kernel("Exp", T=FLOAT)([X])
    assert len(lowered) == 2


def test_what_only_hands_on_is_no_program(lowered):
    given = [X]
    assert kernel("Identity", T=FLOAT)(given) is given
    assert lowered == []


def test_values_are_known_where_sizes_follow_from_them_although_they_need_not_be(lowered):
    made = kernel("Slice", T=FLOAT, Index=INT)
    [part] = made([X, np.array([0, 1], np.int32), np.array([-1, 2], np.int32)])
    assert part.tolist() == [[1, 2], [4, 5]]


def test_variables_are_taken_as_they_are_and_changed():
    variable = Resources().variable("v")
    variable.value = X.copy()
    made = kernel("ResourceScatterAdd", dtype=FLOAT, Tindices=INT)
    assert made([variable, np.array([1], np.int32), np.ones((1, 3), np.float32)]) == []
    assert variable.value.tolist() == [[0, 1, 2], [4, 5, 6]]


def test_what_a_generator_keeps_is_this_nodes_and_goes_on(lowered):
    resources = Resources()
    draws = [kernel("RandomUniform", resources, name, T=INT, dtype=FLOAT, seed=1, seed2=2) for name in "ab"]
    size = np.array([3], np.int32)
    first, second, other = (one([size])[0].tolist() for one in (draws[0], draws[0], draws[1]))
    assert first == other != second
    assert len(lowered) == 2


def test_an_array_without_a_type_of_hlos_is_refused():
    assert str(shape_of(X)) == "f32[2,3]"
    with pytest.raises(UnsupportedError, match="HLO has no such type"):
        shape_of(np.array(["a"]))


def test_what_the_lowering_refuses_is_refused():
    with pytest.raises(CompilerError):
        kernel("MatMul", T=FLOAT)([X, X])


@pytest.mark.parametrize(
    ("op", "attributes", "count"),
    [
        ("Neg", {"T": FLOAT}, 1),
        ("Split", {"num_split": 3}, 3),
        ("IdentityN", {"T": AttributeList("type", (FLOAT, INT))}, 2),
        ("NoOp", {}, 0),
        ("_XlaCompile", {}, 2),
        ("_XlaRun", {"Tresults": AttributeList("type", (FLOAT, INT, INT))}, 3),
        ("f", {}, 0),
    ],
)
def test_how_many_outputs_a_node_has(op, attributes, count):
    assert output_count(Node("n", op, (), "", attributes), [Function("f", (), (), [], {})]) == count
