"""An instruction's text: operands by name, in place or as elements, attributes in any order, shapes that follow."""

import pytest

from compiler.diagnostics import ParseError
from compiler.text.instructions import MAX_NESTED_OPERANDS, InstructionReader

ADD = "{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }"


def body(text, **computations):
    """A computation of instructions, beside others that it may call."""
    reader = InstructionReader(f"{{ {text} }}", "<test>")
    for name, inner in computations.items():
        reader.add_computation(InstructionReader(inner, "<test>").read_body(name), 0)
    found = reader.read_body("e")
    reader.name_unnamed()
    return found, reader


def instructions(text, **computations):
    return body(text, **computations)[0].instructions


def lone(text):
    return InstructionReader(text, "<test>").read_lone_instruction("e")


def test_the_result_is_the_one_marked_root_or_the_last():
    assert body("x = f32[] parameter(0)  ROOT y = f32[] negate(x)  z = f32[] abs(y)")[0].root.name == "y"
    assert body("x = f32[] parameter(0)  y = f32[] negate(x)")[0].root.name == "y"
    with pytest.raises(ParseError, match="a second ROOT: x already is the root"):
        body("ROOT x = f32[] parameter(0)  ROOT y = f32[] negate(x)")


@pytest.mark.parametrize(
    "text",
    ["y = f32[] negate(x)", "%y = f32[] negate(%x)", "y: = f32[] negate(f32[] x)", "y = negate( x , )", "y=negate(x)"],
)
def test_a_name_may_have_a_mark_and_an_operand_its_shape(text):
    assert [i.name for i in instructions(f"x = f32[] parameter(0)  {text}")[1].operands] == ["x"]


def test_an_operand_may_be_an_instruction_itself_which_gets_a_free_name():
    found = instructions("x = f32[] parameter(0)  y = f32[] add(f32[] negate(x), f32[] negate(f32[] abs(x)))")
    assert [i.name for i in found] == ["x", "negate.anon", "abs.anon", "negate.anon.1", "y"]


@pytest.mark.slow
def test_operands_may_nest_so_deep_and_no_deeper():
    def nested(depth):
        return f"x = f32[] parameter(0)  y = f32[] {'negate(f32[] ' * depth}negate(x{')' * (depth + 1)}"

    assert len(instructions(nested(MAX_NESTED_OPERANDS))) == MAX_NESTED_OPERANDS + 2
    with pytest.raises(ParseError, match="nested more than 8192 levels"):
        instructions(nested(MAX_NESTED_OPERANDS + 1))


def test_an_element_of_a_tuple_is_taken_once_for_all_who_name_it():
    found = instructions("t = (f32[], (s32[], f32[])) parameter(0)  y = f32[] add(t#0, t#1#1)  z = f32[] negate(t#0)")
    assert [i.opcode for i in found] == ["parameter", *["get-tuple-element"] * 3, "add", "negate"]
    with pytest.raises(ParseError, match="has no element 2"):
        instructions("t = (f32[], f32[]) parameter(0)  y = f32[] negate(t#2)")


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("transpose(x), dimensions={1,0}", "f32[3,2]"),
        ("dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}", "f32[2,2]"),
        ("compare(x, x), direction=LT", "pred[2,3]"),
        ("reduce(x, c), dimensions={0}, to_apply=add", "f32[3]"),
    ],
)
def test_a_shape_that_is_not_written_follows(text, shape):
    found = instructions(f"x = f32[2,3] parameter(0)  c = f32[] constant(0)  y = {text}", add=ADD)
    assert str(found[-1].shape) == shape


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y = constant(1)", "the shape of a constant must be written"),
        ("y = iota(), iota_dimension=0", "the shape of iota must be written before the opcode"),
        ("y = add(x, z)", "no shape follows for add"),
        ("y = add(x)", "add"),
        ("y = f32[2,3] dot(x, x), lhs_contracting_dim={1}", "unknown attribute of dot 'lhs_contracting_dim'"),
        ("y = f32[3] reduce(x, z), to_apply=add", "reduce needs the attribute dimensions"),
        ("y = f32[3] reduce(x, z), dimensions={0}, to_apply=sub", "unknown computation .*'sub'.*add"),
        ("y = f32[2,3] negate(x), control-predecessors={w}", "unknown instruction .*'w'"),
        ("y = f32[2,3] negate(x), ", "expected the name of an attribute"),
        ("y = f32[2,3] parameter(99999999999)", "expected the number of a parameter"),
    ],
)
def test_what_is_wrong_is_said_with_what_was_meant(text, said):
    with pytest.raises(ParseError, match=said):
        instructions(f"x = f32[2,3] parameter(0)  z = f32[4] parameter(1)  {text}", add=ADD)


def test_a_computation_may_stand_in_braces_where_it_is_called_and_gets_a_free_name():
    found, reader = body(f"x = f32[2] parameter(0)  z = f32[] constant(0)\n"
                         f"a = f32[] reduce(x, z), dimensions={{0}}, to_apply={ADD}\n"
                         f"b = f32[] reduce(x, z), dimensions={{0}}, to_apply={ADD}")  # fmt: skip
    called = [i.attributes["to_apply"] for i in found.instructions if i.opcode == "reduce"]
    assert [c.name for c in called] == ["_", "_.1"]
    assert called == list(reader.computations.values())


def test_the_halves_of_an_async_op_are_written_with_its_own_name():
    found = instructions(
        "x = f32[2] parameter(0)  s = ((f32[2]), f32[2], u32[]) negate-start(x)  d = f32[2] negate-done(s)"
    )
    assert [i.opcode for i in found] == ["parameter", "async-start", "async-done"]
    assert found[1].attributes["calls"].root.opcode == "negate"
    with pytest.raises(ParseError, match="negate-start needs a shape"):
        instructions("x = f32[2] parameter(0)  s = f32[2] negate-start(x)")


def test_one_instruction_alone_is_a_computation_whose_unknown_operands_are_parameters():
    found = lone("f32[2] add(f32[2] x, f32[2] y)")
    assert [(p.name, p.parameter_number) for p in found.parameters] == [("x", 0), ("y", 1)]
    assert [str(p.shape) for p in lone("f32[] add(f32[], f32[])").parameters] == ["f32[]", "f32[]"]
    with pytest.raises(ParseError, match=r"needs its shape: write 'f32\[2\] x'"):
        lone("f32[2] negate(x)")
    with pytest.raises(ParseError, match="is 'HloModule NAME' missing"):
        lone("y = f32[2] negate(f32[2] x)  z = f32[2] negate(y)")


def test_equal_attributes_are_read_once_but_what_they_mean_depends_on_nothing_else():
    found = instructions("x = f32[2,3] parameter(0)  y = f32[3,2] transpose(x), dimensions={1,0}\n"
                         "z = f32[2,3] transpose(y), dimensions={1,0}")  # fmt: skip
    assert found[1].attributes["dimensions"] == found[2].attributes["dimensions"] == (1, 0)
