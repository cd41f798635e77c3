"""Custom calls whose meaning a caller gives: the same on the reference and the CPU; what is wrong is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import compiler
from compiler.diagnostics import InputError, UnsupportedError
from compiler.ir.types import TYPES, Kind

LOOP = """HloModule m
body {
  s = (s32[], f32[3,4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[3,4] get-tuple-element(s), index=1
  c = f32[] constant(3)
  r = (f32[3,4], s32[3,4]) custom-call(x, c), custom_call_target="op", backend_config="abc"
  y = f32[3,4] get-tuple-element(r), index=0
  n = s32[3,4] get-tuple-element(r), index=1
  f = f32[3,4] convert(n)
  z = f32[3,4] add(y, f)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT o = (s32[], f32[3,4]) tuple(j, z)
}
cond {
  s = (s32[], f32[3,4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT p = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[3,4] parameter(0)
  z = s32[] constant(0)
  t = (s32[], f32[3,4]) tuple(z, x)
  w = (s32[], f32[3,4]) while(t), condition=cond, body=body
  ROOT q = f32[3,4] get-tuple-element(w), index=1
}"""

ONE = 'ENTRY e { x = f32[4] parameter(0) ROOT r = f32[4] custom-call(x), custom_call_target="op" }'
X = np.arange(4, dtype=np.float32)

OPTIONS = (
    compiler.CompileOptions(),
    compiler.CompileOptions(fusion=False, threads=2),
    compiler.CompileOptions(opt=0, check_memory=True),
)


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    compiler.register_custom_call("op", None)


def everywhere(text: str, *inputs: Any) -> list[np.ndarray]:
    """The results on the reference, which all settings of the CPU give to the bit."""
    expected = compiler.interpret(text, *inputs)
    for options in OPTIONS:
        executable = compiler.compile(text, "cpu", options)
        assert [r.tobytes() for r in executable(*inputs)] == [r.tobytes() for r in expected]
        assert executable.profile(*inputs) is not None
    return expected


def test_a_function_is_called_in_each_iteration_of_a_loop() -> None:
    def affine(x: np.ndarray, c: np.ndarray, *, backend_config: str) -> tuple[np.ndarray, np.ndarray]:
        assert c.shape == ()
        return x * 2 + c, np.full((3, 4), len(backend_config), np.int32)

    compiler.register_custom_call("op", affine)
    (result,) = everywhere(LOOP, np.ones((3, 4), np.float32))
    np.testing.assert_array_equal(result, np.full((3, 4), 32 + 6 * 31, np.float32))


@pytest.mark.parametrize("element_type", [t for t in TYPES.values() if t.kind is not Kind.OPAQUE], ids=str)
@pytest.mark.parametrize("dims", [(), (5,), (2, 0), (2, 3, 2)], ids=str)
def test_arrays_of_every_type_and_rank_go_in_and_out(element_type: Any, dims: tuple[int, ...]) -> None:
    seen = []

    def reverse(x: np.ndarray) -> np.ndarray:
        seen.append((x.dtype, x.shape))
        return np.flip(x)

    compiler.register_custom_call("op", reverse)
    shape = f"{element_type.name}[{','.join(map(str, dims))}]"
    text = f'ENTRY e {{ x = {shape} parameter(0) ROOT r = {shape} custom-call(x), custom_call_target="op" }}'
    values = np.arange(int(np.prod(dims))).reshape(dims) % 2
    given = values.astype(element_type.dtype)
    (result,) = compiler.interpret(text, given)
    assert result.tobytes() == np.flip(given).tobytes()
    (compiled,) = compiler.compile(text)(given)
    assert compiled.tobytes() == result.tobytes()
    assert set(seen) == {(np.dtype(element_type.dtype), dims)}


def test_operands_cannot_be_written_over() -> None:
    def spoil(x: np.ndarray) -> np.ndarray:
        x[0] = 7
        return x

    compiler.register_custom_call("op", spoil)
    with pytest.raises(InputError, match="read-only"):
        compiler.interpret(ONE, X)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: x.astype(np.float64), r"gave float64\[4\], the program says f32\[4\]"),
        (lambda x: x[:2], r"gave float32\[2\]"),
        (lambda x: (x, x), "gave 2 arrays"),
        (lambda x: None, r"gave object\[\]"),
        (lambda x: [[1], [1, 2]][int(x[0])], "gave"),
        (lambda x: x / {}["k"], "raised KeyError: 'k'"),
        (lambda: 0, "raised TypeError"),
    ],
    ids=["type", "shape", "count", "nothing", "ragged", "exception", "parameters"],
)
def test_what_a_function_does_wrong_is_said(function: Any, said: str) -> None:
    compiler.register_custom_call("op", function)
    executables = [compiler.compile(ONE, "cpu", options) for options in OPTIONS]
    for work in (lambda *x: compiler.interpret(ONE, *x), *executables):
        with pytest.raises(InputError, match=said) as caught:
            work(X)
        assert "custom-call to 'op' (r)" in str(caught.value)
    compiler.register_custom_call("op", lambda x: x)
    for executable in executables:  # what went wrong once is not raised again
        np.testing.assert_array_equal(executable(X)[0], X)


def test_what_cannot_call_python_says_so_by_the_target() -> None:
    compiler.register_custom_call("op", lambda x: x)
    for work in (
        lambda: compiler.compile(ONE, "nvptx", compiler.CompileOptions(device="sim")),
        lambda: compiler.compile_ahead(ONE),
    ):
        with pytest.raises(UnsupportedError, match="'op' is a Python function"):
            work()


def test_without_a_meaning_the_remedy_is_named() -> None:
    for work in (lambda: compiler.interpret(ONE, X), lambda: compiler.compile(ONE)):
        with pytest.raises(UnsupportedError, match="--custom-call op=module:function"):
            work()


def test_a_routine_on_memory_by_rows_is_refused_everywhere() -> None:
    text = """ENTRY e { a = f32[2,3] parameter(0)
      ROOT r = (f32[2,3]{1,0}, f32[2]) custom-call(a), custom_call_target="lapack_sgeqrf_ffi" }"""
    simulator = compiler.CompileOptions(device="sim")
    for work in (
        lambda: compiler.interpret(text, np.ones((2, 3), np.float32)),
        lambda: compiler.compile(text),
        lambda: compiler.compile(text, "nvptx", simulator),
    ):
        with pytest.raises(UnsupportedError, match="by columns"):
            work()


def test_a_cache_does_not_keep_what_calls_python(tmp_path: Path) -> None:
    options = compiler.CompileOptions(cache=str(tmp_path / "cache"))
    for factor in (2, 3):
        compiler.register_custom_call("op", lambda x, factor=factor: x * np.float32(factor))
        np.testing.assert_array_equal(compiler.compile(ONE, "cpu", options)(X)[0], X * factor)


def test_of_exact_operands_the_bounds_are_exact_and_of_others_nothing_is_known() -> None:
    compiler.register_custom_call("op", lambda x: x * x)
    (exact,) = compiler.interpret(ONE, X, wide=True)
    assert exact.bound.max() == 0
    text = ONE.replace("ROOT", "t = f32[4] tanh(x) ROOT").replace("custom-call(x)", "custom-call(t)")
    (unknown,) = compiler.interpret(text, X + 1, wide=True)
    assert unknown.undecided.all()


def test_targets_that_mean_something_keep_it() -> None:
    for target in ("Sharding", "TopK", "lapack_spotrf_ffi", "xla.sdy.GlobalToLocalShape"):
        with pytest.raises(InputError, match="have a meaning here"):
            compiler.register_custom_call(target, lambda x: x)
    with pytest.raises(InputError, match="is to be a function"):
        compiler.register_custom_call("op", 3)  # type: ignore[arg-type]


def test_functions_are_loaded_from_modules_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_ops.py").write_text(
        "class A:\n    @staticmethod\n    def twice(x):\n        return x * x.dtype.type(2)\n"
    )
    monkeypatch.chdir(tmp_path)
    for place in ("my_ops", "my_ops.py", "./my_ops.py", str(tmp_path / "my_ops.py")):
        assert compiler.load_custom_calls([f"op={place}:A.twice"]) == [f"op={tmp_path / 'my_ops.py'}:A.twice"]
        np.testing.assert_array_equal(compiler.interpret(ONE, X)[0], 2 * X)
    assert compiler.load_custom_calls(["op=numpy:negative"]) == ["op=numpy:negative"]
    np.testing.assert_array_equal(compiler.interpret(ONE, X)[0], -X)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("op", "give NAME=module:function"),
        ("op=numpy", "give NAME=module:function"),
        ("=numpy:negative", "give NAME=module:function"),
        ("op=no_such_module:f", "no module 'no_such_module'"),
        ("op=no_such_file.py:f", "no file no_such_file.py"),
        ("op=numpy:no_such_function", "no function 'no_such_function'"),
        ("op=numpy:pi", "no function 'pi'"),
        ("op=broken.py:f", "raised ZeroDivisionError"),
    ],
)
def test_what_cannot_be_loaded_is_said(text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("1 / 0\n")
    with pytest.raises(InputError, match=said):
        compiler.load_custom_calls([text])


def test_types_of_eight_bits_are_numpy_arrays_too() -> None:
    compiler.register_custom_call("op", lambda x: x + x)
    text = ONE.replace("f32", "bf16")
    (result,) = everywhere(text, X.astype(ml_dtypes.bfloat16))
    np.testing.assert_array_equal(result.astype(np.float32), 2 * X)
