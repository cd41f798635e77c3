"""A gather is computed in what asks for its elements again where its windows stay the same along a row."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import compiler
from xlabench.cases import inputs

DIMS = (2, 5, 6, 8)


def _gather(name: str, operand: str, dims: tuple[int, ...], dim: int, count: int) -> tuple[str, tuple[int, ...]]:
    """A gather along one dimension by indices of a parameter; its line and its dimensions."""
    sizes = [1 if d == dim else size for d, size in enumerate(dims)]
    result = tuple(count if d == dim else size for d, size in enumerate(dims))
    offsets = ",".join(str(d) for d in range(len(dims)) if d != dim)
    attributes = f"offset_dims={{{offsets}}}, collapsed_slice_dims={{{dim}}}, start_index_map={{{dim}}}"
    sizes_text = ",".join(map(str, sizes))
    line = (
        f"{name} = {_type(result)} gather({operand}, i{name}), {attributes},"
        f" index_vector_dim=1, slice_sizes={{{sizes_text}}}"
    )
    return line, result


def _type(dims: tuple[int, ...]) -> str:
    return f"f32[{','.join(map(str, dims))}]"


def _two(first: int, second: int, between: str = "") -> str:
    """A gather along the first dimension, read along the second."""
    one, dims = _gather("a", "x", DIMS, first, 11)
    moved = ""
    operand = "a"
    if between == "reverse":
        moved, operand = f"m = {_type(dims)} reverse(a), dimensions={{1}}", "m"
    elif between == "transpose":
        dims = tuple(reversed(dims))
        moved, operand = f"m = {_type(dims)} transpose(a), dimensions={{3,2,1,0}}", "m"
    elif between == "tanh":
        moved, operand = f"m = {_type(dims)} negate(a)", "m"
    two, _ = _gather("b", operand, dims, second, 27)
    return f"""HloModule m
ENTRY e {{
  x = {_type(DIMS)} parameter(0)
  ia = s32[11,1] parameter(1)
  ib = s32[27,1] parameter(2)
  {one}
  {moved}
  ROOT {two}
}}"""


CASES = list(itertools.product(range(4), range(4), ("", "reverse", "transpose", "tanh")))


def _is_one_kernel(text: str) -> bool:
    return len(compiler.decide(text).kernels) == 1


@pytest.mark.parametrize(("first", "second", "between"), CASES)
def test_results_are_those_of_the_interpreter(first: int, second: int, between: str) -> None:
    text = _two(first, second, between)
    module = compiler.parse(text)
    x, _, _ = inputs.generate(module, 0)
    rng = np.random.default_rng(first * 16 + second)
    arrays = x, *(rng.integers(-3, 15, (n, 1), dtype=np.int32) for n in (11, 27))
    [expected] = compiler.interpret(module, *arrays)
    [result] = compiler.compile(text)(*arrays)
    assert result.tobytes() == np.asarray(expected).tobytes()


@pytest.mark.parametrize(("first", "second"), [(0, 1), (0, 2), (1, 2), (2, 1), (0, 3), (1, 3), (2, 3)])
@pytest.mark.parametrize("between", ["", "reverse", "tanh"])
def test_windows_that_stay_along_rows_are_asked_for_again(first: int, second: int, between: str) -> None:
    assert _is_one_kernel(_two(first, second, between))


@pytest.mark.parametrize("second", [0, 1, 2])
def test_windows_that_change_along_rows_are_computed_once(second: int) -> None:
    assert not _is_one_kernel(_two(3, second))


def test_a_gather_of_the_same_dimension_is_asked_for_along_rows_of_others() -> None:
    assert _is_one_kernel(_two(1, 1))
    assert not _is_one_kernel(_two(3, 3))


def test_what_is_turned_over_is_asked_for_along_other_rows() -> None:
    assert not _is_one_kernel(_two(0, 1, "transpose"))
    assert _is_one_kernel(_two(3, 1, "transpose"))


@pytest.mark.parametrize(("first", "second"), [(0, 1), (0, 3), (1, 3), (2, 3)])
def test_what_is_looked_up_along_rows_is_added_to_an_address_of_the_row(first: int, second: int) -> None:
    executable = compiler.compile(_two(first, second), options=compiler.CompileOptions(threads=1))
    lines = executable.artifacts["ir-no-opt.ll"].splitlines()
    rows = {line.split()[0] for line in lines if "getelementptr inbounds float, ptr %in0," in line}
    of_rows = [line for line in lines if any(f"ptr {row}, i64" in line for row in rows)]
    assert bool(of_rows) == (second == 3)
