"""A bundle for people without this tool: text, arrays, literals where there are any, and a script."""

import ast
import io

import ml_dtypes
import numpy as np
import pytest

import compiler
from xlabench.bundles.export import contents
from xlabench.bundles.failure import Failure
from xlabench.judging.bounds import Bounds
from xlabench.judging.tolerance import TolerancePolicy

TEXT = "ENTRY e { x = f32[3] parameter(0)  ROOT y = f32[3] add(x, x) }"
X = np.arange(3, dtype=np.float32)


def failure(text=TEXT, inputs=(X,), expected=(2 * X,), **more):
    fields = {"engine": "cpu", "reference": "reference", "seed": 7, "verdict": "wrong", "message": "1 of 3"}
    return Failure(text, list(inputs), list(expected), list(expected), **{**fields, **more})


def constants(script):
    """What the script states at its beginning, by name."""
    assigned = [node for node in ast.parse(script).body if isinstance(node, ast.Assign)]
    stated = [node for node in assigned if isinstance(node.targets[0], ast.Name)]
    return {node.targets[0].id: ast.unparse(node.value) for node in stated}


def arrays(data):
    with np.load(io.BytesIO(data)) as archive:
        return [archive[key] for key in archive.files]


def test_the_files_say_all_that_a_judgement_needs():
    files, left_out = contents(failure())
    assert set(files) == {
        "module.hlo",
        "inputs.npz",
        "expected.npz",
        "bounds.npz",
        "run_in_jax.py",
        "literals.textproto",
    }
    assert left_out == ""
    np.testing.assert_array_equal(arrays(files["inputs.npz"])[0], X)
    assert compiler.parse(files["module.hlo"].decode()) == compiler.parse(TEXT)


def test_the_script_is_python_and_knows_what_was_recorded():
    stated = constants(contents(failure())[0]["run_in_jax.py"].decode())
    assert stated["RECORDED"] == "'wrong'"
    assert stated["DTYPES"] == "{'inputs': ['float32'], 'expected': ['float32']}"
    assert (stated["TOKENS"], stated["GRANTED"], stated["MORE_CALLS"]) == ("[]", "[0]", "0")


@pytest.mark.parametrize(("verdict", "calls"), [("wrong", "0"), ("flaky", "20"), ("crash", "0")])
def test_what_does_not_answer_alike_is_called_more_often(verdict, calls):
    assert constants(contents(failure(verdict=verdict))[0]["run_in_jax.py"].decode())["MORE_CALLS"] == calls


def test_bounds_that_the_bundle_holds_decide_and_its_tolerance_where_it_holds_none():
    bounds = (Bounds(2 * X, np.full(3, 0.5, np.float32)),)
    value, error = arrays(contents(failure(bounds=bounds))[0]["bounds.npz"])
    assert (value.tolist(), error.tolist()) == ((2 * X).tolist(), [0.5] * 3)
    policy = TolerancePolicy(rtol=0.0, atol=0.25)
    _, error = arrays(contents(failure(policy=policy))[0]["bounds.npz"])
    assert np.all(error >= 0.25)


def test_integers_may_be_beyond_by_as_many_as_the_tolerance_leaves_open():
    text = TEXT.replace("f32", "s32")
    given = np.arange(3, dtype=np.int32)
    left_open = failure(text, [given], [2 * given], policy=TolerancePolicy(discrete_share=0.5))
    assert constants(contents(left_open)[0]["run_in_jax.py"].decode())["GRANTED"] == "[1]"


def test_tokens_are_results_that_hold_nothing():
    text = "ENTRY e { x = f32[3] parameter(0)  t = token[] after-all()  ROOT y = (token[], f32[3]) tuple(t, x) }"
    assert constants(contents(failure(text, expected=[X]))[0]["run_in_jax.py"].decode())["TOKENS"] == "[0]"


def test_types_that_are_not_numpys_are_named_and_their_bounds_are_of_integers():
    text = TEXT.replace("f32", "s4")
    given = np.array([1, 2, 3]).astype(ml_dtypes.int4)
    files, _ = contents(failure(text, [given], [given]))
    assert "'int4'" in constants(files["run_in_jax.py"].decode())["DTYPES"]
    value, _ = arrays(files["bounds.npz"])
    assert (value.dtype, value.tolist()) == (np.int64, [1, 2, 3])


def test_what_literals_cannot_say_is_left_out_and_why_is_said():
    text = TEXT.replace("f32", "f6e2m3fn").replace("add(x, x)", "copy(x)")
    given = np.ones(3, ml_dtypes.float6_e2m3fn)
    files, left_out = contents(failure(text, [given], [given]))
    assert "literals.textproto" not in files
    assert "f6e2m3fn" in left_out


@pytest.mark.parametrize(("expected", "said"), [((), "True"), ((2 * X,), "False")])
def test_the_script_knows_whether_anybody_had_an_answer(expected, said):
    files, _ = contents(failure(expected=expected, verdict="crash", is_unanswered=not expected))
    assert constants(files["run_in_jax.py"].decode())["IS_UNANSWERED"] == said
