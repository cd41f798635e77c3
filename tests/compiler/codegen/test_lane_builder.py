"""What is written for one element is emitted for as many as a vector holds."""

from functools import partial

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


def indices(count):
    """A builder, and indices that are no literals."""
    builder = LaneBuilder(Module().function("f", "void", [("<4 x float>", "v"), ("ptr", "p"), ("i64", "i")]))
    first = builder.binary("mul", Value("i64", "%i"), Value("i64", "%i"))
    return builder, [first, *(builder.add(first, integer(number)) for number in range(1, count))]


def scaled(builder, index):
    """Some instructions that depend on one another, and on an index twice."""
    address = builder.gep("<4 x float>", Value("ptr", "%p"), index)
    value = builder.binary("fmul", builder.load("<4 x float>", address), VECTOR)
    spread = builder.cast("uitofp", builder.lift(index, 4), "float")
    builder.store(builder.binary("fadd", value, spread), address)


def chosen(builder, index):
    """Something that is no straight line."""
    with builder.when(builder.compare("slt", index, integer(7)), "inside"):
        scaled(builder, index)


@pytest.mark.parametrize("body", [scaled, chosen])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 8])
def test_copies_at_indices_are_what_bodies_would_be(count, body):
    one, at = indices(count)
    one.at_each(partial(body, one), at)
    other, at = indices(count)
    other.abreast([partial(lambda index: [body(other, index)], index) for index in at])
    assert one._lines == other._lines
    assert one.function.counter == other.function.counter
    assert not one.writes_out


@pytest.mark.parametrize("count", [2, 3, 8])
def test_bodies_at_literal_indices_are_asked_one_by_one(count):
    builder, seen = indices(1)[0], []
    builder.at_each(lambda index: seen.append(index.literal), [integer(number) for number in range(count)])
    assert seen == list(range(count))


def test_bodies_at_other_indices_are_copied():
    (builder, at), seen = indices(8), []
    builder.at_each(seen.append, at)
    assert seen == at[:2]


@pytest.mark.parametrize("is_read", [True, False])
def test_a_counter_in_lanes_is_written_where_it_was_made_and_only_if_it_is_read(is_read):
    builder = LaneBuilder(Module().function("f", "void", [("i64", "i")]))
    steps = Value("<2 x i64>", "<i64 0, i64 1>")
    counter, write = builder.counted(Value("i64", "%i"), steps)
    after = builder.add(Value("i64", "%i"), integer(1))
    if is_read:
        write()
    lines = [line.split(" = ") for line in builder._lines if "=" in line]
    assert [name.strip() for name, _ in lines][-1] == after.name
    assert [text.split()[0] for _, text in lines] == ["insertelement", "shufflevector", "add", "add"][
        0 if is_read else 3 :
    ]
    assert not is_read or lines[2][0].strip() == counter.name


def test_a_counter_that_is_known_is_a_literal_in_lanes():
    builder = LaneBuilder(Module().function("f", "void", []))
    counter, write = builder.counted(integer(0), Value("<2 x i64>", "<i64 0, i64 1>"))
    assert (counter.type, write) == ("<2 x i64>", None)
