"""A call of a library for GPUs that is written out wrongly is told from what it means, whatever back ends agree on."""

import numpy as np
import pytest

import compiler
from compiler.expansion import gpu_convolutions, gpu_products
from tests.compiler.generate.test_libraries import drawn
from xlabench.fuzzing import patients
from xlabench.fuzzing.case import Case
from xlabench.fuzzing.values import make_inputs
from xlabench.judging import library_calls


def reshaped(kernel, numbers, groups):
    """A filter whose groups are not moved, only counted elsewhere."""
    dims = list(kernel.dims)
    dims[numbers.kernel_output_feature] //= groups
    dims[numbers.kernel_input_feature] *= groups
    return kernel.reshape(*dims)


WRONG = {
    "another activation": ("library product", gpu_products, "gelu", lambda value: value),
    "no positive part": ("library product", gpu_products, "rectified", lambda value: value),
    "no factor": ("library product", gpu_products, "number_in", lambda _call, _config, _name, default=1: default or 0),
    "a convolution without its scale": ("library convolution", gpu_convolutions, "_scaled", lambda _, value: value),
    "groups that stay where they are": (
        "library convolution", gpu_convolutions, "_of_groups", reshaped,
    ),
    "a window that is not turned": ("library convolution", gpu_convolutions, "replace", lambda one, **_: one),
}  # fmt: skip
"""What may be wrong of what stands for a call, and where."""


@pytest.mark.parametrize("name", WRONG)
def test_what_a_call_does_not_mean_is_told(name, monkeypatch):
    kind, module, function, wrong = WRONG[name]
    monkeypatch.setattr(module, function, wrong)
    assert any(is_told(kind, seed) for seed in range(40))


def is_told(kind, seed):
    program = drawn(kind, seed)
    inputs = make_inputs(program, np.random.default_rng(seed), "tame")
    try:
        library_calls.check(program, inputs)
    except (library_calls.LibraryError, compiler.UnsupportedError) as error:
        return isinstance(error, library_calls.LibraryError)
    return False


def test_a_program_without_such_calls_has_nothing_to_be_checked():
    assert (
        library_calls.check(compiler.parse("ENTRY e { ROOT x = f32[2] parameter(0) }"), [np.zeros(2, np.float32)]) == 0
    )


def test_campaigns_check_the_calls_of_their_cases(monkeypatch):
    monkeypatch.setattr(gpu_products, "rectified", lambda value: value)
    programs = [drawn("library product", seed) for seed in range(40)]
    made = [make_inputs(program, np.random.default_rng(seed), "tame") for seed, program in enumerate(programs)]
    told = list(filter(None, map(answer, programs, made)))
    assert told
    assert all("__cublas$lt$matmul means" in one for one in told)


def answer(program, inputs):
    try:
        patients.examine(Case(1, program, inputs))
    except library_calls.LibraryError as error:
        return str(error)
    return ""
