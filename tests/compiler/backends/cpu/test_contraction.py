"""Whoever computes an element rounds it alike: products are contracted with sums before loops are cut up."""

import dataclasses

import numpy as np
import pytest
from op_programs import FORMS, program

import compiler
from compiler import CompileOptions
from compiler.backends.cpu.contraction import contract
from compiler.codegen.llvm_ir import Module
from compiler.ops import OPS, Trait, having
from xlabench.fuzzing.values import make_inputs

SHARED = CompileOptions(threads=2, share_all=True)
TEXTS = {opcode: program(opcode) for opcode, op in OPS.items() if op.evaluate is not None} | FORMS
OUTER = """ENTRY e {{
  a = {0}[{1}] parameter(0)  column = {0}[{2}] parameter(1)  row = {0}[{3}] parameter(2)
  one = {0}[] parameter(3)  is_none = pred[] parameter(4)
  u = {0}[{1}] broadcast(column), dimensions={{0}}  v = {0}[{1}] broadcast(row), dimensions={{1}}
  zero = {0}[] constant(0)  kept = {0}[] select(is_none, zero, one)  w = {0}[{1}] broadcast(kept), dimensions={{}}
  {4} }}"""
BODIES = {
    "less a product": "m = T multiply(u, v)  ROOT r = T subtract(a, m)",
    "a product less": "m = T multiply(u, v)  ROOT r = T subtract(m, a)",
    "a product more": "m = T multiply(u, v)  ROOT r = T add(m, a)",
    "less a product of three": "k = T multiply(u, v)  m = T multiply(w, k)  ROOT r = T subtract(a, m)",
    "more than a product of three": "k = T multiply(u, w)  m = T multiply(k, v)  ROOT r = T add(m, a)",
    "two products": "m = T multiply(u, v)  n = T multiply(a, v)  ROOT r = T subtract(m, n)",
    "a product twice": "m = T multiply(u, v)  s = T add(m, a)  ROOT r = T multiply(s, m)",
    "one of two": "m = T multiply(u, v)  c = pred[SIZES] compare(u, v), direction=LT  s = T select(c, m, u)"
    "  ROOT r = T subtract(a, s)",
}
SIZES = [(5, 5), (7, 3), (9, 8), (33, 17), (2, 130)]


def alone_and_together(module):
    """The bytes of a program's results with the help of other threads, and without, as while these help others."""
    inputs = make_inputs(module, np.random.default_rng(0), "tame")
    executable = compiler.compile(module, options=SHARED)
    alone = dataclasses.replace(executable._entry, threads=1)
    return [[np.asarray(result).tobytes() for result in call(*inputs)] for call in (executable, alone.call)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("element_type", ["f32", "f64", "bf16", "f16"])
@pytest.mark.parametrize("body", BODIES)
def test_a_call_that_has_no_help_gives_the_same_bits(body, element_type, sizes):
    dims = ",".join(map(str, sizes))
    lines = BODIES[body].replace("SIZES", dims).replace(" T ", f" {element_type}[{dims}] ")
    together, alone = alone_and_together(compiler.parse(OUTER.format(element_type, dims, *sizes, lines)))
    assert together == alone


@pytest.mark.parametrize("name", [name for name in TEXTS if name not in having(Trait.RANDOM)])
def test_so_does_every_operation(name):
    module = compiler.parse(TEXTS[name])
    if compiler.device_count(module) > 1:
        pytest.skip("one program for several devices")
    try:
        together, alone = alone_and_together(module)
    except compiler.UnsupportedError as error:
        pytest.skip(str(error))
    assert together == alone


def contracted(*lines):
    module = Module()
    function = module.function("f", "void", [("float", "a"), ("float", "b"), ("float", "c")])
    function.lines += lines
    contract(module)
    return function.lines


def test_a_product_and_the_one_sum_that_takes_it_are_a_multiply_add():
    assert contracted("%p = fmul contract float %a, %b", "%s = fadd contract float %c, %p") == [
        "%s = call float @llvm.fma.f32(float %a, float %b, float %c)"
    ]
    given = ("%a", "<double 1.0, double 2.0>", "%s.negated")
    twice = "%p = fmul contract <2 x double> %a, <double 1.0, double 2.0>"
    assert contracted(twice, "%s = fsub contract <2 x double> %p, %c") == [
        "%s.negated = fneg <2 x double> %c",
        f"%s = call <2 x double> @llvm.fma.v2f64({', '.join(f'<2 x double> {one}' for one in given)})",
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ("%p = fmul contract float %a, %b", "%s = fadd contract float %p, %p"),
        ("%p = fmul contract float %a, %b", "%s = fadd contract float %p, %c", "store float %p, ptr %to"),
    ],
)
def test_one_that_others_take_too_is_rounded_for_all_of_them(lines):
    assert contracted(*lines) == [line.replace("fadd contract", "fadd") for line in lines]


def test_sums_in_any_order_are_left_to_llvm():
    lines = ["%p = fmul contract float %a, %b", "%s = fadd reassoc contract float %p, %c"]
    assert contracted(*lines) == lines
