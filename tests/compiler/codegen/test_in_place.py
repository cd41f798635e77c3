"""Results in the memory of operands that die: the same bits as with memory of their own, and only where that is sound.

Every program computes what is written over (`a`, `b`) itself, by sorts, which nothing is fused
with: a caller's arrays are never written.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import compiler
from compiler import CompileOptions
from compiler.backends.cpu import plan, program
from compiler.backends.cpu.kernels.strategy import nowhere
from compiler.backends.cpu.kernels.table import KINDS
from compiler.backends.cpu.machine import Machine
from compiler.codegen.llvm import Target
from compiler.pipeline import PIPELINES, run

_MATRIX = "f32[{n},{n}]"
_SORTED = """
  x = f32[{n},{n}] parameter(0)
  y = f32[{n},{n}] parameter(1)
  a = f32[{n},{n}] sort(x), dimensions={{1}}, to_apply=less
  b = f32[{n},{n}] sort(y), dimensions={{0}}, to_apply=less
  zero = f32[] constant(0)
"""
_COMPUTATIONS = """
sum { p = f32[] parameter(0)  q = f32[] parameter(1)  ROOT s = f32[] add(p, q) }
less { p = f32[] parameter(0)  q = f32[] parameter(1)  ROOT s = pred[] compare(p, q), direction=LT }
most { p = f32[] parameter(0)  q = f32[] parameter(1)  ROOT s = f32[] maximum(p, q) }
"""

# Lines, and how many results lie where an operand lay.
IN_PLACE = {
    "of two that die": ("ROOT r = {m} add(a, b)", 1),
    "as another type": ("ROOT r = s32[{n},{n}] convert(a)", 1),
    "beside what is moved": ("t = {m} reverse(b), dimensions={{1,0}}\n ROOT r = {m} add(a, t)", 1),
    "beside what is padded": (
        (
            "c = f32[{n},{less}] slice(b), slice={{[0:{n}], [0:{less}]}}\n"
            " p = {m} pad(c, zero), padding=0_0x2_3\n ROOT r = {m} subtract(a, p)"
        ),
        1,
    ),
    "softmax": (
        (
            "h = f32[{n}] reduce(a, zero), dimensions={{1}}, to_apply=most\n"
            " hs = {m} broadcast(h), dimensions={{0}}\n d = {m} subtract(a, hs)\n e = {m} exponential(d)\n"
            " t = f32[{n}] reduce(e, zero), dimensions={{1}}, to_apply=sum\n"
            " ts = {m} broadcast(t), dimensions={{0}}\n ROOT r = {m} divide(e, ts)"
        ),
        1,
    ),
    "added to a product": (
        "d = {m} dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n ROOT r = {m} add(a, d)",
        1,
    ),
    "what a product is added to and scaled by": (
        (
            "d = {m} dot(x, y), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}\n"
            " s = {m} add(d, a)\n ROOT r = {m} multiply(s, a)"
        ),
        1,
    ),
    "added to few sums": (
        (
            "f = f32[{n},3] slice(y), slice={{[0:{n}], [0:3]}}\n"
            " d = f32[{n},3] dot(x, f), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
            " c = f32[{n},3] slice(a), slice={{[0:{n}], [2:5]}}\n"
            " s = f32[{n},3] sort(c), dimensions={{0}}, to_apply=less\n ROOT r = f32[{n},3] subtract(s, d)"
        ),
        1,
    ),
    "added to few rows": (
        (
            "f = f32[2,{n}] slice(x), slice={{[0:2], [0:{n}]}}\n"
            " d = f32[2,{n}] dot(f, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
            " c = f32[2,{n}] slice(a), slice={{[3:5], [0:{n}]}}\n"
            " s = f32[2,{n}] sort(c), dimensions={{1}}, to_apply=less\n ROOT r = f32[2,{n}] maximum(s, d)"
        ),
        1,
    ),
    "added to a product as another type": (
        (
            "d = {m} dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
            " t = {m} add(d, a)\n ROOT r = s32[{n},{n}] convert(t)"
        ),
        1,
    ),
    "scattered into": (
        (
            "i = s32[2,1] constant({{{{1}},{{4}}}})\n u = f32[2,{n}] slice(b), slice={{[0:2], [0:{n}]}}\n"
            " ROOT r = {m} scatter(a, i, u), update_window_dims={{1}}, inserted_window_dims={{0}},"
            " scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=sum"
        ),
        1,
    ),
    "solved": ("ROOT r = {m} triangular-solve(b, a), left_side=true, lower=true, transpose_a=NO_TRANSPOSE", 1),
    "solved from the right": (
        "ROOT r = {m} triangular-solve(b, a), left_side=false, lower=true, transpose_a=TRANSPOSE",
        1,
    ),
}

APART = {
    "read at another place": "ROOT r = {m} reverse(a), dimensions={{0}}",
    "read at two places": "t = {m} transpose(a), dimensions={{1,0}}\n ROOT r = {m} add(a, t)",
    "beside what is read across": "t = {m} transpose(b), dimensions={{1,0}}\n ROOT r = {m} add(a, t)",
    "of another size": "ROOT r = f64[{n},{n}] convert(a)",
    "read once more": (
        "s = {m} sqrt(a)\n c = {m} dot(s, a), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
        " ROOT r = {m} reverse(c), dimensions={{1}}"
    ),
    "computed again where arguments are large": "ROOT r = {m} sine(a)",
    "added across to a product": (
        "d = {m} dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
        " t = {m} transpose(a), dimensions={{1,0}}\n ROOT r = {m} add(d, t)"
    ),
    "a factor too": (
        "d = {m} dot(a, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n ROOT r = {m} add(d, a)"
    ),
    "a caller's": "ROOT r = {m} add(x, y)",
    "updated by itself": (
        "i = s32[{n},1] iota(), iota_dimension=0\n"
        " ROOT r = {m} scatter(a, i, a), update_window_dims={{1}}, inserted_window_dims={{0}},"
        " scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=sum"
    ),
}


def _text(lines: str, n: int) -> str:
    body = (_SORTED + " " + lines.replace("{m}", _MATRIX)).format(n=n, less=n - 5)
    return f"HloModule m\n{_COMPUTATIONS}\nENTRY e {{{body} }}"


def _reused(text: str, options: CompileOptions) -> int:
    module = compiler.parse(text)
    run(module, PIPELINES["compile"], options)
    built = program.build(module, Machine.of(Target.host()), options.threads or 1)
    return sum(len(pairs) for pairs in built.assignment.reused.values())


def _inputs(n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    return [rng.random((n, n), np.float32) + n * np.eye(n, dtype=np.float32) for _ in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_PLACE)
@pytest.mark.parametrize("n", [13, 150, 600])
def test_a_result_in_place_of_an_operand_has_the_same_bits(name: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lines, count = IN_PLACE[name]
    text, inputs = _text(lines, n), _inputs(n)
    options = [CompileOptions(threads=2), CompileOptions(threads=1, fusion=False)]

    assert _reused(text, options[0]) >= count
    found = [compiler.compile(text, options=o)(*inputs)[0].tobytes() for o in options]
    monkeypatch.setattr(plan, "KINDS", {kind: replace(row, overwrites=nowhere) for kind, row in KINDS.items()})
    assert _reused(text, options[0]) == 0
    apart = [compiler.compile(text, options=o)(*inputs)[0].tobytes() for o in options]
    assert found == apart


@pytest.mark.parametrize("name", APART)
def test_an_operand_is_not_written_over(name: str) -> None:
    assert _reused(_text(APART[name], 24), CompileOptions(threads=2)) == 0


def test_a_loop_writes_its_next_state_over_the_present_one() -> None:
    text = """HloModule m
    cond { s = (s32[], f32[50]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(5)
      ROOT p = pred[] compare(i, n), direction=LT }
    body { s = (s32[], f32[50]) parameter(0)  i = s32[] get-tuple-element(s), index=0
      x = f32[50] get-tuple-element(s), index=1  one = s32[] constant(1)  j = s32[] add(i, one)
      r = f32[50] reverse(x), dimensions={0}  t = f32[50] multiply(r, r)  u = f32[50] subtract(x, t)
      ROOT o = (s32[], f32[50]) tuple(j, u) }
    ENTRY e { x = f32[50] parameter(0)  z = s32[] constant(0)  s = (s32[], f32[50]) tuple(z, x)
      w = (s32[], f32[50]) while(s), condition=cond, body=body
      ROOT r = f32[50] get-tuple-element(w), index=1 }"""
    x = np.linspace(0, 1, 50, dtype=np.float32)
    options = CompileOptions(fusion=False, disable_passes=("loop-unrolling",))
    module = compiler.parse(text)
    run(module, PIPELINES["compile"], options)
    assignment = program.build(module, Machine.of(Target.host()), 1).assignment
    loop = next(i for i in module.instructions() if i.opcode == "while")

    assert assignment.exchanged[loop] == ()
    assert assignment.of[loop.attributes["body"].root] == assignment.of[loop]
    [expected] = compiler.interpret(compiler.parse(text), x)
    assert np.array_equal(compiler.compile(text, options=options)(x)[0], expected)


def test_every_rule_is_of_a_kind_of_kernel_that_is_tested() -> None:
    kinds = {"loop", "row", "dot", "scatter", "cholesky", "triangular-solve"}
    assert {kind.value for kind, row in KINDS.items() if row.overwrites is not nowhere} == kinds
