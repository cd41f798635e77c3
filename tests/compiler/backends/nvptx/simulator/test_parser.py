"""The parser: what LLVM writes is read, what is wrong is said with its place."""

import pytest

from compiler.backends.nvptx.simulator import parse_ptx
from compiler.backends.nvptx.simulator.syntax import Address, Group, Guard, Pair, Register, Relocation, Sink
from compiler.diagnostics import ParseError

HEADER = ".version 8.0\n.target sm_90, debug\n.address_size 64\n"


def body(text: str):
    module = parse_ptx(HEADER + ".visible .entry k() {\n .reg .b32 %r<9>; .reg .pred %p<3>;\n" + text + "\n}\n")
    return module.kernels["k"]


def test_parameters_are_laid_out_by_their_alignment() -> None:
    text = HEADER + (
        ".visible .entry k(.param .u8 a, .param .align 16 .b8 b[20], .param .u64 .ptr .global .align 16 c)\n"
        ".maxntid 128, 2 .minnctapersm 1 { ret; }"
    )
    kernel = parse_ptx(text).kernels["k"]
    assert [(p.name, p.offset, p.size_bytes) for p in kernel.parameters] == [("a", 0, 1), ("b", 16, 20), ("c", 40, 8)]
    assert kernel.parameter_bytes == 48
    assert kernel.limits == {"maxntid": (128, 2), "minnctapersm": (1,)}


def test_variables_hold_arrays_and_addresses() -> None:
    text = HEADER + (
        ".visible .const .align 4 .u32 t[2][2] = {{1, 2}, {3, -4}};\n"
        ".global .align 8 .u64 p = generic(t)+8, q = t;\n"
        ".global .b8 m[2] = {0xFF(t), 0xFF00(t)};\n"
        ".extern .shared .align 16 .b8 d[];\n"
        ".weak .global .align 4 .f32 f[] = {0f3F800000, 1.5};\n"
    )
    variables = parse_ptx(text).variables
    assert variables["t"].initial == (1, 2, 3, -4)
    assert variables["p"].initial == (Relocation("t", 8),)
    assert variables["m"].initial == (Relocation("t", 0, 0), Relocation("t", 0, 8))
    assert variables["d"].is_extern
    assert variables["d"].size_bytes == 0
    assert variables["f"].size_bytes == 8


def test_operands_of_every_form() -> None:
    kernel = body("@!%p1 shfl.sync.down.b32 %r1|%p2, %r2, 16, 31, -1;\n ld.global.v2.b32 {%r3, _}, [%r4+-8];")
    shuffle, load = kernel.instructions
    assert shuffle.guard == Guard("%p1", negated=True)
    assert shuffle.operands[0] == Pair(Register("%r1"), Register("%p2"))
    assert load.operands == (Group((Register("%r3"), Sink())), Address(Register("%r4"), -8))
    assert load.name == "ld.global.v2.b32"


def test_names_of_nested_scopes_do_not_clash() -> None:
    kernel = body(" { .reg .b32 %x; mov.b32 %x, 1; }\n { .reg .b64 %x; mov.b64 %x, 1; }")
    assert sorted(t for n, t in kernel.registers.items() if n.startswith("%x")) == ["b32", "b64"]


def test_debug_directives_are_passed_over() -> None:
    text = (
        HEADER
        + '.file 1 "a.c"\n.section .debug_abbrev\n{\n.b8 1\n}\n.entry k() {\n.loc 1 2 3\n.pragma "nounroll";\nret;\n}'
    )
    assert [i.opcode for i in parse_ptx(text).kernels["k"].instructions] == ["ret"]


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("mov.b32 %r1 %r2;", "expected ','", 6),
        ("mov.b32 %q1, 1;", "register '%q1' is not declared", 6),
        ("l: l: ret;", "label 'l' is defined twice", 6),
        ("ld.b32 %r1, [%r2;", "expected ']'", 6),
        ("?", "begins no PTX token", 6),
        (".reg .b7 %x;", "expected a type", 6),
        (".reg .b32 %r1;", "declared twice", 6),
        ("ret", "expected", 7),
    ],
)
def test_wrong_text_is_an_error_with_its_place(text, message, line) -> None:
    with pytest.raises(ParseError, match=message.replace("?", r"\?")) as caught:
        body(text)
    assert caught.value.span.line == line


@pytest.mark.parametrize(
    "text", ["", ".version 8.0\n.entry k(", ".version 8.0\n.entry k() {", "{{{{", ".address_size 32"]
)
def test_cut_text_is_an_error(text) -> None:
    with pytest.raises(ParseError):
        parse_ptx(text)
