"""Edits give valid programs, leave the original alone, and say where each parameter comes from."""

import numpy as np
import pytest

import compiler
from compiler import edit
from compiler.inputs import draw

TEXT = """
HloModule m, entry_computation_layout={(f32[6,4]{1,0}, f32[6,4]{1,0})->(f32[6,4]{1,0}, f32[6]{0}, f32[3,2]{1,0})}

sum { sum.a = f32[] parameter(0)
  sum.b = f32[] parameter(1)
  ROOT sum.r = f32[] add(sum.a, sum.b) }

twice { twice.x = f32[6,4] parameter(0)
  twice.unused = f32[6,4] parameter(1)
  ROOT twice.r = f32[6,4] add(twice.x, twice.x) }

later { later.x = f32[6,4] parameter(0)
  later.y = f32[6,4] parameter(1)
  ROOT later.r = f32[6,4] add(later.x, later.y) }

going { going.s = (s32[], f32[6,4], f32[6]) parameter(0)
  going.i = s32[] get-tuple-element(going.s), index=0
  going.n = s32[] constant(3)
  ROOT going.r = pred[] compare(going.i, going.n), direction=LT }

iteration { iteration.s = (s32[], f32[6,4], f32[6]) parameter(0)
  iteration.i = s32[] get-tuple-element(iteration.s), index=0
  iteration.x = f32[6,4] get-tuple-element(iteration.s), index=1
  iteration.v = f32[6] get-tuple-element(iteration.s), index=2
  iteration.one = s32[] constant(1)
  iteration.next = s32[] add(iteration.i, iteration.one)
  iteration.y = f32[6,4] add(iteration.x, iteration.x)
  ROOT iteration.r = (s32[], f32[6,4], f32[6]) tuple(iteration.next, iteration.y, iteration.v) }

ENTRY main {
  x = f32[6,4] parameter(0)
  y = f32[6,4] parameter(1)
  a = f32[6,4] add(x, y), metadata={op_name="a"}
  b = f32[6,4] call(a, a), to_apply=twice
  zero = f32[] constant(0)
  v = f32[6] reduce(b, zero), dimensions={1}, to_apply=sum
  i = s32[] constant(0)
  s = (s32[], f32[6,4], f32[6]) tuple(i, b, v)
  l = (s32[], f32[6,4], f32[6]) while(s), condition=going, body=iteration
  c = f32[6,4] get-tuple-element(l), index=1
  began = ((f32[6,4], f32[6,4]), f32[6,4]) async-start(c, c), calls=later
  d = f32[6,4] async-done(began)
  cut = f32[3,2] slice(d), slice={[1:6:2], [2:4]}
  ROOT out = (f32[6,4], f32[6], f32[3,2]) tuple(c, v, cut)
}
"""
MAIN = {name: ("main", name) for name in ("x", "y", "a", "b", "v", "l", "c", "began", "cut")}

EDITS = {
    "keep results": (lambda m: edit.keep_results(m, [MAIN["v"]]), ["f32[6]"], (0, 1)),
    "keep two results": (lambda m: edit.keep_results(m, [MAIN["v"], MAIN["a"]]), ["f32[6]", "f32[6,4]"], (0, 1)),
    "to parameters": (lambda m: edit.to_parameters(m, [MAIN["b"]]), None, (MAIN["b"],)),
    "to constants": (
        lambda m: edit.to_constants(m, {MAIN["x"]: np.float32(2), MAIN["a"]: np.ones((6, 4), np.float32)}),
        None,
        (),
    ),
    "substitute": (lambda m: edit.substitute(m, {MAIN["a"]: MAIN["y"]}), None, (1,)),
    "expand call": (lambda m: edit.expand(m, {MAIN["b"]: 0}), None, (0, 1)),
    "expand loop": (lambda m: edit.expand(m, {MAIN["l"]: 0}), None, (0, 1)),
    "expand a call in halves": (lambda m: edit.expand(m, {MAIN["began"]: 0}), None, (0, 1)),
    "go on": (lambda m: edit.go_on(m, MAIN["l"], 2), None, (0, 1)),
    "write out": (lambda m: edit.write_out(m, MAIN["l"], 3), None, (0, 1)),
    "sum up": (lambda m: edit.sum_up(m, [MAIN["v"], MAIN["b"]]), None, (0, 1)),
    "share": (edit.share, None, (0, 1)),
    "drop arguments": (lambda m: edit.drop_arguments(m, [MAIN["b"], MAIN["v"]]), None, (0, 1)),
    "drop state": (lambda m: edit.drop_state(m, MAIN["l"], 2), None, (0, 1)),
    "isolate": (lambda m: edit.isolate(m, MAIN["v"]), ["f32[6]"], (MAIN["b"],)),
    "isolate in a body": (
        lambda m: edit.isolate(m, ("iteration", "iteration.y")),
        ["f32[6,4]"],
        (("iteration", "iteration.x"),),
    ),
    "isolate a tuple's user": (lambda m: edit.isolate(m, MAIN["l"]), None, (MAIN["b"], MAIN["v"])),
    "plain": (edit.plain, None, (0, 1)),
    "resize": (lambda m: edit.resize(edit.keep_results(m, [MAIN["v"]]).module, {6: 2}), ["f32[2]"], (0, 1)),
    "retype": (lambda m: edit.retype(m, "f32", "f64"), ["f64[6,4]", "f64[6]", "f64[3,2]"], (0, 1)),
    "attributes": (
        lambda m: edit.simplify_attributes(m, [MAIN["cut"]]),
        ["f32[6,4]", "f32[6]", "f32[3,2]"],
        (0, 1),
    ),
    "what is gone is passed over": (lambda m: edit.to_parameters(m, [("main", "nothing")]), None, (0, 1)),
}


@pytest.fixture
def module():
    module = compiler.parse(TEXT)
    compiler.verify(module)
    return module


@pytest.mark.parametrize(("change", "results", "sources"), EDITS.values(), ids=EDITS)
def test_an_edit_gives_another_valid_program(module, change, results, sources):
    before = compiler.to_text(module)
    edited = change(module)
    compiler.verify(edited.module)
    assert compiler.to_text(module) == before
    assert edited.sources == sources
    if results is not None:
        root = edited.module.entry.root
        shapes = root.shape.elements if root.opcode == "tuple" else (root.shape,)
        assert [str(shape) for shape in shapes] == results


def test_given_values_stand_where_they_were_computed(module):
    x, y = np.arange(24, dtype=np.float32).reshape(6, 4), np.ones((6, 4), np.float32)
    values = {}
    expected = compiler.interpret(module, x, y, trace=lambda i, v: values.setdefault(edit.place_of(i), v))
    edited = edit.to_parameters(module, [MAIN["b"]])
    actual = compiler.interpret(edited.module, *(values[source] for source in edited.sources))
    assert [a.tolist() for a in actual] == [e.tolist() for e in expected]


def test_bodies_that_differ_in_names_alone_are_one():
    text = """HloModule m
f { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] BODY }
g { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] add(x, y) }
ENTRY e { p = f32[4] parameter(0)  i = f32[] constant(0)
  s = f32[] reduce(p, i), dimensions={0}, to_apply=f
  ROOT t = f32[4] reduce-window(p, s), window={size=2 pad=0_1}, to_apply=g }"""
    for body, count in (("add(a, b)", 2), ("add(b, a)", 3), ("add(a, a)", 3), ("multiply(a, b)", 3)):
        module = compiler.parse(text.replace("BODY", body))
        assert len(edit.share(module).module.computations) == count


def test_a_call_without_unused_arguments_has_what_its_body_uses(module):
    changed = edit.drop_arguments(module, [MAIN["b"]]).module
    (call,) = (i for i in changed.instructions() if i.opcode == "call")
    assert [operand.name for operand in call.operands] == ["a"]
    assert edit.unused_arguments(call) == []


def test_a_loop_keeps_state_that_its_condition_needs(module):
    assert edit.drop_state(module, MAIN["l"], 0) is None


def test_a_loop_that_is_the_root_loses_a_result_with_its_state(module):
    alone = edit.keep_results(module, [MAIN["l"]]).module
    edited = edit.drop_state(alone, MAIN["l"], 2)
    compiler.verify(edited.module)
    inputs = draw(alone, 0)
    expected = compiler.interpret(alone, *inputs)[:2]
    actual = compiler.interpret(edited.module, *(inputs[source] for source in edited.sources))
    assert [result.tobytes() for result in actual] == [result.tobytes() for result in expected]


def test_a_loop_of_three_iterations_written_out_gives_what_it_gave(module):
    inputs = draw(module, 0)
    expected = compiler.interpret(module, *inputs)
    actual = compiler.interpret(edit.write_out(module, MAIN["l"], 3).module, *inputs)
    assert [result.tobytes() for result in actual] == [result.tobytes() for result in expected]


@pytest.mark.parametrize("trip_count", [1, 2, 3])
def test_a_loop_goes_on_without_its_counter(module, trip_count):
    edited = edit.go_on(module, MAIN["l"], trip_count).module
    compiler.verify(edited)
    (loop,) = (i for i in edited.instructions() if i.opcode == "while")
    assert [i.opcode for i in loop.attributes["condition"].instructions] == ["parameter", "get-tuple-element"]
    inputs = draw(module, 0)
    expected = compiler.interpret(edit.write_out(module, MAIN["l"], trip_count).module, *inputs)
    actual = compiler.interpret(edited, *inputs)
    assert [result.tobytes() for result in actual] == [result.tobytes() for result in expected]


def test_a_call_in_halves_gives_way_to_its_body(module):
    edited = edit.expand(module, {MAIN["began"]: 0}).module
    assert not [i for i in edited.instructions() if i.opcode.startswith("async")]
    inputs = draw(module, 0)
    expected, actual = (compiler.interpret(m, *inputs) for m in (module, edited))
    assert [result.tobytes() for result in actual] == [result.tobytes() for result in expected]


def test_programs_that_differ_in_names_and_notes_have_one_text(module):
    other = compiler.parse(TEXT.replace("twice", "double").replace(', metadata={op_name="a"}', ""))
    assert edit.canonical_text(other) == edit.canonical_text(module)
    other = compiler.parse(TEXT.replace("index=1", "index=1").replace("constant(3)", "constant(4)"))
    assert edit.canonical_text(other) != edit.canonical_text(module)


def test_the_length_of_a_transform_follows_its_operand() -> None:
    text = """ENTRY e { x = c64[4,8] parameter(0)
      ROOT r = c64[4,8] fft(x), fft_type=FFT, fft_length={8} }"""
    edited = edit.resize(compiler.parse(text), {8: 5})
    assert edited is not None
    assert edited.module.entry.root.attributes["fft_length"] == (5,)
    assert edited.module.entry.root.array.dims == (4, 5)


@pytest.mark.parametrize("dims", [(), (3,), (2, 1)])
def test_a_body_laid_open_is_a_map_of_it(module, dims):
    edited = edit.lay_open(module, MAIN["v"], 0, dims)
    compiler.verify(edited.module)
    root = edited.module.entry.root
    assert (root.opcode, root.array.dims) == ("map", dims)
    assert edited.sources == (("sum", "sum.a"), ("sum", "sum.b"))
    a, b = (np.full(dims, value, np.float32) for value in (1, 2))
    assert compiler.interpret(edited.module, a, b)[0].tolist() == (a + b).tolist()
    assert edit.lay_open(module, MAIN["v"], 1, dims) is None


def test_calls_in_what_is_called_are_expanded_at_once():
    text = """
    inner { x = f32[2] parameter(0) ROOT r = f32[2] negate(x) }
    outer { x = f32[2] parameter(0) c = f32[2] call(x), to_apply=inner ROOT r = f32[2] add(c, x) }
    ENTRY main { x = f32[2] parameter(0) ROOT c = f32[2] call(x), to_apply=outer }"""
    edited = edit.expand(compiler.parse(text), {("outer", "c"): 0, ("main", "c"): 0})
    compiler.verify(edited.module)
    assert [i.opcode for i in edited.module.entry.instructions] == ["parameter", "negate", "add"]


@pytest.mark.parametrize(
    ("call", "kept"),
    [
        ('f32[2,2] custom-call(x), custom_call_target="lapack_spotrf_ffi", backend_config="{uplo = 76 : ui8}"', "uplo"),
        ("(u64[2], u32[2]) rng-bit-generator(s), algorithm=rng_philox", "rng_philox"),
        ('f32[2,2] add(x, x), backend_config="a note"', ""),
    ],
)
def test_a_plain_program_keeps_what_an_operation_is(call, kept):
    text = f"ENTRY e {{ x = f32[2,2] parameter(0) s = u64[2] constant({{1, 2}}) ROOT r = {call} }}"
    plain = compiler.to_text(edit.plain(compiler.parse(text)).module)
    assert kept in plain
    assert "a note" not in plain
