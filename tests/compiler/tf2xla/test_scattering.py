"""Slices of an array combined with updates, at places that may come several times or not at all."""

import numpy as np
import pytest

import compiler
from compiler.expansion.expression import Expression
from compiler.ir.literal import array_literal
from compiler.ir.module import Computation, Module
from compiler.ir.types import F32, S32
from compiler.ops.build import constant
from compiler.tf2xla.scattering import scattered

X = np.arange(12, dtype=np.float32).reshape(4, 3)


def combined(indices, updates, opcode, x=X):
    module = Module("m")
    entry = module.add_computation(Computation("e"))
    module.entry = entry
    given = [(x, F32), (np.array(indices, np.int32), S32), (np.array(updates, np.float32), F32)]
    parts = [Expression(constant(entry, array_literal(array, kind))) for array, kind in given]
    entry.root = scattered(*parts, opcode).instruction
    compiler.verify(module)
    return compiler.interpret(module)[0]


@pytest.mark.parametrize(("opcode", "at"), [("add", np.add), ("multiply", np.multiply), ("maximum", np.maximum)])
def test_rows_that_come_several_times_are_combined_each_time(opcode, at):
    rows, updates = [2, 0, 2], np.array([[1, 2, 3], [4, 5, 60], [7, 80, 9]], np.float32)
    expected = X.copy()
    at.at(expected, rows, updates)
    np.testing.assert_array_equal(combined([[row] for row in rows], updates, opcode), expected)


def test_without_an_opcode_rows_are_replaced():
    expected = X.copy()
    expected[3] = [7, 8, 9]
    np.testing.assert_array_equal(combined([[3]], [[7, 8, 9]], None), expected)


def test_a_place_may_be_a_single_element():
    expected = X.copy()
    expected[1, 2] += 100
    expected[0, 0] += 200
    np.testing.assert_array_equal(combined([[1, 2], [0, 0]], [100, 200], "add"), expected)


def test_places_outside_are_left_out():
    np.testing.assert_array_equal(combined([[4], [-1]], np.ones((2, 3)), "add"), X)


def test_nothing_changes_nothing():
    np.testing.assert_array_equal(combined(np.zeros((0, 1)), np.zeros((0, 3)), "add"), X)
    empty = np.zeros((4, 0), np.float32)
    assert combined([[1]], np.zeros((1, 0)), "add", empty).shape == (4, 0)
