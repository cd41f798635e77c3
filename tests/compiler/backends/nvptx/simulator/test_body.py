"""Bodies of PTX functions: the quick way to read a line and the slow one agree, and scopes are kept apart."""

import pytest

from compiler.backends.nvptx.simulator.body import BodyParser, is_special
from compiler.backends.nvptx.simulator.cursor import Cursor
from compiler.backends.nvptx.simulator.syntax import Address, Group, Guard, Immediate, Not, Pair, Register, Sink, Symbol
from compiler.diagnostics import ParseError

REGISTERS = ".reg .b32 %a, %b, %c; .reg .pred %p, %q;"


def parsed(text):
    body = BodyParser(Cursor(f"{{ {REGISTERS} {text} }}", "k.ptx"), ())
    body.parse()
    return body


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("add.u32 %a, %b, -7;", (Register("%a"), Register("%b"), Immediate(-7))),
        ("ld.global.u32 %a, [%b+4];", (Register("%a"), Address(Register("%b"), 4))),
        ("ld.shared.u32 %a, [tile];", (Register("%a"), Address(Symbol("tile"), 0))),
        ("ld.const.u32 %a, [16];", (Register("%a"), Address(Immediate(16), 0))),
        ("mov.u32 %a, tile+8;", (Register("%a"), Address(Symbol("tile"), 8))),
        ("mov.u32 %a, %tid.x;", (Register("%a"), Register("%tid.x"))),
        ("mov.u32 %a, WARP_SZ;", (Register("%a"), Immediate(32))),
        ("mov.b64 {%a, %b}, %c;", (Group((Register("%a"), Register("%b"))), Register("%c"))),
        ("call (%a), f, (%b, 3);", (Group((Register("%a"),)), Symbol("f"), Group((Register("%b"), Immediate(3))))),
        ("setp.eq.s32 %p|_, %a, 0;", (Pair(Register("%p"), Sink()), Register("%a"), Immediate(0))),
        ("selp.b32 %a, %b, %c, !%p;", (Register("%a"), Register("%b"), Register("%c"), Not(Register("%p")))),
        ("ret;", ()),
    ],
)
def test_operands_are_read_in_every_form(text, operands):
    (instruction,) = parsed(text).instructions
    assert instruction.operands == operands
    assert instruction.text == text


@pytest.mark.parametrize(
    "text",
    [
        "add.u32 %a, %b, 1;",
        "@%p bra done;",
        "@!%q st.global.u32 [%a+4], %b;",
        "bar.sync 0;",
        "cp.async::x.ca %a, %b;",
        "add.f32 %a, 0f3F800000, 0d3FF0000000000000;",
        "ld.global.v2.u32 {%a, _}, [%b+-8];",
        "ld.u32 %a, [t-4];",
        "setp.eq.s32 %p|_, %a, 010;",
        "selp.b32 %a, %tid.x, WARP_SZ, !%p;",
        "mov.b64 %c, {%a, 0x7};",
    ],
)
def test_a_line_read_at_once_and_token_by_token_is_the_same_instruction(text, monkeypatch):
    (quick,) = parsed(text).instructions
    monkeypatch.setattr(BodyParser, "_plain_statements", lambda self: False)
    (slow,) = parsed(text).instructions
    assert (quick.opcode, quick.modifiers, quick.operands, quick.guard) == (
        slow.opcode, slow.modifiers, slow.operands, slow.guard
    )  # fmt: skip


def test_a_guard_is_the_predicate_in_front():
    plain, negated, none = parsed("@%p ret; @!%q ret; ret;").instructions
    assert (plain.guard, negated.guard, none.guard) == (Guard("%p", negated=False), Guard("%q", negated=True), None)


def test_labels_are_numbers_of_the_instructions_behind_them_and_tables_name_labels():
    body = parsed("bra end; begin: ret; table: .branchtargets begin, end; end: ret;")
    assert (body.labels, body.branch_tables) == ({"begin": 1, "end": 2}, {"table": ("begin", "end")})


def test_a_name_of_an_inner_scope_is_another_register():
    body = parsed("{ .reg .b64 %a; mov.b64 %a, 1; } mov.b32 %a, 2; { .reg .b16 %a; mov.b16 %a, 3; }")
    names = [instruction.operands[0].name for instruction in body.instructions]
    assert len(set(names)) == 3
    assert [body.registers[name] for name in names] == ["b64", "b32", "b16"]


def test_what_is_only_for_debuggers_and_assemblers_is_passed_over():
    body = parsed('.loc 1 2 3\n .pragma "nounroll"; ret; proto: .callprototype _ (.param .b32 _);')
    assert [instruction.opcode for instruction in body.instructions] == ["ret"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("add.u32 %a, %b, %nobody;", "register '%nobody' is not declared"),
        ("@%nobody ret;", "register '%nobody' is not declared"),
        ("x: ret; x: ret;", "label 'x' is defined twice"),
        (".reg .b32 %a;", "'%a' is declared twice in one scope"),
        ("add.u32 %a %b;", "expected ','"),
        ("add.u32 %a, %b", "expected"),
    ],
)
def test_what_is_wrong_is_said_by_name(text, said):
    with pytest.raises(ParseError, match=said):
        parsed(text)


def test_special_registers_are_known_without_being_declared():
    assert is_special("%tid.z")
    assert is_special("%laneid")
    assert not is_special("%tid.w")
