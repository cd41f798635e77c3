"""`parse(to_text(m)) == m` on files that hold every attribute kind and every looseness of the syntax.

The files in `data/` are all accepted by XLA's parser, except where `control.hlo` says so.
"""

import contextlib
from pathlib import Path

import pytest

from compiler.diagnostics import ParseError
from compiler.ir.attributes import ATTRIBUTES, MODULE_ATTRIBUTES, AttributeKind
from compiler.ops import OPS
from compiler.text.attributes import SYNTAX
from compiler.text.lexer import Scanner
from compiler.text.opcodes import SIGNATURES
from compiler.text.parser import parse, parse_many
from compiler.text.printer import instruction_text, to_text

DATA = sorted((Path(__file__).parent / "text" / "data").glob("*.hlo"))


def body(text: str) -> str:
    return f"HloModule m\n\nENTRY e {{\n{text}\n}}\n"


@pytest.mark.parametrize("path", DATA, ids=lambda path: path.stem)
def test_what_is_printed_is_read_as_the_same_module(path: Path) -> None:
    module = parse(path.read_text(), filename=path.name)
    text = to_text(module)
    again = parse(text)
    assert again == module
    assert to_text(again) == text


def test_the_files_hold_nearly_every_attribute() -> None:
    seen = set()
    for path in DATA:
        module = parse(path.read_text())
        seen |= module.attributes.keys()
        seen |= {name for instruction in module.instructions() for name in instruction.attributes}
    unseen = {*ATTRIBUTES, *MODULE_ATTRIBUTES} - seen
    assert unseen <= {"sparsity_config", "mode", "has_dynamic_root", "debug_attributes", "is_composite"} | {
        *("lhs_ragged_dims", "rhs_group_dims", "dynamic_slice_sizes", "largest"),
        *("input_batching_dims", "scatter_indices_batching_dims"),
    }


def test_op_records_take_the_attributes_that_the_text_does() -> None:
    for opcode, op in OPS.items():
        signature = SIGNATURES[opcode]
        stated = {*op.required, *op.optional}
        assert stated - {"literal", "parameter_number"} <= signature.allowed, opcode


def test_there_are_133_opcodes() -> None:
    assert len(SIGNATURES) == 133


def test_operands_may_be_instructions_and_elements_of_tuples() -> None:
    module = parse(
        body(
            "p = f32[4] parameter(0)\n"
            "t = (f32[4], (f32[4], f32[4])) tuple(p, (f32[4], f32[4]) tuple(p, p))\n"
            "b = add(t#1#0, t#1#0)\n"
            "ROOT a = add(t#1#0, abs(f32[4] %p))"
        )
    )
    opcodes = [instruction.opcode for instruction in module.entry.instructions]
    assert opcodes == ["parameter", "tuple", "tuple", "get-tuple-element", "get-tuple-element", "add", "abs", "add"]
    assert parse(to_text(module)) == module


def test_a_single_instruction_makes_parameters_of_its_operands() -> None:
    module = parse("f32[4] add(f32[4] x, f32[4])")
    assert [(p.name, p.parameter_number) for p in module.entry.parameters] == [("x", 0), ("_1", 1)]
    assert module.entry.root.opcode == "add"


def test_without_entry_the_last_computation_is_the_entry() -> None:
    module = parse("a { p = f32[] parameter(0) }\nb { q = f32[] parameter(0) }")
    assert (module.name, module.entry.name) == ("module_b", "b")


def test_async_sugar_becomes_a_computation_of_one_instruction() -> None:
    module = parse(
        body(
            "p = f32[4] parameter(0)\n"
            's = ((f32[4]), f32[4], s32[]) sine-start(p), async_execution_thread="t", result_accuracy={mode=highest}\n'
            "ROOT d = f32[4] sine-done(s)"
        )
    )
    start = module.entry.instructions[1]
    wrapped = start.attributes["calls"]
    assert (start.opcode, wrapped.root.opcode) == ("async-start", "sine")
    assert wrapped.attributes == {"execution_thread": "t"}
    assert "result_accuracy" in wrapped.root.attributes
    assert "result_accuracy" not in start.attributes


def test_computations_in_braces_leave_names_to_others() -> None:
    body_text = "{ a = f32[] parameter(0) }"
    module = parse(f"ENTRY _ {{ p = f32[] parameter(0) c = f32[] call(p), to_apply={body_text} }}")
    assert [computation.name for computation in module.computations] == ["_.1", "_"]


def test_modules_are_separated_by_a_line_of_dashes() -> None:
    text = body("p = f32[] parameter(0)")
    modules = parse_many(f"// RUN: nothing\n// -----\n{text}\n// ----- second\n// ---------\n{text}\n// -----\n")
    assert [module.name for module in modules] == ["m", "m"]


@pytest.mark.parametrize(
    "line",
    [
        'a = f32[2]{0} add(x, y), metadata={op_name="it\'s"}',
        'a = f32[] custom-call(), custom_call_target="\\303\\251\\377", backend_config={"a": 1}',
        "a = f32[] pad(x, y), padding=",
        "a = f32[2]{0} negate(%inf)",
    ],
)
def test_one_instruction_prints_as_it_was_written(line: str) -> None:
    text = body(f"x = f32[] parameter(0)\ny = f32[] parameter(1)\n%inf = f32[2]{{0}} parameter(2)\nROOT {line}")
    if "add(x, y)" in line:
        text = text.replace("f32[] parameter", "f32[2]{0} parameter")
    root = parse(text).entry.root
    assert instruction_text(root) == line.replace("it's", "it\\'s")


@pytest.mark.parametrize("kind", SYNTAX, ids=lambda kind: kind.name)
def test_no_kind_of_value_is_read_out_of_nothing(kind: AttributeKind) -> None:
    read = ""
    with contextlib.suppress(ParseError):
        read = SYNTAX[kind].write(SYNTAX[kind].read(Scanner("", "f")))
    assert read == ""
