"""Declarations of PTX: sizes, alignments, initial values, and what is refused with its place."""

import pytest

from compiler.backends.nvptx.simulator.cursor import Cursor
from compiler.backends.nvptx.simulator.declaration import parse_parameters, parse_registers, parse_variables
from compiler.backends.nvptx.simulator.syntax import Immediate, Relocation
from compiler.diagnostics import ParseError


def variables(text):
    return list(parse_variables(Cursor(text, "k.ptx"), is_extern=False))


def registers(text):
    return [(register.name, type_) for register, type_ in parse_registers(Cursor(text, "k.ptx"))]


@pytest.mark.parametrize(
    ("text", "align", "size"),
    [
        (".global .f32 x;", 4, 4),
        (".shared .align 16 .b8 x[100];", 16, 100),
        (".const .v4 .f32 x[3];", 16, 48),
        (".global .b64 x[2][3];", 8, 48),
        (".global .b8 x[0];", 1, 0),
    ],
)
def test_a_variable_takes_its_elements_and_is_aligned_as_one_of_them_unless_it_says(text, align, size):
    (found,) = variables(text)
    assert (found.name, found.align, found.size_bytes, found.initial) == ("x", align, size, ())


def test_one_statement_may_declare_several():
    first, second = variables(".global .u32 a = 7, b[2] = {1, 2};")
    assert (first.name, first.initial, second.name, second.initial) == ("a", (7,), "b", (1, 2))


@pytest.mark.parametrize(
    ("text", "initial"),
    [
        ("{1, -2, 3}", (1, -2, 3)),
        ("{{1, 2}, {3, 4}}", (1, 2, 3, 4)),
        ("{1.5, 0f3F800000}", (1.5, Immediate(0x3F800000, 32))),
        ("{y, y+4, generic(y)+8, generic(y+4)}", tuple(Relocation("y", n) for n in (0, 4, 8, 4))),
        ("{0xFF(y), 0xFF00(y)}", (Relocation("y", 0, 0), Relocation("y", 0, 8))),
        ("{}", ()),
    ],
)
def test_initial_values_are_numbers_addresses_and_bytes_of_addresses(text, initial):
    (found,) = variables(f".global .b32 x[] = {text};")
    assert found.initial == initial
    assert found.size_bytes == 4 * len(initial), "an array without a size has as many elements as it is given"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (".global .align 3 .f32 x;", "the alignment 3 is not a power of two"),
        (".global .align 0 .f32 x;", "the alignment 0 is not a power of two"),
        (".global .pred x;", "a predicate lives in a register"),
        (".global .f32 x[-1];", "the extent -1 is negative"),
        (".global .f32 x[2;", "expected"),
        (".global .f32 7;", "the variable's name"),
    ],
)
def test_a_wrong_declaration_is_refused_where_it_stands(text, said):
    with pytest.raises(ParseError, match=said):
        variables(text)


def test_parameters_lie_one_behind_the_other_each_at_its_alignment():
    text = "(.param .u8 a, .param .u64 b, .param .align 16 .b8 c[3], .param .u64 .ptr .global .align 4 d)"
    found = parse_parameters(Cursor(text, "k.ptx"))
    assert [(p.name, p.offset, p.size_bytes) for p in found] == [("a", 0, 1), ("b", 8, 8), ("c", 16, 3), ("d", 24, 8)]
    assert parse_parameters(Cursor("()", "k.ptx")) == ()


def test_parameters_in_registers_are_refused_with_what_to_write():
    with pytest.raises(ParseError, match=r"pass them as \.param"):
        parse_parameters(Cursor("(.reg .b32 %a)", "k.ptx"))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (".reg .b32 %a;", ["%a"]),
        (".reg .b32 %a<3>, %z;", ["%a0", "%a1", "%a2", "%z"]),
        (".reg .b32 %a<0>;", []),
        (".reg .v2 .b32 %p;", ["%p.x", "%p.y"]),
        (".reg .v4 .b32 %q;", ["%q.x", "%q.y", "%q.z", "%q.w"]),
    ],
)
def test_registers_come_one_by_one_in_numbers_or_as_the_lanes_of_a_vector(text, names):
    assert registers(text) == [(name, "b32") for name in names]
