"""Integer twins: valid, without floats, and the same to the bit wherever they run."""

import ml_dtypes
import numpy as np
import pytest
from op_programs import FORMS, program

import compiler
from compiler import edit
from compiler.edit import integer_twin
from compiler.inputs import draw
from compiler.ir.types import TYPES
from compiler.ops import OPS
from xlabench.judging.judge import judge

PROGRAMS = {opcode: program(opcode) for opcode, op in OPS.items() if op.evaluate is not None} | FORMS
REFUSED = {
    "batch-norm-grad",
    "batch-norm-inference",
    "batch-norm-training",
    "cholesky",
    "custom-call",
    "fft",
    "rng",
    "stochastic-convert",
    "triangular-solve",
}


def types_of(module):
    return {leaf.element_type for i in module.instructions() for leaf in edit.leaves(i.shape)}


def has_twin(module):
    """Whether it computes with floats, real ones, and with nothing that integers have not."""
    types, opcodes = types_of(module), {i.opcode for i in module.instructions()}
    return any(t.is_float for t in types) and not any(t.is_complex for t in types) and not opcodes & REFUSED


PARSED = {name: compiler.parse(text) for name, text in PROGRAMS.items()}


@pytest.mark.parametrize("name", [name for name, module in PARSED.items() if has_twin(module)])
def test_a_twin_is_a_valid_program_of_integers(name):
    module = PARSED[name]
    before = compiler.to_text(module)
    twin = edit.integer_twin(module)
    assert compiler.to_text(module) == before
    assert not any(t.is_float or t.is_complex for t in types_of(twin))
    compiler.verify(twin)
    assert compiler.parse(compiler.to_text(twin)) == twin


@pytest.mark.parametrize("name", [name for name, module in PARSED.items() if not has_twin(module)])
def test_what_integers_cannot_take_the_place_of_is_refused(name):
    with pytest.raises(compiler.UnsupportedError, match="is not supported by the integer twin"):
        edit.integer_twin(PARSED[name])


@pytest.mark.parametrize("opcode", ["exponential", "atan2", "is-finite", "divide", "dot", "reduce", "sort", "scatter"])
def test_a_twin_gives_the_bits_of_the_reference_when_it_is_compiled(opcode):
    twin = edit.integer_twin(compiler.parse(PROGRAMS[opcode]))
    inputs = draw(twin, seed=3)
    expected = compiler.interpret(twin, *inputs)
    actual = compiler.compile(twin)(*inputs)
    assert [a.tobytes() for a in actual] == [e.tobytes() for e in expected]


@pytest.mark.parametrize("element_type", [t for t in TYPES.values() if t.is_float], ids=str)
def test_integers_are_as_wide_as_the_floats_and_constants_keep_what_they_say(element_type):
    name = element_type.name
    one = f"ENTRY e {{ x = {name}[3] parameter(0) c = {name}[3] constant({{1, 2, 4}}) ROOT y = {name}[3] add(x, c) }}"
    twin = edit.integer_twin(compiler.parse(one))
    (parameter,) = twin.entry.parameters
    integer = parameter.array.element_type
    assert integer.is_integer
    assert integer.bits == (8 if element_type.bits == 6 else element_type.bits)
    (constant,) = (i for i in twin.instructions() if i.opcode == "constant")
    assert constant.literal.array.astype(np.int64).tolist() == [1, 2, min(4, ml_dtypes.iinfo(integer.dtype).max)]


def test_extremes_stay_extremes_and_fractions_do_not_vanish():
    text = "ENTRY e { x = f32[6] parameter(0) c = f32[6] constant({inf, -inf, nan, 0.75, -1e-30, -0.0})"
    twin = edit.integer_twin(compiler.parse(f"{text} ROOT y = f32[6] multiply(x, c) }}"))
    (constant,) = (i for i in twin.instructions() if i.opcode == "constant")
    info = np.iinfo(np.int32)
    values = constant.literal.array.tolist()
    assert values[:3] == [info.max, info.min, 0]
    assert values[3] > 0 > values[4]
    assert values[5] == 0


def test_a_loop_that_floats_end_has_no_twin():
    text = """
    go { s = (f32[]) parameter(0) x = f32[] get-tuple-element(s), index=0 l = f32[] constant(9)
      ROOT r = pred[] compare(x, l), direction=LT }
    iteration { s = (f32[]) parameter(0) x = f32[] get-tuple-element(s), index=0 y = f32[] add(x, x)
      ROOT r = (f32[]) tuple(y) }
    ENTRY e { x = f32[] parameter(0) t = (f32[]) tuple(x) ROOT w = (f32[]) while(t), condition=go, body=iteration }"""
    with pytest.raises(compiler.UnsupportedError, match="how often it iterates depends on floats"):
        edit.integer_twin(compiler.parse(text))


def test_a_clamp_between_bounds_of_another_width_has_no_twin():
    """Floats of several widths mix where precisions do; integers do not, and three of them have no stand-in."""
    text = "ENTRY e { l = bf16[2] parameter(0) x = f32[2] parameter(1) ROOT c = f32[2] clamp(l, x, l) }"
    with pytest.raises(compiler.UnsupportedError, match="several widths"):
        edit.integer_twin(compiler.parse(text))


def test_what_hides_in_the_bound_of_a_long_sum_is_wrong_in_its_twin():
    text = """add { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT s = bf16[] add(a, b) }
    ENTRY e { x = bf16[4096] parameter(0) o = bf16[] constant(0)
      ROOT r = bf16[] reduce(x, o), dimensions={0}, to_apply=add }"""
    verdicts = []
    for module in (compiler.parse(text), integer_twin(compiler.parse(text))):
        (x,) = draw(module, seed=1)
        x[7] = 1
        (expected,) = compiler.interpret(module, x)
        beside = x.copy()
        beside[7] = 2
        (actual,) = compiler.interpret(module, beside)
        verdicts.append(judge(module, [x], [expected], [actual]).verdict)
    assert verdicts[0] in ("bitwise", "within")
    assert verdicts[1] == "wrong"
