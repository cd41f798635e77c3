"""A program twice as long takes twice the code and twice the work: nothing grows with the square of it, or worse.

Work is counted in calls of Python functions, which a busy machine does not change.  Unrolled loops, and training steps
of many parameters, are as long as these programs.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable

import pytest
from parts import every

import compiler
from compiler.backends import BACKENDS

SUM = "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }"
LESS = "less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }"
STEPS = {
    "elementwise": "y{i} = f32[64] multiply(x{i}, p)  x{next} = f32[64] add(y{i}, p)",
    "reductions": "r{i} = f32[] reduce(x{i}, z), dimensions={{0}}, to_apply=sum"
    "  b{i} = f32[64] broadcast(r{i}), dimensions={{}}  x{next} = f32[64] multiply(x{i}, b{i})",
    "products": "m{i} = f32[8,8] reshape(x{i})  d{i} = f32[8,8] dot(m{i}, w), lhs_contracting_dims={{1}},"
    " rhs_contracting_dims={{0}}  t{i} = f32[8,8] tanh(d{i})  x{next} = f32[64] reshape(t{i})",
    "padded stencils": "q{i} = f32[66] pad(x{i}, z), padding=1_1  l{i} = f32[64] slice(q{i}), slice={{[0:64]}}"
    "  r{i} = f32[64] slice(q{i}), slice={{[2:66]}}  x{next} = f32[64] add(l{i}, r{i})",
    "turned stencils": "a{i} = f32[1] slice(x{i}), slice={{[63:64]}}  b{i} = f32[63] slice(x{i}), slice={{[0:63]}}"
    "  c{i} = f32[64] concatenate(a{i}, b{i}), dimensions={{0}}  x{next} = f32[64] add(x{i}, c{i})",
    "reversals": "r{i} = f32[64] reverse(x{i}), dimensions={{0}}  x{next} = f32[64] add(x{i}, r{i})",
    "transposes": "m{i} = f32[4,16] reshape(x{i})  t{i} = f32[16,4] transpose(m{i}), dimensions={{1,0}}"
    "  r{i} = f32[64] reshape(t{i})  x{next} = f32[64] subtract(x{i}, r{i})",
    "one read by all": "k{i} = f32[] constant({i})  b{i} = f32[64] broadcast(k{i}), dimensions={{}}"
    "  m{i} = f32[64] multiply(e, b{i})  x{next} = f32[64] add(x{i}, m{i})",
    "sorts": "s{i} = f32[64] sort(x{i}), dimensions={{0}}, to_apply=less  x{next} = f32[64] sine(s{i})",
}
"""What makes the value x{next} of x{i}, by what it is; p, w, z and e are there."""

SHORTEST = 30
MOST = 2.5
"""How many times what the doubling before added the last one may add: of a square it is 4 times."""


def unrolled(step: str, count: int) -> str:
    """A program of that many steps."""
    steps = "\n".join(step.format(i=i, next=i + 1) for i in range(count))
    return f"""{SUM} {LESS} ENTRY main {{ x0 = f32[64] parameter(0) p = f32[64] parameter(1)
      w = f32[8,8] parameter(2) z = f32[] constant(0) e = f32[64] exponential(p)
      {steps} ROOT r = f32[64] negate(x{count}) }}"""


def many_arrays(count: int) -> str:
    """A program of eight times as many parameters and results."""
    count *= 8
    lines = "\n".join(f"p{i} = f32[16] parameter({i})  e{i} = f32[16] exponential(p{i})" for i in range(count))
    shapes, names = ", ".join(["f32[16]"] * count), ", ".join(f"e{i}" for i in range(count))
    return f"ENTRY main {{ {lines} ROOT t = ({shapes}) tuple({names}) }}"


PROGRAMS: dict[str, Callable[[int], str]] = {"many arrays": many_arrays} | {
    name: lambda count, step=step: unrolled(step, count) for name, step in STEPS.items()
}


def cost(text: str, backend: str) -> tuple[int, int]:
    """Lines of LLVM IR, and calls that Python makes to compile a program."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    options = compiler.CompileOptions(device="sim", threads=1, opt=0)
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        executable = compiler.compile(text, backend=backend, options=options)
    finally:
        sys.setprofile(before)
    return executable.artifacts["ir-no-opt.ll"].count("\n"), calls


@pytest.mark.slow
@pytest.mark.parametrize(("name", "backend"), every(3, itertools.product(PROGRAMS, BACKENDS)))
def test_what_a_program_takes_grows_as_it_does(name: str, backend: str) -> None:
    program = PROGRAMS[name]
    compiler.compile(program(1), backend=backend, options=compiler.CompileOptions(device="sim"))
    costs = [cost(program(SHORTEST << doubling), backend) for doubling in range(3)]
    for first, second, third in zip(*costs, strict=True):
        assert third - second < MOST * (second - first), costs
