"""Which kernels share a function, and which only look alike."""

import numpy as np
import pytest

import compiler
from compiler.backends.cpu import plan
from compiler.backends.cpu.machine import Machine
from compiler.codegen.llvm import Target
from compiler.options import CompileOptions
from compiler.pipeline import PIPELINES, run

_HEAD = "ENTRY main { a = f32[64] parameter(0)  b = f32[64] parameter(1)  c = f32[32] parameter(2)"
_SORTED = "less { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = pred[] compare(x, y), direction=LT }\n"
ONE = [
    "p = f32[64] sine(a)  q = f32[64] sine(b)",
    "p = f32[128] concatenate(a, b), dimensions={0}  q = f32[128] concatenate(b, a), dimensions={0}",
    "p = f32[64] multiply(a, b)  q = f32[64] multiply(b, a)",
]
TWO = {
    "another operation": "p = f32[64] sine(a)  q = f32[64] cosine(a)",
    "another shape": "p = f32[64] sine(a)  q = f32[32] sine(c)",
    "another number": "k = f32[] constant(0)  m = f32[] constant(-0)  p = f32[64] broadcast(k), dimensions={}"
    "  q = f32[64] broadcast(m), dimensions={}",
    "another attribute": "p = f32[32] slice(a), slice={[0:32]}  q = f32[32] slice(a), slice={[1:33]}",
    "one operand twice": "p = f32[64] multiply(a, b)  q = f32[64] multiply(a, a)",
    "operands the other way": "p = f32[64] subtract(a, b)  d = f32[64] sine(a)  q = f32[64] subtract(d, a)",
}


def planned(body, before="", **options):
    """What is decided about a program of two results."""
    roots = "ROOT out = tuple(p, q) }"
    module = compiler.parse(f"{before}{_HEAD} {body} {roots}")
    run(module, PIPELINES["compile"], CompileOptions(disable_passes=("fusion",), **options))
    return plan.plan(module, Machine.of(Target.host()), 1)


def plans(found):
    """How many plans there are among the choices."""
    return len({id(choice.plan) for choice in found.choices.values()})


@pytest.mark.parametrize("body", ONE)
def test_equal_kernels_share_a_plan(body):
    found = planned(body)
    assert plans(found) == len(found.kernels) - 1


@pytest.mark.parametrize("body", TWO.values(), ids=TWO)
def test_kernels_that_differ_do_not(body):
    found = planned(body)
    assert plans(found) == len(found.kernels)


def test_sorts_look_at_what_is_read_of_them():
    sorts = "s = f32[64] sort(a), dimensions={0}, to_apply=less  q = f32[64] sort(b), dimensions={0}, to_apply=less"
    found = planned(f"{sorts}  p = f32[2] slice(s), slice={{[0:2]}}", _SORTED)
    assert plans(found) == len(found.kernels)


@pytest.mark.parametrize("body", [*ONE, *TWO.values()])
def test_programs_of_shared_functions_compute_what_they_say(body):
    text = f"{_HEAD} {body} ROOT out = tuple(p, q) }}"
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=n).astype(np.float32) for n in (64, 64, 32)]
    found = compiler.compile(text, options=CompileOptions(disable_passes=("fusion",)))(*arrays)
    for result, expected in zip(found, compiler.interpret(compiler.parse(text), *arrays), strict=True):
        np.testing.assert_allclose(result, expected, rtol=2e-6)
