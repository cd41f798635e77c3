"""Halves are added in f32 and rounded once; the greatest of nothing is the least there is."""

import ml_dtypes
import numpy as np
import pytest

import compiler
from compiler.expansion.expression import Expression
from compiler.ir.types import TYPES
from compiler.tf2xla.reducing import greatest, in_f32, total


def run(shape, value, change):
    module = compiler.parse(f"ENTRY e {{ ROOT x = {shape} parameter(0) }}")
    module.entry.root = change(Expression(module.entry.root)).instruction
    module.sort_computations()
    compiler.verify(module)
    return compiler.interpret(module, value)[0]


def test_a_sum_of_halves_is_rounded_once():
    values = np.array([1.0, *[2.0**-9] * 256], ml_dtypes.bfloat16)
    assert run("bf16[257]", values, lambda x: total(x, (0,))) == 1.5


@pytest.mark.parametrize(("name", "added"), [("bf16", "f32"), ("f16", "f32"), ("f64", "f64"), ("s8", "s8")])
def test_numbers_are_added_in_a_type_that_holds_their_sum(name, added):
    assert in_f32(TYPES[name]).name == added


@pytest.mark.parametrize(("shape", "least"), [("f32[2,0]", -np.inf), ("s8[2,0]", -128), ("u8[2,0]", 0)])
def test_the_greatest_of_nothing_is_the_least_number(shape, least):
    dtype = TYPES[shape.partition("[")[0]].dtype
    assert run(shape, np.zeros((2, 0), dtype), lambda x: greatest(x, (1,))).tolist() == [least] * 2
