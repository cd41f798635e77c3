"""Elements at an index, one or as many as there are lanes: in order, a few apart, far apart, one for all, masked."""

import numpy as np
import pytest
from emitted_kernels import kernel, run

from compiler.codegen import access
from compiler.codegen.index import Emission, Lane, Variable, constant, whole
from compiler.codegen.lane_builder import even_first
from compiler.codegen.llvm_ir import PTR, Value, integer, vector_type
from compiler.ir.types import TYPES

IN, OUT = Value(PTR, "%in0"), Value(PTR, "%out0")
WIDTH, FIRST, SIZE = 8, 3, 64
LANES = range(FIRST, FIRST + WIDTH)
INDICES = {
    "neighbours": (lambda i: i, lambda n: n),
    "neighbours from further on": (lambda i: i.plus(5), lambda n: n + 5),
    "two apart": (lambda i: i.times(2).plus(1), lambda n: 2 * n + 1),
    "five apart": (lambda i: i.times(5), lambda n: 5 * n),
    "backwards": (lambda i: i.times(-1).plus(20), lambda n: 20 - n),
    "the same for all": (lambda i: constant(7), lambda n: 7),
}


def literal(kind, values):
    return Value(vector_type(kind, len(values)), "<" + ", ".join(f"{kind} {value}" for value in values) + ">")


def copied(type_, index, *, paired=False, mask=None):
    """An array of -1 in which each lane writes, at its own number, the element that it reads at an index."""
    found = kernel(f"ENTRY e {{ x = {type_}[{SIZE}] parameter(0)  ROOT n = {type_}[{SIZE}] abs(x) }}")
    element_type = TYPES[type_]

    def emit(builder):
        order = even_first(WIDTH) if paired else range(WIDTH)
        counter = literal("i64", [FIRST + n for n in order])
        chosen = None if mask is None else literal("i1", [str(mask[n]).lower() for n in order])
        lane = Lane(Variable(counter, SIZE), Variable(integer(FIRST), SIZE), WIDTH, chosen, paired)
        emission = Emission(builder, lane=lane)
        value = access.read(emission, IN, element_type, index(whole(lane.variable)))
        access.write(emission, OUT, element_type, whole(lane.variable), value)

    x = np.arange(SIZE).astype(element_type.dtype)
    left = run(found, emit, [x], start=np.full(SIZE, -1).astype(element_type.dtype)).astype(float)
    assert set(np.delete(left, LANES)) == {-1}, "nothing else is written"
    return left[FIRST : FIRST + WIDTH].tolist()


@pytest.mark.parametrize("type_", ["f32", "f64", "s8", "s32", "bf16", "f16"])
@pytest.mark.parametrize("name", INDICES)
def test_each_lane_reads_its_own_element(type_, name):
    index, number = INDICES[name]
    assert copied(type_, index) == [number(n) for n in LANES]


@pytest.mark.parametrize("type_", ["f32", "bf16"])
@pytest.mark.parametrize("name", ["neighbours", "neighbours from further on"])
def test_lanes_in_pairs_come_back_in_the_order_of_memory(type_, name):
    index, number = INDICES[name]
    assert copied(type_, index, paired=True) == [number(n) for n in LANES]


@pytest.mark.parametrize("name", ["neighbours", "backwards", "the same for all"])
@pytest.mark.parametrize("kept", [[True] * 8, [True, False] * 4, [False] * 7 + [True]])
def test_lanes_that_are_masked_write_nothing(name, kept):
    index, number = INDICES[name]
    expected = [float(number(n)) if is_kept else -1 for n, is_kept in zip(LANES, kept, strict=True)]
    assert copied("f32", index, mask=kept) == expected


def test_lanes_that_are_masked_read_nothing_beyond_an_array():
    # Half a million elements on there is no memory.
    beyond = copied("f32", lambda i: i.times(1 << 17).plus(-FIRST << 17), mask=[True] + [False] * 7)
    assert beyond == [0] + [-1] * 7


def test_without_lanes_it_is_one_element():
    found = kernel("ENTRY e { x = f32[4] parameter(0)  ROOT n = f32[4] negate(x) }")

    def emit(builder):
        emission = Emission(builder)
        access.write(emission, OUT, TYPES["f32"], constant(1), access.read(emission, IN, TYPES["f32"], constant(3)))

    assert run(found, emit, [np.arange(4, dtype=np.float32)]).tolist() == [0, 3, 0, 0]
