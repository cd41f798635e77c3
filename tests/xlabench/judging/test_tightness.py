"""A bound that is many times as wide as rounding explains is told from one that is not, for each kind of operation."""

import numpy as np
import pytest

import compiler
from compiler.generate import PAIRS
from compiler.ops import OPS, Trait, having
from xlabench.cases.inputs import DTYPES
from xlabench.fuzzing.values import make_inputs
from xlabench.judging.bounds import Bounds, basis_of
from xlabench.judging.tightness import HELD, needlessly_open, too_wide

ADD = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }"
SUMS = {
    "reduce": f"{ADD} ENTRY e {{ x = f32[4,9] parameter(0) z = f32[] constant(0) ROOT r = f32[4] reduce(x, z),"
    " dimensions={1}, to_apply=add }",
    "reduce-window": f"{ADD} ENTRY e {{ x = f32[24] parameter(0) z = f32[] constant(0) ROOT r = f32[24]"
    " reduce-window(x, z), window={size=7 pad=3_3}, to_apply=add }",
    "scatter": f"{ADD} ENTRY e {{ x = f32[4] parameter(0) i = s32[9,1] constant({{ {{0}}, {{1}}, {{0}}, {{0}}, {{1}},"
    " {2}, {3}, {3}, {2} }) u = f32[9] parameter(1) ROOT r = f32[4] scatter(x, i, u), update_window_dims={},"
    " inserted_window_dims={0}, index_vector_dim=1, scatter_dims_to_operand_dims={0}, to_apply=add }",
    "dot": "ENTRY e { x = f32[3,16] parameter(0) y = f32[16] parameter(1) ROOT r = f32[3] dot(x, y),"
    " lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
    "complex dot": "ENTRY e { x = c64[3,16] parameter(0) y = c64[16] parameter(1) ROOT r = c64[3] dot(x, y),"
    " lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
}
ZEROS = """ENTRY e { z = c64[] constant((-0.0, 0)) x = c64[3,16] broadcast(z), dimensions={} y = c64[16] parameter(0)
  ROOT r = c64[3] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"""
"""Of which only what may be lost is left."""
OTHERS = {
    "add": "ENTRY e { x = f64[8] parameter(0) y = f64[8] parameter(1) ROOT r = f64[8] add(x, y) }",
    "tanh": "ENTRY e { x = f32[8] parameter(0) ROOT r = f32[8] tanh(x) }",
    "complex sine": "ENTRY e { x = c64[16] parameter(0) ROOT r = c64[16] sine(x) }",
}
HELD_TYPES = {name for name, dtype in DTYPES.items() if dtype.name in HELD}
TIMES = dict.fromkeys(SUMS, 30) | dict.fromkeys(OTHERS, 100)


def said(text, times):
    module, found = compiler.parse(text), []
    for number in range(4):
        inputs = make_inputs(module, np.random.default_rng(number), "tame")
        expected = compiler.interpret(module, *inputs)
        bounds = [Bounds(one.value, one.error * times) for one in basis_of(module, inputs, expected).bounds]
        found += too_wide(module, inputs, expected, bounds)
    return found


@pytest.mark.parametrize("kind", TIMES)
def test_bounds_that_are_too_wide_are_told_and_others_left_in_peace(kind):
    text = (SUMS | OTHERS)[kind]
    assert not said(text, 1)
    assert any("roundings wide" in words for words in said(text, TIMES[kind]))


ONE_TERM = {
    "dot": "x = T[4,1] parameter(0) y = T[1,3] parameter(1) ROOT r = T[4,3] dot(x, y), lhs_contracting_dims={1},"
    " rhs_contracting_dims={0}",
    "convolution": "x = T[4,5,1] parameter(0) y = T[1,1,2] parameter(1) ROOT r = T[4,5,2] convolution(x, y),"
    " window={size=1}, dim_labels=b0f_0io->b0f",
    "convolution of holes": "x = T[3,1,1,1] parameter(0) y = T[1,1,1,2] parameter(1) ROOT r = T[3,1,1,2]"
    " convolution(x, y), window={size=1x1 stride=2x1 lhs_dilate=2x1 rhs_reversal=0x1}, dim_labels=b01f_01io->b01f",
    "ragged-dot": "x = T[4,1] parameter(0) y = T[2,1,3] parameter(1) g = s32[2] constant({1, 3}) ROOT r = T[4,3]"
    " ragged-dot(x, y, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0},"
    " rhs_group_dims={0}",
}


@pytest.mark.parametrize("kind", sorted(HELD_TYPES))
@pytest.mark.parametrize("product", ONE_TERM)
def test_products_of_one_term_are_within_what_rounding_does(product, kind):
    text = f"ENTRY e {{ {ONE_TERM[product].replace('T[', f'{kind}[')} }}"
    assert not said(text, 1)
    assert said(text, 4)


FUNCTIONS = sorted(having(Trait.ELEMENTWISE) & having(Trait.APPROXIMATE) - having(Trait.AMPLIFIES))


@pytest.mark.parametrize("kind", ["f32", "f64", "c64"])
@pytest.mark.parametrize("opcode", FUNCTIONS)
def test_the_bounds_of_every_function_are_held_to_its_own_results(opcode, kind):
    """Beside the largest of all results those of most others would be nothing."""
    takes = OPS[opcode].operands[0]
    names = [f"x{number}" for number in range(takes)]
    given = "  ".join(f"{name} = {kind}[32] parameter({number})" for number, name in enumerate(names))
    text = f"ENTRY e {{ {given} ROOT r = {kind}[32] {opcode}({', '.join(names)}) }}"
    if (opcode, kind) not in PAIRS:
        pytest.skip("no such program")
    assert not said(text, 1)
    assert said(text, 50)


@pytest.mark.parametrize(
    "text",
    [
        "ENTRY e { c = c128[] constant((2, 0)) ROOT r = c128[] acos(c) }",  # on a branch cut
        "ENTRY e { c = c128[4] constant({(0,1), (0,1), (0,1), (0,1)}) ROOT r = c128[4] asinh(c) }",  # a branch point
        ZEROS,
    ],
)
def test_what_is_wide_for_a_reason_is_no_fault_of_the_bounds(text):
    assert not said(text, 1)


_OTHERS = frozenset({"complex", "is-finite", "stochastic-convert"})
"""What makes other types of floats, or takes others."""


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("opcode", sorted(having(Trait.ELEMENTWISE)))
def test_what_one_operation_makes_of_known_numbers_is_known(opcode, kind):
    """An infinite bound would hide whatever stands there, as at the pole of a power."""
    if (opcode, kind) not in PAIRS or OPS[opcode].required or OPS[opcode].operands[0] > 2 or opcode in _OTHERS:
        pytest.skip("no such program")
    takes = OPS[opcode].operands[0]
    given = "  ".join(f"x{number} = {kind}[64] parameter({number})" for number in range(takes))
    operands = ", ".join(f"x{number}" for number in range(takes))
    module = compiler.parse(f"ENTRY e {{ {given} ROOT r = {kind}[64] {opcode}({operands}) }}")
    for values in ("special", "zeros", "extreme", "denormal", "edges"):
        inputs = make_inputs(module, np.random.default_rng(0), values)
        expected = compiler.interpret(module, *inputs)
        (bound,) = basis_of(module, inputs, expected).bounds
        assert not list(needlessly_open(module, expected, [bound])), values
        opened = Bounds(
            np.where(np.arange(64) == 7, 1.0, bound.value), np.where(np.arange(64) == 7, np.inf, bound.error)
        )
        assert list(needlessly_open(module, expected, [opened]))
