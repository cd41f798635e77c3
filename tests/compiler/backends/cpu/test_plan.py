"""All that is decided about a program before any of it is emitted, and what is said of it."""

import numpy as np
import pytest

import compiler
from compiler import CompileOptions
from compiler.backends.cpu.machine import Machine
from compiler.backends.cpu.plan import decisions, plan
from compiler.codegen.llvm import Target
from compiler.pipeline import PIPELINES, run

LESS = "less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT }"
SMALL = "ENTRY e { x = f32[8] parameter(0)  ROOT y = f32[8] tanh(x) }"
LARGE = SMALL.replace("[8]", f"[{1 << 22}]")
TWICE = """ENTRY e { x = f32[64,64] parameter(0)  y = f32[64,64] parameter(1)
  a = f32[64,64] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[64,64] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (f32[64,64], f32[64,64]) tuple(a, b) }"""
COUNTED = f"""{LESS}
below {{ s = (s32[], f32[8]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(5)
  ROOT c = pred[] compare(i, n), direction=LT }}
next {{ s = (s32[], f32[8]) parameter(0)  i = s32[] get-tuple-element(s), index=0  one = s32[] constant(1)
  j = s32[] add(i, one)  x = f32[8] get-tuple-element(s), index=1  y = f32[8] sort(x), dimensions={{0}}, to_apply=less
  ROOT t = (s32[], f32[8]) tuple(j, y) }}
ENTRY e {{ x = f32[8] parameter(0)  z = s32[] constant(0)  s = (s32[], f32[8]) tuple(z, x)
  w = (s32[], f32[8]) while(s), condition=below, body=next  ROOT y = f32[8] get-tuple-element(w), index=1 }}"""
MACHINE = Machine.of(Target.host())


def planned(text, threads=8):
    module = compiler.parse(text)
    run(module, PIPELINES["compile"], CompileOptions())
    return plan(module, MACHINE, threads), module


def test_what_is_small_one_thread_runs_and_nobody_is_woken():
    found, _ = planned(SMALL)
    assert found.threads == 1
    assert not any(found.shares(instruction) for instruction in found.kernels)


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_what_is_large_is_shared_by_all_that_there_are(threads):
    found, _ = planned(LARGE, threads)
    assert found.threads == threads
    (kernel,) = found.kernels
    assert found.shares(kernel)


def test_equal_kernels_share_a_choice():
    found, _ = planned(TWICE)
    first, second = (found.choices[instruction] for instruction in found.kernels)
    assert first is second


def test_the_condition_of_a_loop_whose_iterations_are_counted_is_no_kernel():
    found, module = planned(COUNTED)
    loop = next(instruction for instruction in module.instructions() if instruction.opcode == "while")
    assert loop.attributes["condition"].root not in found.kernels
    assert any(kernel.kind.value == "sort" for kernel in found.kernels.values())


def test_a_result_over_an_operand_is_known_before_its_kernel_is_decided_about():
    found, _ = planned(f"""{LESS} ENTRY e {{ x = f32[4,8] parameter(0)
      s = f32[4,8] sort(x), dimensions={{1}}, to_apply=less  r = f32[4,8] sort(x), dimensions={{0}}, to_apply=less
      ROOT a = f32[4,8] add(s, r) }}""")
    over = {instruction for instruction, kernel in found.kernels.items() if kernel.in_place}
    assert over == set(found.assignment.reused) != set()


def test_decisions_say_for_every_kernel_who_runs_it_and_what_it_costs():
    found, module = planned(LARGE)
    said = decisions(found, module, "a machine", None)
    (kernel,) = said.kernels
    assert (said.machine, kernel.kind, kernel.shared) == ("a machine", "loop", "shared by 8 threads")
    assert kernel.cost_ns > 0
    assert kernel.others == (), "where nobody asks why not, nothing is said of it"
    found, module = planned(SMALL)
    (kernel,) = decisions(found, module, "", None).kernels
    assert kernel.shared == "one thread, which takes no longer than to meet others"


def test_a_digest_of_decisions_tells_plans_apart_and_not_the_words_for_the_machine():
    digests = {decisions(*planned(SMALL), words, None).digest for words in ("this one", "that one")}
    assert len(digests) == 1
    assert decisions(*planned(LARGE), "this one", None).digest not in digests
    assert np.isfinite(planned(LARGE)[0].choices.popitem()[1].plan.cost_ns)
