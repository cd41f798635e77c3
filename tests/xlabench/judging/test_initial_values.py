"""Initial values are taken as often as XLA:CPU takes them, which its results on zeros have counted."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from xlabench.judging.liberties import runs

FUNCTION = "f {{ a = {t}[] parameter(0) b = {t}[] parameter(1) ROOT c = {t}[] {op}(a, b) }}"
REDUCE = "ROOT r = {t}[{kept}] reduce(x, z), dimensions={{{axes}}}, to_apply=f"
WINDOW = "ROOT r = {t}[{kept}] reduce-window(x, z), window={{size={size} pad={pad}}}, to_apply=f"


def result(root: str, dims: str, array: np.ndarray, initial: float, **words: str) -> np.ndarray:
    entry = "ENTRY e {{ x = {t}[{dims}] parameter(0) z = {t}[] parameter(1) " + root + " }}"
    module = compiler.parse((FUNCTION + entry).format(dims=dims, **words))
    ((found,),) = runs(module, [array, array.dtype.type(initial)], ["initial-values"], 1)
    return found


def test_a_single_element_is_left_as_it_was() -> None:
    found = result(REDUCE, "1,2", np.float32([[1, 2]]), 5, t="f32", op="add", kept="2", axes="0")
    assert found.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("dims", "axes", "times"),
    [
        ("32", "0", 1),
        ("33", "0", 3),
        ("1100", "0", 35 + 2 + 1),
        ("5,33", "0", 1),
        ("2,33", "0,1", 3),
        ("40,33", "0,1", 5),
    ],
)
def test_each_window_of_a_long_dimension_begins_with_the_initial_value(dims: str, axes: str, times: int) -> None:
    shape, reduced = [int(n) for n in dims.split(",")], [int(n) for n in axes.split(",")]
    kept = ",".join(str(n) for axis, n in enumerate(shape) if axis not in reduced)
    array = np.random.default_rng(1).integers(-9, 9, shape).astype(np.float32)
    found = result(REDUCE, dims, array, 2, t="f32", op="add", kept=kept, axes=axes)
    assert found.tolist() == (array.sum(tuple(reduced)) + 2 * times).tolist()


@pytest.mark.parametrize(
    ("size", "pad", "first", "last"),
    [
        (16, "15_0", 1, 1),
        (40, "39_0", 2, 4),
        (40, "40_0", 1, 4),
        (200, "199_0", 2, 14),
        (200, "0_199", 22, 10),
        (2000, "1999_0", 2, 134),
        (40, "38_0", 1, 1),
    ],
)
@pytest.mark.parametrize("op", ["add", "multiply", "maximum"])
def test_each_row_of_a_running_reduction_begins_with_the_initial_value(
    size: int, pad: str, first: int, last: int, op: str
) -> None:
    kept = str(size + sum(map(int, pad.split("_"))) - size + 1)
    words = {"kept": f"2,{kept}", "size": f"1x{size}", "pad": f"0_0x{pad}"}
    array = np.full((2, size), op == "multiply", np.int16)
    found = result(WINDOW, f"2,{size}", array, 3, t="s16", op=op, **words)
    once = {"add": lambda n: 3 * n, "multiply": lambda n: np.int64(3) ** n, "maximum": lambda _: 3}[op]
    assert found[:, [0, -1]].tolist() == [[int(np.int64(once(n)).astype(np.int16)) for n in (first, last)]] * 2


IN_ONE = "f {{ a = {t}[] parameter(0) b = {t}[] parameter(1) c = {t}[] {op}(a, b) "
FORMS = {
    "an array": IN_ONE + "d = {t}[] copy(c) t = ({t}[], {t}[]) tuple(c, d) "
    "ROOT r = {t}[] get-tuple-element(t), index=0 }}",
    "a tuple of one": IN_ONE + "ROOT t = ({t}[]) tuple(c) }}",
    "two arrays": "f {{ a = {t}[] parameter(0) p = {t}[] parameter(1) b = {t}[] parameter(2) q = {t}[] parameter(3) "
    "c = {t}[] {op}(a, b) d = {t}[] maximum(p, q) ROOT t = ({t}[], {t}[]) tuple(c, d) }}",
    "two arrays that look at each other": "f {{ a = {t}[] parameter(0) p = {t}[] parameter(1) b = {t}[] parameter(2) "
    "q = {t}[] parameter(3) c = {t}[] {op}(a, p) d = {t}[] maximum(b, q) ROOT t = ({t}[], {t}[]) tuple(c, d) }}",
}
"""What a reducer gives."""


def results(form: str, opcode: str, array: np.ndarray, op: str, kept: str, more: str) -> list[list[np.ndarray]]:
    """Of arrays that are alike, from 3 and 5: what comes with the liberty, and without."""
    t = {"float32": "f32", "int16": "s16"}[array.dtype.name]
    many = 2 if "two" in form else 1
    result = f"{t}[{kept}]" if form == "an array" else f"({', '.join([f'{t}[{kept}]'] * many)})"
    operands = ["x"] * many + ["i", "j"][:many]
    text = FORMS[form].format(t=t, op=op) + (
        f"ENTRY e {{ x = {t}[{array.size}] parameter(0) i = {t}[] parameter(1) j = {t}[] parameter(2)"
        f" ROOT r = {result} {opcode}({', '.join(operands)}), {more}, to_apply=f }}"
    )
    module, inputs = compiler.parse(text), [array, array.dtype.type(3), array.dtype.type(5)]
    (with_liberty,) = runs(module, inputs, ["initial-values"], 1)
    return [with_liberty, compiler.interpret(module, *inputs)]


OPS = {"add": lambda n: 3 * n, "multiply": lambda n: np.int64(3) ** n}


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", [np.float32, np.int16])
@pytest.mark.parametrize(("size", "times"), [(1, 0), (32, 1), (33, 3)])
@pytest.mark.parametrize("form", ["an array", "a tuple of one"])
def test_one_array_is_reduced_in_windows_whatever_form_its_result_has(
    form: str, size: int, times: int, dtype: type, op: str
) -> None:
    array = np.full(size, op == "multiply", dtype)
    ((found,), _) = results(form, "reduce", array, op, "", "dimensions={0}")
    assert found.shape == ()
    assert found == np.int64(OPS[op](times)).astype(dtype)


@pytest.mark.parametrize("size", [2, 33, 200])
def test_several_arrays_are_reduced_at_once(size: int) -> None:
    found, plain = results("two arrays", "reduce", np.zeros(size, np.float32), "add", "", "dimensions={0}")
    assert found == plain == [3, 5]


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", [np.float32, np.int16])
@pytest.mark.parametrize("form", ["an array", "a tuple of one", "two arrays"])
def test_each_array_of_a_running_reduction_goes_along_in_rows(form: str, dtype: type, op: str) -> None:
    array = np.full(40, op == "multiply", dtype)
    found, plain = results(form, "reduce-window", array, op, "40", "window={size=40 pad=39_0}")
    assert found[0][[0, -1]].tolist() == [np.int64(OPS[op](n)).astype(dtype) for n in (2, 4)]
    assert [one.tolist() for one in found[1:]] == [one.tolist() for one in plain[1:]]


def test_what_is_made_of_other_arrays_is_left_alone() -> None:
    form = "two arrays that look at each other"
    found, plain = results(form, "reduce-window", np.ones(40, np.float32), "add", "40", "window={size=40 pad=39_0}")
    assert [one.tolist() for one in found] == [one.tolist() for one in plain]
