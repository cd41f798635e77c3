"""Functions and operators against what TensorFlow 2.21 takes, and made of the same expressions."""

import inspect
import json
import re
from pathlib import Path

import numpy as np
import pytest
from session_api import EXACT, VALUES, recorded
from session_arrays import ARRAYS
from session_functions import FUNCTIONS
from session_training import TRAINING

from xlabench.tensorflow import namespace

OTHERS = {**VALUES, **FUNCTIONS, **TRAINING, **ARRAYS}
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


@pytest.mark.parametrize("text", OTHERS)
def test_types_and_values_are_those_of_tensorflow(text):
    _close(recorded(OTHERS[text]), RECORDED[text])


def test_every_expression_is_recorded():
    assert RECORDED.keys() == EXACT.keys() | OTHERS.keys()
    assert len(OTHERS) == sum(map(len, (VALUES, FUNCTIONS, TRAINING, ARRAYS)))


SIGNATURES = json.loads((Path(__file__).parent / "tensorflow" / "signatures.json").read_text())
TAKEN = {name: words.split() for words, names in SIGNATURES.items() for name in names.split()}
SINCE_2 = {
    **dict.fromkeys(("fill", "ones", "zeros"), "layout="),
    **dict.fromkeys(("linspace", "lin_space"), "axis="),
    **dict.fromkeys(("matmul", "linalg.matmul"), "output_type= grad_a= grad_b="),
    **dict.fromkeys(("nn.top_k", "math.top_k"), "index_type="),
    **dict.fromkeys(("train.AdamOptimizer", "train.Optimizer"), "use_own_namescope_for_non_slot_vars="),
    **dict.fromkeys(
        (
            *("gather_nd", "manip.gather_nd", "scatter_nd", "manip.scatter_nd", "tensor_scatter_add"),
            *("tensor_scatter_nd_add", "tensor_scatter_nd_max", "tensor_scatter_nd_min", "tensor_scatter_nd_sub"),
            *("tensor_scatter_sub",),
        ),
        "bad_indices_policy=",
    ),
    "image.non_max_suppression_padded": "sorted_input= canonicalized_coordinates= tile_size=",
    "enable_eager_execution": "config= device_policy= execution_mode=",
}
"""What TensorFlow's second version added to functions of the first: programs written for that give none of it."""
NOT_CALLED = {"DType", "dtypes.DType", "Tensor", "Variable", "VariableScope", "meshgrid", "numpy_function"}
"""Classes that programs get and do not make; what is said to take `*args, **kwargs`; what is a decorator since 2."""


def _there():
    """What is here of TensorFlow's names."""
    spaces = {name.rpartition(".")[0] for name in TAKEN}
    known = {f"{space}.{name}".lstrip(".") for space in spaces for name in namespace.known(space)}
    return {name: namespace.resolve(name) for name in sorted(known & TAKEN.keys() - NOT_CALLED)}


def _differs(name, function):
    """Whether a call that TensorFlow takes is refused, or means something else: by place, by name, with less given."""
    wanted = [one for one in TAKEN[name] if one not in SINCE_2.get(name, "").split()]
    named = [one for one in wanted if not one.startswith(("*", "/", "self"))]
    given = [one for one in inspect.signature(function).parameters.values() if one.name not in ("self", "_sentinel")]
    by_place = [one for one in given if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    is_open = any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in given)
    may_be_left = {one.name for one in given if one.default is not inspect.Parameter.empty}
    return (
        [one.name for one in by_place[: len(named)]] != [one.rstrip("=") for one in named]
        or not {one.rstrip("=") for one in named if one.endswith("=")} <= may_be_left
        or not {one.name for one in by_place[len(named) :]} <= may_be_left
        or (any(re.match(r"\*\w", one) for one in wanted) and not is_open)
    )


def test_a_call_written_for_tensorflow_means_the_same():
    there = _there()
    assert len(there) > len(RECORDED)
    assert [name for name, one in there.items() if _differs(name, one)] == []
