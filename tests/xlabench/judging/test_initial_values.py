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
