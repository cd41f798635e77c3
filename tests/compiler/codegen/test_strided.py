"""Which leaves a loop reads across, and that a point comes to the same where they are read from somewhere else."""

import numpy as np
import pytest
from emitted_kernels import kernel

from compiler.codegen.index import ZERO, constant
from compiler.codegen.llvm_ir import Module
from compiler.codegen.nest import LoopNest, scratch
from compiler.codegen.signature import parameters
from compiler.codegen.strided import Access, find, narrow, weaves


def transpose(rows, columns):
    return kernel(
        f"ENTRY e {{ x = f32[{columns},{rows}] parameter(0)  "
        f"ROOT t = f32[{rows},{columns}] transpose(x), dimensions={{1,0}} }}"
    )


def asked(question, found, loops, *more):
    builder = scratch(Module(), parameters(found))
    return question(builder, found, LoopNest(int(np.prod(loops)), loops), *more)


def test_a_transposed_array_is_read_across_by_the_inner_loop_and_along_by_the_outer():
    reads = asked(find, transpose(32, 64), (32, 64), 16)
    assert (reads.loop, [(a.leaf.name, a.factors, a.constant) for a in reads.accesses]) == (0, [("x", (1, 32), 0)])


@pytest.mark.parametrize(
    ("rows", "columns", "side"),
    [(32, 64, 33), (4, 64, 2), (32, 4, 8)],
    ids=["a loop is shorter than a tile", "strides are short", "the inner loop is shorter than a tile"],
)
def test_nothing_is_found_where_tiles_would_not_pay(rows, columns, side):
    assert asked(find, transpose(rows, columns), (rows, columns), side) is None


def test_an_array_read_in_order_is_left_alone():
    found = kernel("ENTRY e { x = f32[32,64] parameter(0)  ROOT n = f32[32,64] negate(x) }")
    assert asked(find, found, (32, 64), 16) is None
    assert not asked(weaves, found, (32, 64))
    assert asked(narrow, found, (32, 64)) is None


@pytest.mark.parametrize(("rows", "columns", "expected"), [(32, 4, True), (32, 16, False), (8, 4, False)])
def test_few_long_columns_are_woven_into_rows(rows, columns, expected):
    assert asked(weaves, transpose(rows, columns), (rows, columns)) is expected


@pytest.mark.parametrize(("rows", "columns", "expected"), [(3, 64, 0), (16, 64, None)])
def test_a_short_outer_loop_is_the_one_to_take_neighbours_apart_by(rows, columns, expected):
    assert asked(narrow, transpose(rows, columns), (rows, columns)) == expected


@pytest.mark.parametrize(
    ("factors", "offset", "inside"),
    [((1, 4), 0, True), ((1, 4), 1, False), ((-1, 4), 0, False), ((-1, 4), 3, True), ((0, 0), -1, False)],
)
def test_an_access_stays_inside_if_its_least_and_greatest_offset_do(factors, offset, inside):
    leaf = transpose(4, 4).inputs[0]
    access = Access(leaf, factors, offset)
    assert access.stays_inside((4, 4)) is inside
    corners = [access.at([constant(i), constant(j)]).constant for i in (0, 3) for j in (0, 3)]
    assert (min(corners) >= 0 and max(corners) < 16) is inside
    assert access.at([ZERO, ZERO]) == constant(offset)
