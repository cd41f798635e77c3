"""The first strategy that has a plan is taken, and every other one can say why it is not."""

from __future__ import annotations

from dataclasses import replace

import compiler
from compiler.backends.strategy import Choice, Declined, Plan, Strategy, choose
from compiler.codegen.kernel import Kernel, kernel_of

PLAN: Plan[str] = Plan(emit=lambda _: "written", cost_ns=1.0)


def strategy(name: str, answer: Plan[str] | Declined, *, in_place: bool = False) -> Strategy[None, str]:
    return Strategy(name, lambda _: answer, in_place)


def kernel(*, in_place: bool = False) -> Kernel:
    module = compiler.parse("ENTRY e { x = f32[4] parameter(0)  ROOT y = f32[4] abs(x) }")
    return replace(kernel_of(module.entry.root), in_place=((0, 0),) if in_place else ())


def test_the_first_plan_is_taken_and_others_say_why_not() -> None:
    strategies = [strategy("a", Declined("too small")), strategy("b", PLAN), strategy("c", PLAN), strategy("d", PLAN)]
    found = choose(strategies, kernel(), None)
    assert isinstance(found, Choice)
    assert (found.strategy, found.plan) == ("b", PLAN)
    assert found.ask_others() == [("a", "too small"), ("c", "b comes first"), ("d", "b comes first")]


def test_a_result_over_an_operand_is_left_to_strategies_that_bear_it() -> None:
    strategies = [strategy("careless", PLAN), strategy("careful", PLAN, in_place=True)]
    assert isinstance(found := choose(strategies, kernel(in_place=True), None), Choice)
    assert found.strategy == "careful"
    assert "lies over an operand" in dict(found.ask_others())["careless"]


def test_without_any_plan_all_reasons_are_given() -> None:
    assert choose([strategy("a", Declined("no"))], kernel(), None) == [("a", "no")]
