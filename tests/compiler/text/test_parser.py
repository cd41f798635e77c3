"""Bad text is an error with a place, never another exception."""

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.diagnostics import CompilerError, ParseError
from compiler.text.parser import parse, parse_shape
from compiler.text.printer import to_text

TEXTS = [path.read_text() for path in sorted((Path(__file__).parent / "data").glob("*.hlo"))]
PIECES = (
    *("{", "}", "(", ")", "[", "]", ",", "=", '"', "'", ":", "/", "/*", "*/", "//", "-", "<", "<=", "?", "#", "%", "*"),
    *("nan(0x", "nan", "inf", "-inf", "true", "ROOT", "ENTRY", "HloModule", "{...}", "{{", "}}", "f32[2]", "s4[", "b("),
    *("token[]", "()", "x", "_", "-1", "0", "99999999999999999999999", "1e999", "add-start", "mesh[", "<=[", "\\"),
    *("\x00", "\ud800", "é", "\n", " "),
)


def instruction(text: str) -> str:
    return f"ENTRY e {{\n  p = f32[2] parameter(0)\n  {text}\n}}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected an HLO module, but the text ends here"),
        ("  // only a comment\n", "expected an HLO module"),
        ("\x7fELF\x02\x01\x00\x00", "expected HloModule, a computation or an instruction"),
        ("\ud800", "half of a surrogate pair"),
        ("HloModule m", "expected a computation"),
        ("HloModule m, is_schedule=true\n", "unknown attribute of a module 'is_schedule'; did you mean is_scheduled?"),
        ("HloModule m ENTRY e { ", "expected an instruction"),
        ("HloModule m ENTRY e { }", "expected an instruction"),
        ("HloModule m /* ", "this comment does not end"),
        ("a { p = f32[] parameter(0) } a { p = f32[] parameter(0) }", "a computation named a already exists"),
        ("ENTRY a { p = f32[] parameter(0) } ENTRY b { p = f32[] parameter(0) }", "a second ENTRY"),
        ("e (x: f32[]) -> s32[] { p = f32[] parameter(0) }", "root has shape f32[]"),
        (instruction("a = f32[2] ad(p, p)"), "unknown opcode 'ad'; did you mean"),
        (instruction("a = f32[2] add(p, q)"), "'q'"),
        (instruction("a = f32[2] add(a, p)"), "unknown operand (operands are defined above their users): 'a'"),
        (instruction("p = f32[2] add(p, p)"), "an instruction named p already exists"),
        (instruction("a = f32[2] add(p, p), dimension={1}"), "unknown attribute of add 'dimension'"),
        (instruction("a = f32[2] transpose(p)"), "transpose needs the attribute dimensions"),
        (instruction("a = f32[2] abs(p), metadata={}, metadata={}"), "attribute metadata is written twice"),
        (instruction("a = f32[2] abs(f32[3] p)"), "p has shape f32[2], not f32[3]"),
        (instruction("a = pred[2] compare(p, p), direction=XX"), "unknown value of direction 'XX'"),
        (instruction("a = f32[2] map(p), to_apply=f"), "unknown computation"),
        (instruction("ROOT a = f32[2] abs(p) ROOT b = f32[2] abs(p)"), "a second ROOT: a already is the root"),
        (instruction("a = reshape(p)"), "the shape of reshape must be written before the opcode"),
        (instruction("a = f32[2] get-tuple-element(p), index=99999999999999999999999"), "does not fit 64 bits"),
        (instruction("a = f32[2] constant({1, 5.9e-})"), "expected a value of type f32, ',' or '}', not '5.9e-'"),
        (instruction("a = f32[2] constant({1, 5.9e--08})"), "expected a value of type f32, ',' or '}', not '5.9e--08'"),
        (instruction("a = s32[2] constant({1, 2?})"), "expected a value of type s32, ',' or '}', not '?'"),
        (instruction("a = f32[2] reduce-window(p, p), window={size=3x}"), "expected sizes such as 2x3, not '3x'"),
        (instruction("a = f32[2] pad(p, p), padding=0_0x0_0x"), "expected padding such as 0_1x2_3_1, not '0_0x0_0x'"),
        (instruction("a = f32[] constant(nan(0x1)"), "expected"),
        (instruction("a = f99[2] abs(p)"), "unknown element type 'f99'"),
        (instruction("a = f32[-2] abs(p)"), "between 0 and 2^63 - 1"),
        (instruction("a = f32[2]{0,1} abs(p)"), "orders 2 dimensions, but the shape has 1"),
        (instruction('a = f32[2] abs(p), backend_config="\\q"'), "unknown escape"),
        (instruction("a = f32[2] abs(p), sharding={devices=[2]0}"), "do not fill the tiles"),
        (instruction("a = f32[2] abs(p), sharding={devices=[0]<=[0]}"), "must be above zero"),
        (instruction("a = ((f32[2]), f32[2], u32[]) send-start(p)"), "unknown opcode 'send-start'"),
        (instruction("a = ((f32[2]), f32[2], u32[]) copy-update(p)"), "unknown opcode 'copy-update'"),
        (instruction("a = f32[2] abs(p#0)"), "has no element 0"),
    ],
)
def test_an_error_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text, filename="a.hlo")
    assert message in str(caught.value)
    assert str(caught.value).startswith("a.hlo:")


def test_an_error_points_to_its_place() -> None:
    with pytest.raises(ParseError) as caught:
        parse(instruction("a = f32[2] ad(p, p)"), filename="a.hlo")
    first, line, caret = str(caught.value).splitlines()
    assert first.startswith("a.hlo:3:14: unknown opcode 'ad'")
    assert line == "    a = f32[2] ad(p, p)"
    assert caret == " " * 15 + "^^"


@pytest.mark.parametrize("bracket", ["(", "{", "[", "f32[", "abs(", "f32[] abs(", "b(", "ENTRY e {", "/*", '"'])
@pytest.mark.parametrize("head", ["", "HloModule m ENTRY e { a = ", "HloModule m, frontend_attributes="])
def test_a_hundred_thousand_brackets_are_an_error_like_any_other(head: str, bracket: str) -> None:
    with pytest.raises(ParseError):
        parse(head + bracket * 100_000)


@pytest.mark.parametrize("name", ["sharding", "origin", "metadata", "backend_config", "to_apply", "window", "literal"])
def test_deep_values_are_an_error(name: str) -> None:
    for opening in ("{", "({", "(", "{{a=", "[", "{ a = f32[] call(), to_apply="):
        with pytest.raises(ParseError):
            parse(instruction(f'a = f32[2] custom-call(p), custom_call_target="x", {name}={opening * 20_000}'))


@pytest.mark.slow
def test_nested_operands_are_limited_by_xlas_limit_only() -> None:
    module = parse(instruction(f"a = f32[2] {'abs(' * 5000}p{')' * 5000}"))
    assert len(module.entry.instructions) == 5001
    with pytest.raises(ParseError, match="more than 8192 levels"):
        parse(instruction(f"a = f32[2] {'abs(' * 9000}p{')' * 9000}"))


def test_shapes_do_not_nest_without_limit() -> None:
    assert str(parse_shape("(" * 50 + ")" * 50)) == "(" * 50 + ")" * 50
    with pytest.raises(ParseError, match="nested more than 100 levels"):
        parse_shape("(" * 1000 + ")" * 1000)


def mutate(text: str, rng: random.Random) -> str:
    for _ in range(rng.randint(1, 4)):
        begin = rng.randrange(len(text) + 1)
        end = begin + rng.choice((0, 1, 1, 2, 5, 20, 200))
        piece = rng.choice(("", rng.choice(PIECES), text[begin:end] * 2, text[end : end + 20], text[end:][:0]))
        text = text[:begin] + piece + (text[end:] if rng.random() < 0.95 else "")
    return text


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 1 << 62), st.sampled_from(TEXTS))
def test_mutated_files_end_in_a_module_or_a_compiler_error(seed: int, text: str) -> None:
    try:
        module = parse(mutate(text, random.Random(seed)))
    except CompilerError:
        return
    assert parse(to_text(module)) == module
