"""What is written for one element is emitted for as many as a vector holds."""

import pytest

from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm_ir import Module, Value, integer

VECTOR, SCALAR, LITERAL = Value("<4 x float>", "%v"), Value("float", "%s"), Value("float", "1.0")


@pytest.fixture
def builder():
    return LaneBuilder(Module().function("f", "void", [("<4 x float>", "v"), ("float", "s")]))


def test_scalars_are_spread_where_they_meet_a_vector(builder):
    assert [one.type for one in builder.alike([VECTOR, SCALAR, LITERAL])] == ["<4 x float>"] * 3
    assert builder.alike([SCALAR, LITERAL]) == [SCALAR, LITERAL]
    assert builder.lift(VECTOR, 4) is VECTOR
    assert builder.lift(SCALAR, 0) is SCALAR


def test_operations_are_on_vectors_where_an_operand_is_one(builder):
    assert builder.binary("fadd", VECTOR, SCALAR).type == "<4 x float>"
    assert builder.binary("fadd", SCALAR, LITERAL).type == "float"
    assert builder.compare("olt", VECTOR, LITERAL).type == "<4 x i1>"
    assert builder.select(Value("i1", "%c"), VECTOR, SCALAR).type == "<4 x float>"
    assert builder.cast("fpext", VECTOR, "double").type == "<4 x double>"


def test_numbers_that_are_known_are_computed_at_once(builder):
    assert builder.binary("add", integer(2), integer(3)).name == "5"


def test_bodies_abreast_are_written_interleaved_each_in_its_order(builder):
    def body():
        first = builder.binary("fadd", VECTOR, VECTOR)
        return [builder.binary("fmul", first, first)]

    found = builder.abreast([body, body])
    assert len(found) == 2
    opcodes = [line.split()[2] for line in builder._lines if "=" in line]
    assert opcodes == ["fadd", "fadd", "fmul", "fmul"]
    assert not builder.writes_out
