"""Convolutions over sizes known at run time are drawn with all sizes, and tell where windows stand elsewhere."""

import numpy as np

import compiler
from compiler.expansion import dynamic_convolutions
from compiler.expansion.dynamic_convolutions import DYNAMIC_CONVOLUTIONS
from tests.compiler.generate.test_libraries import drawn
from xlabench.fuzzing.values import make_inputs
from xlabench.judging import library_calls

NAME = "library convolution of sizes"


def given(seed):
    module = drawn(NAME, seed)
    return module, make_inputs(module, np.random.default_rng(seed))


def call_of(module):
    return next(i for i in module.instructions() if i.opcode == "custom-call")


def test_all_kinds_come_with_both_paddings_and_many_sizes():
    kinds, sizes = set(), set()
    for seed in range(60):
        module, inputs = given(seed)
        attributes = call_of(module).attributes
        kinds.add((attributes["custom_call_target"], attributes["padding_type"]))
        sizes.add(next(int(array) for array in inputs if not array.ndim) & 15)
    paddings = ("PADDING_SAME", "PADDING_VALID")
    assert kinds == {(target, padding) for target in DYNAMIC_CONVOLUTIONS for padding in paddings}
    assert len(sizes) > 10
    assert 0 in sizes


def is_told(seed):
    module, inputs = given(seed)
    try:
        library_calls.check(module, inputs)
    except (library_calls.LibraryError, compiler.CompilerError):
        return True
    return False


def test_windows_that_stand_elsewhere_are_told(monkeypatch):
    right = dynamic_convolutions._output_count
    assert not any(map(is_told, range(30)))

    def later(*operands):
        count, before = right(*operands)
        return count, before * 0

    monkeypatch.setattr(dynamic_convolutions, "_output_count", later)
    assert sum(map(is_told, range(60))) > 5
