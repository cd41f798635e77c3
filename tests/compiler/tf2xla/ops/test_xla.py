"""Calls of what a name means elsewhere, with several results, one, and none that is known."""

import numpy as np
import pytest
from graph_nodes import FLOAT, X, node, placeholder, types

import compiler
from compiler.graph import BY_NAME, AttributeList, Graph, PartialShape
from compiler.tf2xla import lower

INT = BY_NAME["int32"]
TARGET = "tests.sum_and_count"


@pytest.fixture
def _meaning():
    def called(x, backend_config=""):
        total = (x.sum() * float(backend_config or 1)).astype(np.float32)
        return total, np.full(2, x.size, np.int32)

    compiler.register_custom_call(TARGET, called)
    yield
    compiler.register_custom_call(TARGET, None)


def call(*results, target=TARGET, **more):
    kinds, dims = [one for one, _ in results], [one for _, one in results]
    shapes = AttributeList("shape", tuple(map(PartialShape, dims)))
    stated = {"call_target_name": target.encode(), "backend_config": b"2", "has_side_effect": False, **more}
    return node(
        "y",
        "XlaCustomCallV2",
        "x",
        operand_dtypes=types(FLOAT),
        result_dtypes=types(*kinds),
        result_shapes=shapes,
        **stated,
    )


def ran(made, fetches):
    lowered = lower(Graph([placeholder("x"), made]), {"x": X}, fetches)
    compiler.verify(lowered.module)
    return lowered.module


@pytest.mark.usefixtures("_meaning")
@pytest.mark.parametrize("has_side_effect", [False, True])
def test_several_results_are_those_of_the_function(has_side_effect):
    module = ran(call((FLOAT, ()), (INT, (2,)), has_side_effect=has_side_effect), ["y:0", "y:1"])
    assert ("custom_call_has_side_effect" in compiler.to_text(module)) == has_side_effect
    total, count = compiler.interpret(module, X)
    np.testing.assert_allclose(total, 2 * X.sum(), rtol=1e-6)
    np.testing.assert_array_equal(count, [X.size] * 2)


def test_one_result_is_no_tuple():
    text = compiler.to_text(ran(call((FLOAT, (2, 3)), target="elsewhere"), ["y"]))
    assert 'f32[2,3] custom-call(x), custom_call_target="elsewhere"' in text


def test_results_whose_sizes_are_not_known_are_refused():
    with pytest.raises(compiler.InputError, match="its result_shapes must be known"):
        ran(call((FLOAT, None)), ["y"])
