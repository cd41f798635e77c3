"""Modules as protocol buffers, read by a reader that knows nothing of the tables that wrote them."""

import proto_reader
import pytest
from op_programs import EVALUATED, program

import compiler
from compiler.proto import hlo_proto

HEADER = "HloModule m{}\n\nadd {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }}\n"


@pytest.mark.parametrize("opcode", EVALUATED)
def test_names_numbers_operands_and_shapes_of_every_opcode(opcode):
    module = compiler.parse(program(opcode))
    dump = hlo_proto(module)
    messages = proto_reader.computations(dump)
    assert [proto_reader.one(m, 1).decode() for m in messages] == [c.name for c in module.computations]
    names = []
    for computation, message in zip(module.computations, messages, strict=True):
        found = proto_reader.instructions(message)
        numbers = {i: f["id"] for i, f in zip(computation.instructions, found, strict=True)}
        names += [f["name"] for f in found]
        assert proto_reader.one(message, 6) == numbers[computation.root]
        for written, read in zip(computation.instructions, found, strict=True):
            assert read["opcode"] == written.opcode
            assert read["operands"] == [numbers[operand] for operand in written.operands]
            if isinstance(written.shape, compiler.ir.shape.ArrayShape):
                assert tuple(read["sizes"]) == written.shape.dims
    assert len(set(names)) == len(names)
    assert proto_reader.one(dump, 1, 2).decode() == module.entry.name


def test_attributes_that_say_nothing_where_they_are_false_are_no_reason_to_refuse():
    header = HEADER.format(", alias_passthrough_params=false, allow_spmd_sharding_propagation_to_output={false}")
    hlo_proto(compiler.parse(f"{header}ENTRY e {{ ROOT x = f32[4] parameter(0) }}"))


def test_names_that_several_computations_use_are_there_once():
    text = HEADER.format("") + "ENTRY e { a = f32[4] parameter(0) b = f32[4] negate(a) ROOT s = f32[4] add(a, b) }"
    first, entry = map(proto_reader.instructions, proto_reader.computations(hlo_proto(compiler.parse(text))))
    assert [i["name"] for i in (*first, *entry)] == ["a", "b", "s", "a.1", "b.1", "s.1"]
