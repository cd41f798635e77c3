"""What is written of an instruction: its own attributes before those of any opcode, and operands counted."""

import pytest

import compiler
from compiler.text.printer import instruction_text, to_text


def instructions(text):
    return {i.name: i for i in compiler.parse(text).instructions()}


def test_what_any_opcode_takes_comes_after_what_this_one_takes():
    (line,) = [
        instruction_text(i)
        for i in instructions("""ENTRY e { x = f32[2,3] parameter(0)
          ROOT y = f32[3,2] transpose(x), metadata={op_name="a"}, dimensions={1,0} }""").values()
        if i.opcode == "transpose"
    ]
    assert line == 'y = f32[3,2] transpose(x), dimensions={1,0}, metadata={op_name="a"}'


def test_every_fifth_operand_is_numbered():
    operands = ", ".join(["x"] * 11)
    made = instructions(
        f"ENTRY e {{ x = f32[1] parameter(0)  ROOT c = f32[11] concatenate({operands}), dimensions={{0}} }}"
    )
    written = "x, x, x, x, x, /*index=5*/x, x, x, x, x, /*index=10*/x"
    assert instruction_text(made["c"]) == f"c = f32[11] concatenate({written}), dimensions={{0}}"


def test_what_stands_between_the_brackets_is_no_attribute():
    made = instructions("ENTRY e { p = s32[] parameter(0)  c = s32[2] constant({1, 2})  ROOT t = (s32[]) tuple(p) }")
    assert instruction_text(made["p"]) == "p = s32[] parameter(0)"
    assert instruction_text(made["c"]) == "c = s32[2] constant({1, 2})"


@pytest.mark.parametrize("sizes", ["{6}", "{{6}}"])
def test_slices_that_are_sent_are_listed_as_xla_lists_them(sizes):
    made = instructions(f"""ENTRY e {{ a = f64[7] parameter(0)  b = f64[7] parameter(1)  z = s32[] constant(0)
      i = (s32[]) tuple(z)
      ROOT r = f64[7] collective-permute(a, b, i, i), slice_sizes={sizes}, source_target_pairs={{{{0,0}}}} }}""")
    assert made["r"].attributes["slice_sizes"] == (6,)
    assert "slice_sizes={{6}}" in instruction_text(made["r"])


def test_the_entry_and_the_roots_are_marked_and_the_thread_follows_the_brace():
    text = to_text(
        compiler.parse("""HloModule m, is_scheduled=true
      f { ROOT a = f32[] parameter(0) }, execution_thread="other"
      ENTRY e { x = f32[] parameter(0)  ROOT y = f32[] call(x), to_apply=f }""")
    )
    lines = text.splitlines()
    assert lines[0].startswith("HloModule m, is_scheduled=true")
    assert [line for line in lines if line.endswith("{")] == ["f {", "ENTRY e {"]
    assert '}, execution_thread="other"' in lines
    assert sum("ROOT" in line for line in lines) == 2
