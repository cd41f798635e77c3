"""The line of the user's source: by tables of stack frames, by file and line, by the caller, or not at all."""

import pytest

import compiler
from compiler import edit
from compiler.ir.source_lines import source_of, sources_of
from compiler.pipeline import run, stages_of

TABLES = """
FileNames
1 "model.py"
2 "a b/loss.py"

FunctionNames
1 "step"
2 "Loss.__call__"

FileLocations
1 {file_name_id=1 function_name_id=1 line=8 end_line=8 column=11 end_column=35}
2 {file_name_id=2 function_name_id=2 line=71 end_line=72 column=4 end_column=9}
3 {file_name_id=2 function_name_id=9 line=5}
4 {file_name_id=7 function_name_id=1 line=5}
5 {function_name_id=1 line=5}
6 {file_name_id=1}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}
3 {file_location_id=3 parent_frame_id=1}
4 {file_location_id=4 parent_frame_id=1}
5 {file_location_id=5 parent_frame_id=1}
6 {file_location_id=6 parent_frame_id=1}
7 {file_location_id=99 parent_frame_id=1}
8 {parent_frame_id=1}
"""


def _module(metadata, *, tables=TABLES):
    return compiler.parse(f"""HloModule m
{tables}
ENTRY e {{
  x = f32[] parameter(0), metadata={{op_name="x"}}
  ROOT y = f32[] negate(x){metadata}
}}""")


@pytest.mark.parametrize(
    ("metadata", "source"),
    [
        ("stack_frame_id=1", "model.py:8 (step)"),
        ("stack_frame_id=2", "a b/loss.py:71 (Loss.__call__)"),
        ('op_name="jit(f)/neg" stack_frame_id=2', "a b/loss.py:71 (Loss.__call__)"),
        ("stack_frame_id=3", "a b/loss.py:5"),
        ("stack_frame_id=6", "model.py"),
        ('source_file="other.py" source_line=3', "other.py:3"),
        ('source_file="other.py"', "other.py"),
        ('source_file="other.py" source_line=3 stack_frame_id=1', "model.py:8 (step)"),
        *((f'source_file="other.py" source_line=3 stack_frame_id={n}', "other.py:3") for n in (0, -1, 4, 5, 7, 8, 9)),
        *((f"stack_frame_id={n}", "") for n in (0, -1, 4, 5, 7, 8, 9, 2**40)),
        ("source_line=3", ""),
        ('op_name="jit(f)/neg"', ""),
        ("", ""),
    ],
)
def test_a_place_is_said_as_far_as_it_is_known(metadata, source):
    assert source_of(_module(f", metadata={{{metadata}}}").entry.root) == source


def test_without_tables_a_number_says_nothing():
    assert source_of(_module(", metadata={stack_frame_id=1}", tables="").entry.root) == ""
    assert source_of(_module("").entry.root) == ""


CALLED = f"""HloModule m
{TABLES}
deep {{ p = f32[] parameter(0) ROOT r = f32[] negate(p), metadata={{op_name="neg"}} }}
once {{ p = f32[] parameter(0) a = f32[] abs(p), metadata={{stack_frame_id=2}} ROOT r = f32[] call(a), to_apply=deep }}
twice {{ p = f32[] parameter(0) ROOT r = f32[] cosine(p) }}
ENTRY e {{
  x = f32[] parameter(0)
  a = f32[] call(x), to_apply=once, metadata={{op_name="jit(once)" stack_frame_id=1}}
  b = f32[] call(a), to_apply=twice, metadata={{stack_frame_id=1}}
  ROOT c = f32[] call(b), to_apply=twice, metadata={{source_file="z.py" source_line=4}}
}}
"""


def test_what_says_no_line_comes_from_where_it_is_called_if_that_is_one_place():
    places = {edit.id_of(i): source_of(i) for i in compiler.parse(CALLED).instructions()}
    assert places["once", "a"] == "a b/loss.py:71 (Loss.__call__)"
    assert places["deep", "r"] == places["once", "r"] == "model.py:8 (step)"
    assert places["twice", "r"] == ""
    assert places["e", "x"] == ""


def test_lines_of_several_are_said_once_each():
    sources = sources_of(compiler.parse(CALLED).entry.instructions)
    assert sources == ("model.py:8 (step)", "z.py:4")


def test_what_takes_the_place_of_a_call_keeps_its_line_or_gets_that_of_the_call():
    inlined = compiler.parse(CALLED)
    run(inlined, stages_of(["flatten-calls"]), compiler.CompileOptions())
    lines = [(i.opcode, source_of(i)) for i in inlined.entry.instructions if i.operands]
    expected = [
        ("abs", "a b/loss.py:71 (Loss.__call__)"),
        ("negate", "model.py:8 (step)"),
        ("cosine", "model.py:8 (step)"),
        ("cosine", "z.py:4"),
    ]
    assert lines == expected
    assert compiler.parse(compiler.to_text(inlined)) == inlined
    calls = {("once", "r"): 0, **{("e", name): 0 for name in "abc"}}
    expanded = edit.expand(compiler.parse(CALLED), calls).module
    assert sorted((i.opcode, source_of(i)) for i in expanded.entry.instructions if i.operands) == sorted(expected)


def test_an_edit_keeps_the_tables_for_as_long_as_they_are_asked():
    module = compiler.parse(CALLED)
    alone = edit.isolate(module, ("once", "a")).module
    assert source_of(alone.entry.root) == "a b/loss.py:71 (Loss.__call__)"
    assert "FileNames" in compiler.to_text(alone)
    assert "FileNames" not in compiler.to_text(edit.isolate(module, ("twice", "r")).module)
    assert "FileNames" not in compiler.to_text(edit.plain(module).module)
