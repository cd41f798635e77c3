"""Whole programs on the CPU: control flow, memory, threads and names, against the interpreter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import compiler
from compiler import CompileOptions
from compiler.backends.cpu.runtime import memory
from compiler.codegen import elemental, scalar
from compiler.generate import RandomChoices, Space, program
from compiler.inputs import draw
from xlabench.judging.judge import judge

Array = np.ndarray[Any, np.dtype[Any]]

ADD = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
CONTROL = {
    "a loop whose state is swapped": """
        body { p = (s32[], f32[3], f32[3]) parameter(0)
          i = s32[] get-tuple-element(p), index=0
          x = f32[3] get-tuple-element(p), index=1
          y = f32[3] get-tuple-element(p), index=2
          one = s32[] constant(1)  j = s32[] add(i, one)
          ROOT r = (s32[], f32[3], f32[3]) tuple(j, y, x) }
        more { p = (s32[], f32[3], f32[3]) parameter(0)
          i = s32[] get-tuple-element(p), index=0  n = s32[] constant(5)
          ROOT c = pred[] compare(i, n), direction=LT }
        ENTRY e { x = f32[3] parameter(0)  y = f32[3] negate(x)  z = s32[] constant(0)
          t = (s32[], f32[3], f32[3]) tuple(z, x, y)
          ROOT w = (s32[], f32[3], f32[3]) while(t), condition=more, body=body }""",
    "a loop that never runs": """
        body { p = f32[3] parameter(0)  ROOT r = f32[3] add(p, p) }
        more { p = f32[3] parameter(0)  ROOT c = pred[] constant(false) }
        ENTRY e { x = f32[3] parameter(0)  ROOT w = f32[3] while(x), condition=more, body=body }""",
    "a loop inside a loop, both from the same computations' shapes": """
        inner { p = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(p), index=0
          x = f32[4] get-tuple-element(p), index=1  one = s32[] constant(1)  j = s32[] add(i, one)
          y = f32[4] add(x, x)  ROOT r = (s32[], f32[4]) tuple(j, y) }
        few { p = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(p), index=0
          n = s32[] constant(3)  ROOT c = pred[] compare(i, n), direction=LT }
        outer { p = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(p), index=0
          x = f32[4] get-tuple-element(p), index=1  z = s32[] constant(0)
          t = (s32[], f32[4]) tuple(z, x)
          w = (s32[], f32[4]) while(t), condition=few, body=inner
          y = f32[4] get-tuple-element(w), index=1  h = f32[] constant(0.25)  hs = f32[4] broadcast(h), dimensions={}
          q = f32[4] multiply(y, hs)  one = s32[] constant(1)  j = s32[] add(i, one)
          ROOT r = (s32[], f32[4]) tuple(j, q) }
        few2 { p = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(p), index=0
          n = s32[] constant(4)  ROOT c = pred[] compare(i, n), direction=LT }
        ENTRY e { x = f32[4] parameter(0)  z = s32[] constant(0)  t = (s32[], f32[4]) tuple(z, x)
          w = (s32[], f32[4]) while(t), condition=few2, body=outer
          ROOT y = f32[4] get-tuple-element(w), index=1 }""",
    "branches that give back what they got": """
        same { p = (f32[3], f32[3]) parameter(0)  b = f32[3] get-tuple-element(p), index=1
          ROOT r = (f32[3], f32[3]) tuple(b, b) }
        other { p = (f32[3], f32[3]) parameter(0)  a = f32[3] get-tuple-element(p), index=0
          b = f32[3] get-tuple-element(p), index=1  ROOT r = (f32[3], f32[3]) tuple(b, a) }
        ENTRY e { x = f32[3] parameter(0)  i = s32[] parameter(1)  y = f32[3] cosine(x)
          t = (f32[3], f32[3]) tuple(x, y)
          ROOT c = (f32[3], f32[3]) conditional(i, t, t), branch_computations={same, other} }""",
    "a conditional on pred in a call": """
        up { p = f32[3] parameter(0)  ROOT r = f32[3] exponential(p) }
        down { p = f32[3] parameter(0)  ROOT r = f32[3] negate(p) }
        f { x = f32[3] parameter(0)  b = pred[] parameter(1)
          ROOT c = f32[3] conditional(b, x, x), true_computation=up, false_computation=down }
        ENTRY e { x = f32[3] parameter(0)  b = pred[] parameter(1)  y = f32[3] call(x, b), to_apply=f
          ROOT z = f32[3] call(y, b), to_apply=f }""",
    "results that are parameters, constants, views and each other": """
        ENTRY e { x = f32[2,3] parameter(0)  c = f32[2] constant({1, 2})  r = f32[6] reshape(x)
          y = f32[2,3] sine(x)  s = f32[6] reshape(y)  p = (f32[2,3], f32[6]) tuple(y, s)
          ROOT t = (f32[2,3], f32[2,3], f32[2], f32[6], (f32[2,3], f32[6]), f32[2,3]) tuple(x, x, c, r, p, y) }""",
    "a token beside a result": """
        ENTRY e { x = f32[3] parameter(0)  t = token[] after-all()  y = f32[3] negate(x)
          ROOT r = (f32[3], token[]) tuple(y, t) }""",
    "names that look alike to LLVM": """
        ENTRY e { p = f32[3] parameter(0)  c.1 = f32[3] constant({1, 2, 3})  c_1 = f32[3] constant({4, 5, 6})
          c-1 = f32[3] constant({7, 8, 9})  a.1 = f32[3] add(p, c.1)  a_1 = f32[3] multiply(p, c_1)
          x = f32[3] add(p, c-1)
          ROOT t = (f32[3], f32[3], f32[3], f32[3], f32[3]) tuple(a.1, a_1, x, c.1, c_1) }""",
}  # fmt: skip


def run(module: compiler.Module, inputs: Sequence[Array], **options: Any) -> list[Array]:
    return compiler.compile(module, "cpu", CompileOptions(verify_each=True, opt=1, **options))(*inputs)


def assert_equal(expected: Sequence[Array], actual: Sequence[Array]) -> None:
    for left, right in zip(expected, actual, strict=True):
        assert (left.dtype, left.shape) == (right.dtype, right.shape)
        np.testing.assert_allclose(left.astype(np.float64), right.astype(np.float64), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("fusion", [True, False])
@pytest.mark.parametrize("name", CONTROL)
def test_control_flow_and_results(name: str, *, fusion: bool) -> None:
    module = compiler.parse("HloModule m\n" + CONTROL[name])
    for seed in range(3):
        inputs = draw(module, seed)
        expected = compiler.interpret(module, *inputs)
        for threads in (1, 2):
            assert_equal(expected, run(module, inputs, fusion=fusion, threads=threads))


def test_a_branch_index_out_of_range_takes_the_last_branch() -> None:
    module = compiler.parse("""HloModule m
        a { p = s32[] parameter(0)  ROOT r = s32[] add(p, p) }
        b { p = s32[] parameter(0)  ROOT r = s32[] negate(p) }
        ENTRY e { i = s32[] parameter(0)  ROOT c = s32[] conditional(i, i, i), branch_computations={a, b} }""")
    for number in (-1, 0, 1, 2, 2**31 - 1):
        inputs = [np.int32(number)]
        assert compiler.interpret(module, *inputs)[0] == run(module, inputs)[0]


@pytest.mark.slow
def test_fusions_stay_within_the_stack() -> None:
    lines = ["r0 = f32[7] parameter(0)", "z = f32[] constant(1)"]
    pads = ("-1_1", "1_-1")
    lines += [f"r{number + 1} = f32[7] pad(r{number}, z), padding={pads[number % 2]}" for number in range(600)]
    module = compiler.parse("HloModule m\nENTRY e {\n" + "\n".join(lines) + "\nROOT r = f32[7] negate(r600) }")
    inputs = draw(module, 0)
    assert_equal(compiler.interpret(module, *inputs), run(module, inputs))


SUPPORTED = (
    frozenset(elemental.RULES) | frozenset(scalar.RULES) | {"dot", "scatter", "sort", "while", "conditional", "call"}
)
SPACE = Space(
    SUPPORTED, frozenset({"f32", "f64", "bf16", "s32", "u8", "pred", "c64"}), most_instructions=12, empty_percent=2
)


@pytest.fixture
def poisoned() -> Iterator[None]:
    memory.set_poison(0xA5)
    yield
    memory.set_poison(None)


@pytest.mark.slow
@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize("seed", range(40))
def test_a_random_program_agrees_with_the_interpreter(seed: int) -> None:
    module = program(RandomChoices(seed), SPACE)
    inputs = draw(module, seed)
    expected = compiler.interpret(module, *inputs)
    for fusion in (True, False):
        try:
            actual = run(module, inputs, fusion=fusion, threads=2)
        except compiler.UnsupportedError as error:
            pytest.skip(str(error))
        judgement = judge(module, inputs, expected, actual)
        assert judgement.verdict != "wrong", judgement.message


LONG = (
    ADD
    + """ENTRY e { x = f32[40000] parameter(0)  y = f32[40000] exponential(x)
    w = f32[40000] tanh(y)  z = f32[] constant(0)  s = f32[] reduce(y, z), dimensions={0}, to_apply=add
    v = f32[200,200] reshape(w)  c = f32[200] reduce(v, z), dimensions={0}, to_apply=add
    m = f32[200,200] dot(v, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    b = f32[200,200] broadcast(c), dimensions={1}  n = f32[200,200] add(m, b)
    ROOT t = (f32[], f32[200], f32[200,200], f32[40000]) tuple(s, c, n, w) }"""
)


@pytest.mark.slow
@pytest.mark.parametrize("fusion", [True, False])
def test_results_do_not_depend_on_threads_memory_or_company(*, fusion: bool) -> None:
    module = compiler.parse("HloModule m\n" + LONG)
    inputs = draw(module, 0)
    one, two = (compiler.compile(module, "cpu", CompileOptions(fusion=fusion, threads=threads)) for threads in (1, 2))
    expected = [result.tobytes() for result in one(*inputs)]
    for byte in (0, 0xFF):
        memory.set_poison(byte)
        try:
            assert [result.tobytes() for result in two(*inputs)] == expected
        finally:
            memory.set_poison(None)
    with ThreadPoolExecutor(4) as callers:
        calls = [callers.submit(executable, *inputs) for executable in (one, two) * 6]
        for call in calls:
            assert [result.tobytes() for result in call.result()] == expected
