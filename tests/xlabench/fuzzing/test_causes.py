"""One slip is one finding, however many engines, verdicts and opcodes it shows with; two slips are two."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from in_process import Telling

import compiler
from compiler.generate import RandomChoices, Space
from compiler.ir.shape import ArrayShape
from compiler.ir.types import TYPES
from compiler.ops import OPS
from xlabench.diagnosis import probe
from xlabench.fuzzing import asking, causes
from xlabench.fuzzing.case_failure import CaseFailure
from xlabench.fuzzing.causes import Shown
from xlabench.fuzzing.findings import Findings
from xlabench.fuzzing.own_failures import OwnFailure
from xlabench.survival import Bug, caught

_TANH = ("tanh f32",)
_RAISED = ("KeyError in windows.py:window_of: 'size'",)


def shown(engine, cause, verdict="wrong", signature=_TANH):
    return Shown((engine,), verdict, signature, cause)


ONE = {
    "one rewrite, on both back ends": (
        shown("cpu", "pass/cse/merge"),
        shown("nvptx:sim", "pass/cse/merge", signature=("x",)),
    ),
    "one rewrite, wrong here and refused there": (
        shown("cpu", "pass/cse/merge"),
        shown("cpu:opt=0", "pass/cse/merge", "compile-error", ("x",)),
    ),
    "a kernel, with more around": (shown("cpu", "kernel/log"), shown("cpu:opt=0", "kernel/add+log", signature=("x",))),
    "kernels of what is made alike": (shown("cpu", "kernel/log"), shown("cpu", "kernel/add+atanh", signature=("x",))),
    "the reference, by any engine": (shown("cpu", "reference/log"), shown("xla", "reference/log", signature=("x",))),
    "the reference, by an engine and by bounds": (
        shown("cpu", "reference/log"),
        shown("xlabench", "judge/log", "error", ("JudgeError about log in self_check.py:ask",)),
    ),
    "a judge, by two checks of it": (
        shown("xlabench", "judge/log", "error", ("JudgeError about log in self_check.py:ask",)),
        shown("xlabench", "judge/log", "error", ("JudgeError about log in self_check.py:require_soundness",)),
    ),
    "a judge, about two opcodes that have one rule": (
        shown("xlabench", "judge/scatter", "error", ("JudgeError about scatter in self_check.py:ask",)),
        shown("xlabench", "judge/reduce-window", "error", ("JudgeError about reduce-window in self_check.py:ask",)),
    ),
    "memory": (shown("cpu", "program/memory"), shown("cpu", "program/memory", "crash", ("x",))),
    "a lowering, op by op and in clusters": (
        shown("ops", "tf2xla/AddV2"),
        shown("clusters:on=cpu", "tf2xla/AddV2", "compile-error", ("x",)),
    ),
    "how graphs are put together": (shown("ops", "execution"), shown("clusters", "execution", "crash", ("x",))),
    "clusters that begin to be wrong with any op": (
        shown("clusters", "clustering/Mul"),
        shown("clusters:on=cpu", "clustering/Sub", signature=("x",)),
    ),
    "a function that two passes call": (
        shown("cpu", "pass/cse/KeyError", "compile-error", _RAISED),
        shown("cpu", "pass/dce/KeyError", "compile-error", _RAISED),
    ),
    "a function that two back ends call": (
        shown("cpu", "kernel/pad", "compile-error", _RAISED),
        shown("nvptx:sim", "kernel/pad", "crash", _RAISED),
    ),
    "what Python raises in one function, in other words": (
        shown("cpu", "kernel/pad", "compile-error", _RAISED),
        shown("nvptx:sim", "pass/cse/IndexError", "crash", ("IndexError in windows.py:window_of: list index out",)),
    ),
    "crashes for which no opcode is to blame": (
        shown("cpu", "program/input layout", "crash"),
        shown("cpu:opt=0", "program/memory or control flow", "crash", ("x",)),
    ),
    "crashes of all kernels": (
        shown("cpu", "kernel/any elementwise", "crash"),
        shown("cpu:opt=0", "program/memory or control flow", "crash", ("x",)),
    ),
    "nobody is blamed, the same opcodes and more": (shown("xla", ""), shown("xla", "", signature=(*_TANH, "x"))),
}
OTHERS = {
    "another rewrite": (shown("cpu", "pass/cse/merge"), shown("cpu", "pass/cse/narrow", signature=("x",))),
    "another kernel": (shown("cpu", "kernel/log"), shown("cpu", "kernel/sine", signature=("x",))),
    "another function of the reference": (
        shown("cpu", "reference/log"),
        shown("cpu", "reference/atanh", signature=("x",)),
    ),
    "the reference, about two opcodes that one rule has bounds of": (
        shown("cpu", "reference/reduce"),
        shown("cpu", "reference/scatter", signature=("x",)),
    ),
    "a judge that is wrong about two opcodes": (
        shown("xlabench", "judge/log", "error", ("JudgeError about log in self_check.py:ask",)),
        shown("xlabench", "judge/sine", "error", ("JudgeError about sine in self_check.py:ask",)),
    ),
    "an error in another function": (
        shown("cpu", "pass/cse/KeyError", "compile-error", _RAISED),
        shown("cpu", "pass/dce/KeyError", "compile-error", ("KeyError in shapes.py:infer: 'size'",)),
    ),
    "what is refused in one function, in other words": (
        shown("cpu", "kernel/pad", "compile-error", ("ShapeError in windows.py:window_of: it has no size",)),
        shown("cpu", "kernel/dot", "compile-error", ("ShapeError in windows.py:window_of: it has no rank",)),
    ),
    "crashes of all kernels, and of one": (
        shown("cpu", "kernel/any elementwise", "crash"),
        shown("cpu", "kernel/dot", "crash", ("x",)),
    ),
    "how inputs lie, and memory, both wrong": (
        shown("cpu", "program/input layout"),
        shown("cpu", "program/memory or control flow", signature=("x",)),
    ),
    "the same words of a compiler of others": (
        shown("cpu", "", "compile-error", _RAISED),
        shown("xla", "", "compile-error", _RAISED),
    ),
    "a kernel of another back end": (shown("cpu", "kernel/log"), shown("nvptx:sim", "kernel/log")),
    "a pass of a compiler whose passes hold many": (
        shown("xla", "pass/algsimp"),
        shown("xla", "pass/algsimp", signature=("x",)),
    ),
    "lowerings of two ops": (shown("ops", "tf2xla/AddV2"), shown("ops", "tf2xla/Sub", signature=("x",))),
    "a lowering and how graphs are put together": (
        shown("ops", "tf2xla/AddV2"),
        shown("ops", "execution", signature=("x",)),
    ),
    "a kernel that crashes": (shown("cpu", "kernel/log"), shown("cpu", "kernel/log", "crash", ("x",))),
}


@pytest.mark.parametrize("what", ONE)
def test_one_cause(what):
    assert causes.are_one(*ONE[what])


@pytest.mark.parametrize("what", OTHERS)
def test_two_causes(what):
    assert not causes.are_one(*OTHERS[what])


def test_only_what_back_ends_share_is_asked_of_the_other_one():
    cpu, gpu = shown("cpu", "kernel/log"), shown("nvptx:sim", "kernel/add+log")
    assert causes.may_be_shared(cpu, gpu)
    assert causes.may_be_shared(cpu, shown("nvptx:sim", "kernel/log-plus-one"))
    assert causes.may_be_shared(shown("nvptx:sim", "kernel/any elementwise"), cpu)
    assert causes.may_be_shared(shown("nvptx:sim", "program/memory"), cpu)
    for other in (shown("nvptx:sim", "kernel/sine"), shown("cpu", "kernel/log"), shown("xla", "engine/xla")):
        assert not causes.may_be_shared(cpu, other)


def test_the_same_failure_elsewhere_is_one_of_the_same_kind_but_for_memory():
    assert causes.is_alike(shown("cpu", "kernel/log"), "flaky")
    assert not causes.is_alike(shown("cpu", "kernel/log"), "crash")
    assert causes.is_alike(shown("cpu", "program/memory"), "crash")
    assert not causes.is_alike(shown("cpu", "program/memory"), "within")


_ROOT = {"sort": "ROOT z = f32[4] sort(x), dimensions={0}, to_apply=below", "tanh": "ROOT z = f32[4] tanh(x)"}
_TEXTS = {
    opcode: f"""below {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }}
    ENTRY main {{ x = f32[4] parameter(0) {line} }}"""
    for opcode, line in _ROOT.items()
}
_RULES = {
    "no shape": lambda _: ArrayShape((4,), TYPES["f32"]),
    "a refusal": lambda i: compiler.ir.shape_rules.require(0, f"{i.opcode} does not fit"),
}


def _drawn(opcode):
    space = Space(frozenset({opcode}), frozenset({"f32"}), most_instructions=1)
    for number in range(99):
        module = compiler.generate.program(RandomChoices(number), space, name="it")
        if any(instruction.opcode == opcode for instruction in module.instructions()):
            break


def _noticed(opcode):
    """The same slip of a rule as the generator notices it, and as an engine does, which is given a program."""
    given = (np.ones(4, np.float32),)
    own = OwnFailure(3, "generate", caught(partial(_drawn, opcode)))
    try:
        compiler.compile(_TEXTS[opcode])
    except Exception as error:  # noqa: BLE001 - whatever it is
        key = asking.raised(error).key
    engines = CaseFailure(4, "cpu", "compile-error", "", key, _TEXTS[opcode], given, given, [])
    return own, engines


@pytest.mark.parametrize("is_own_first", [True, False])
@pytest.mark.parametrize("rule", _RULES)
@pytest.mark.parametrize("opcode", _TEXTS)
def test_a_wrong_shape_rule_is_one_finding_whoever_notices_it(opcode, rule, is_own_first, tmp_path, monkeypatch, saved):
    monkeypatch.setattr(probe, "Worker", Telling)
    for name in _TEXTS:
        monkeypatch.setitem(OPS, name, replace(OPS[name], rule=_RULES[rule]))
    own, engines = _noticed(opcode)
    found = Findings(tmp_path, max_probes=9)
    for add in (lambda: found.add_own(own, {}), lambda: found.add(engines))[:: 1 if is_own_first else -1]:
        add()
    (one,) = found.all
    assert (one.cause, set(one.cases)) == (f"reference/{opcode}", {3, 4})
    (other,) = set(_TEXTS) - {opcode}
    found.add_own(_noticed(other)[0], {})
    found.add(_noticed(other)[1])
    assert [one.cause for one in found.all] == [f"reference/{opcode}", f"reference/{other}"]


def test_a_judge_that_breaks_down_in_one_function_on_two_opcodes_is_one_finding_though_it_was_found_in_another(
    tmp_path, saved
):
    """As it is where what several rules share gives what does not fit, and whoever takes it raises."""
    kinds = [("inference", "spread"), ("inference", "subtract"), ("grad", "subtract"), ("tanh", "other")]
    findings = Findings(tmp_path, max_probes=9)
    for number, (opcode, function) in enumerate(kinds):
        frame = f'Traceback\n  File "/there/solvers.py", line 7, in {function}\nValueError: it cannot be\n'
        bug = Bug(f"JudgeError: about {opcode}: ValueError: it cannot be", frame)
        findings.add_own(OwnFailure(number, "judge", bug), {})
    assert [one.cases for one in findings.all] == [(0, 1, 2), (3,)]
