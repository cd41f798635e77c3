import hashlib
import json
import re
import zipfile

import ml_dtypes
import numpy as np
import pytest

import compiler
from xlabench.cases import inputs
from xlabench.cases.inputs import DTYPES, GENERATORS
from xlabench.errors import BenchError, Undecidable

ADD = """HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  n = s32[] parameter(1)
  ROOT t = (f32[4], s32[]) tuple(x, n)
}
"""

# The first digits of the SHA-256 of a 4x4 array (7 for linspace), from (seed 42, parameter 1), made by another program.
KNOWN = [
    ("normal", "f32", {"std": 2.0, "mean": 1.0}, "45aaf5c86be4967b"),
    ("normal", "bf16", {}, "2c551abba1b76a37"),
    ("normal", "c64", {}, "8131a8ea92212593"),
    ("uniform", "f64", {"lo": -1, "hi": 3}, "ee44a75d542e2b6b"),
    ("int", "s32", {"lo": 0, "hi": 50}, "34e4ee8a6bb2b815"),
    ("sorted_int", "s64", {"lo": 0, "hi": 50}, "be5ac811b525f6da"),
    ("onehot", "f32", {}, "5fbd28180667478c"),
    ("bool", "pred", {"p": 0.3}, "87c54f5d64c31e2f"),
    ("full", "f16", {"value": 2.5}, "b73da4a242f3c226"),
    ("linspace", "f32", {"lo": 0, "hi": 1}, "a823fe7e4f27e2dc"),
    ("choice", "f32", {"values": [0.25, 3, -7]}, "86676f7162c5e134"),
    ("key", "u32", {}, "71027c30b4b59d0b"),
    ("lower_tri", "f64", {}, "b99ebe0eeb17d051"),
]


def _recipe(tmp_path, kind, dtype, arguments, shape=(4, 4)):
    parameter = {"name": "x", "shape": list(shape), "dtype": dtype, "gen": {"kind": kind, **arguments}}
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"seed": 42, "params": [{**parameter, "name": "first"}, parameter]}))
    return inputs.load_recipe(path)


@pytest.mark.parametrize(("kind", "dtype", "arguments", "digest"), KNOWN)
def test_a_recipe_gives_the_same_bits_everywhere(tmp_path, kind, dtype, arguments, digest):
    shape = (7,) if kind == "linspace" else (4, 4)
    array = _recipe(tmp_path, kind, dtype, arguments, shape).make()[1]
    assert hashlib.sha256(array.tobytes()).hexdigest().startswith(digest)
    assert (array.dtype, array.shape) == (DTYPES[dtype], shape)


def test_every_generator_is_held_to_its_bits_or_its_property():
    assert {row[0] for row in KNOWN} | {"spd"} == set(GENERATORS)


def test_a_positive_definite_matrix_has_the_eigenvalues_asked_for(tmp_path):
    array = _recipe(tmp_path, "spd", "f64", {"cond": 9.0}).make()[1]
    np.testing.assert_allclose(np.linalg.eigvalsh(array), np.geomspace(1, 9, 4))
    np.testing.assert_array_equal(array, array.T)


def test_another_seed_gives_other_values(tmp_path):
    recipe = _recipe(tmp_path, "normal", "f32", {})
    assert not np.array_equal(recipe.make()[0], recipe.make(7)[0])


def test_arrays_start_on_a_cache_line(tmp_path):
    assert all(array.ctypes.data % 64 == 0 for array in _recipe(tmp_path, "normal", "f32", {}).make())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a recipe"),
        ("[]", "not a recipe"),
        ("{}", "'params' is missing"),
        ('{"params": []}', "'seed' is missing"),
        ('{"seed": 1, "params": [{"dtype": "f32", "gen": {"kind": "normal"}}]}', "'shape' is missing"),
        ('{"seed": -1, "params": []}', "a seed of -1"),
        ('{"seed": 1, "params": [], "rtol": "tight"}', "'tight' is no bound"),
        ("[" * 100_000, "not a recipe"),
        ('{"seed": 1, "params": [{"shape": [], "dtype": "f99", "gen": {"kind": "normal"}}]}', "known are pred"),
        ('{"seed": 1, "params": [{"shape": [], "dtype": "f32", "gen": {"kind": "magic"}}]}', "known are normal"),
        ('{"seed": 1, "params": [{"shape": [], "dtype": "f32", "gen": {"kind": "uniform"}}]}', "lacks lo, hi"),
    ],
)
def test_a_bad_recipe_is_said_with_its_place(tmp_path, text, message):
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(BenchError, match=message) as caught:
        inputs.load_recipe(path)
    assert str(path) in str(caught.value)


def test_a_program_without_a_recipe_has_none(tmp_path):
    assert inputs.recipe_beside(tmp_path / "p.hlo") is None


def test_inputs_larger_than_the_machine_are_refused_before_any_is_made():
    module = compiler.parse("ENTRY e { ROOT x = f32[1000000,1000000] parameter(0) }")
    with pytest.raises(Undecidable, match="4000000000000 bytes"):
        inputs.generate(module, 0)


def test_inputs_from_a_seed_repeat():
    module = compiler.parse(ADD)
    for one, two in zip(inputs.generate(module, 3), inputs.generate(module, 3), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("name", [name for name in DTYPES if name not in ("c64", "c128")])
def test_every_element_type_can_be_generated(name):
    module = compiler.parse(f"HloModule m\nENTRY e {{\n  ROOT x = {name}[8] parameter(0)\n}}\n")
    (array,) = inputs.generate(module, 0)
    assert (array.dtype, array.shape) == (DTYPES[name], (8,))


def _saved(tmp_path, *arrays, **named):
    path = tmp_path / "inputs.npz"
    np.savez(path, *arrays, **named)
    return path


def test_npz_inputs_come_by_name(tmp_path):
    path = _saved(tmp_path, n=np.int32(2), x=np.ones(4, np.float32))
    x, n = inputs.load_npz(path, compiler.parse(ADD))
    assert (x.shape, n.item()) == ((4,), 2)


def test_npz_inputs_come_by_position_where_names_differ(tmp_path):
    path = _saved(tmp_path, np.ones(4, np.float32), np.int32(2))
    assert inputs.load_npz(path, compiler.parse(ADD))[1].item() == 2


def test_npz_inputs_of_a_type_that_npz_cannot_say_come_back_whole(tmp_path):
    array = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    module = compiler.parse("HloModule m\nENTRY e {\n  ROOT x = bf16[2] parameter(0)\n}\n")
    for stored in (array, array.view(np.uint16)):
        (back,) = inputs.load_npz(_saved(tmp_path, stored), module)
        assert back.dtype == array.dtype
        np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ([np.ones(4, np.float32)], "1 inputs, but m takes 2"),
        ([np.ones(4, np.float64), np.int32(1)], r"input 0 is float64\[4\].*give float32\[4\]"),
        ([np.ones(5, np.float32), np.int32(1)], r"input 0 is float32\[5\]"),
        ([np.ones(4, np.float32), np.uint32(1)], "input 1 is uint32"),
        ([np.array([None] * 4), np.int32(1)], "not a whole .npz file"),
    ],
)
def test_npz_inputs_that_do_not_fit_are_refused(tmp_path, arrays, message):
    with pytest.raises(BenchError, match=message):
        inputs.load_npz(_saved(tmp_path, *arrays), compiler.parse(ADD))


@pytest.mark.parametrize("data", [b"", b"PK", b"not a zip file at all"])
def test_an_npz_file_that_is_none_is_refused(tmp_path, data):
    path = tmp_path / "inputs.npz"
    path.write_bytes(data)
    with pytest.raises(BenchError, match=r"not a whole \.npz file: File is not a zip file; make it with"):
        inputs.load_npz(path, compiler.parse(ADD))


def test_a_truncated_npz_file_is_refused(tmp_path):
    path = _saved(tmp_path, np.ones(4, np.float32), np.int32(1))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(BenchError, match=r"not a whole \.npz file"):
        inputs.load_npz(path, compiler.parse(ADD))


def test_a_bare_array_is_no_npz_file(tmp_path):
    path = tmp_path / "inputs.npz"
    with path.open("wb") as file:
        np.save(file, np.ones(4))
    with pytest.raises(BenchError, match="bare array"):
        inputs.load_npz(path, compiler.parse(ADD))


def test_a_zip_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "inputs.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "a")
        archive.writestr("b.txt", "b")
    with pytest.raises(BenchError, match=r"inputs\.npz"):
        inputs.load_npz(path, compiler.parse(ADD))


def test_a_missing_npz_file_is_said(tmp_path):
    with pytest.raises(BenchError, match="cannot be read"):
        inputs.load_npz(tmp_path / "none.npz", compiler.parse(ADD))


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("  x = f32[4] parameter(0)\n  y = f32[4] multiply(x, x)\n  ROOT n = s32[4] convert(y)", 0.1),
        ("  x = f32[4] parameter(0)\n  ROOT p = pred[4] compare(x, x), direction=EQ", 0.0),
        ("  x = s32[4] parameter(0)\n  ROOT y = s32[4] multiply(x, x)", 0.0),
    ],
)
def test_only_integers_that_depend_on_rounding_may_differ(text, share):
    recipe = inputs.Recipe(0, (), rtol=0.1)
    assert recipe.policy(compiler.parse(f"HloModule m\nENTRY e {{\n{text}\n}}\n")).discrete_share == share


@pytest.mark.parametrize(
    ("shape", "arguments"),
    [
        ((-1,), {"lo": 0, "hi": 1}),
        ((3,), {"lo": 1, "hi": 0}),
        ((3,), {"lo": "a", "hi": 0}),
        ((1 << 60,), {"lo": 0, "hi": 1}),
    ],
)
def test_what_cannot_be_made_is_said_with_its_parameter(tmp_path, shape, arguments):
    with pytest.raises(BenchError, match=r"first cannot be made by .*uniform"):
        _recipe(tmp_path, "uniform", "f32", arguments, shape).make()


@pytest.mark.parametrize(
    ("shape", "said"), [("u1[4]", "of these types only: pred, "), ("(f32[2])", "arrays only, pass its leaves")]
)
def test_what_no_inputs_can_be_made_for_is_said(shape, said):
    module = compiler.parse(f"ENTRY m {{ x = {shape} parameter(0) ROOT y = f32[] constant(1) }}")
    with pytest.raises(BenchError, match=re.escape(f"parameter x is {shape}; inputs can be made ") + ".*" + said):
        inputs.generate(module, 1)
