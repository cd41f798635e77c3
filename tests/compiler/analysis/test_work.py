"""Work grows with what an op really does, and is infinite where nobody knows how often it is done."""

import math

import pytest

import compiler
from compiler.analysis.work import work, work_of_computations

CALLED = """add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
more { s = f32[] parameter(0)  ROOT c = pred[] constant(false) }
body { ROOT s = f32[] parameter(0) }
loops { s = f32[] parameter(0)  ROOT w = f32[] while(s), condition=more, body=body }
"""


def work_of(lines):
    module = compiler.parse(f"{CALLED} ENTRY e {{ {lines} }}")
    return work(module.entry.root, work_of_computations(module))


def square(n, opcode="dot"):
    how = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}" if opcode == "dot" else ""
    return work_of(f"x = f32[{n},{n}] parameter(0)  ROOT r = f32[{n},{n}] {opcode}(x, x){how}")


def test_products_take_the_third_power_and_sums_the_second():
    assert square(1024) > 500 * square(64)
    assert square(1024, "add") < 500 * square(64, "add")
    assert square(64) > 30 * square(64, "add")


def test_a_part_costs_what_is_taken_and_not_what_there_is():
    taken = work_of("x = f32[1000000] parameter(0)  ROOT r = f32[2] slice(x), slice={[0:2]}")
    assert taken < work_of("x = f32[1000000] parameter(0)  ROOT r = f32[1000000] negate(x)") / 100


def test_an_empty_array_still_takes_a_call():
    assert 0 < work_of("x = f32[0] parameter(0)  ROOT r = f32[0] negate(x)") < math.inf


@pytest.mark.parametrize(
    "lines",
    [
        "x = f32[] parameter(0)  ROOT w = f32[] while(x), condition=more, body=body",
        "x = f32[] parameter(0)  ROOT c = f32[] call(x), to_apply=loops",
    ],
)
def test_of_a_loop_no_bound_is_known(lines):
    assert work_of(lines) == math.inf


def test_a_combiner_on_whole_arrays_costs_little_more_than_the_elements():
    plain = work_of("x = f32[100000] parameter(0)  ROOT r = f32[100000] negate(x)")
    lines = "x = f32[100000] parameter(0)  z = f32[] constant(0)  ROOT r = f32[] reduce(x, z)"
    assert work_of(f"{lines}, dimensions={{0}}, to_apply=add") < 10 * plain
