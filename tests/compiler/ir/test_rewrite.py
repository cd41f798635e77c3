"""Fuel names every rewrite, and with a limit of N the first N happen and no other."""

import pytest

import compiler
from compiler.ir.rewrite import Fuel, apply_rules, path_of

TEXT = """ENTRY e { x = f32[] parameter(0)  a = f32[] negate(x)  b = f32[] negate(a)  unused = f32[] negate(b)
  ROOT c = f32[] negate(b) }"""


def drop(instruction):
    return instruction.operands[0]


def fail(instruction):
    raise ZeroDivisionError


def keep(instruction):
    return None


def same(instruction):
    return instruction


@pytest.fixture
def module():
    return compiler.parse(TEXT)


@pytest.mark.parametrize("limit", [0, 1, 2, 3, None])
def test_the_first_rewrites_happen_and_no_other(module, limit):
    fuel = Fuel(limit, "dropping")
    changed = apply_rules({"negate": [keep, same, drop]}, module, fuel)
    count = 3 if limit is None else limit
    assert [(r.number, r.pass_name, r.rule) for r in fuel.rewrites] == [
        (n + 1, "dropping", "drop") for n in range(count)
    ]
    assert [r.where for r in fuel.rewrites] == ["e/a", "e/b", "e/c"][:count]
    assert changed is (count > 0)
    assert fuel.is_spent is (limit is not None)


def test_a_required_rewrite_is_done_without_fuel_unless_it_is_to_be_withheld(module):
    root = module.entry.root
    assert Fuel(0).spend("needed", root, required=True)
    assert not Fuel(0).spend("needed", root)
    assert not Fuel(0, withholds_required=True).spend("needed", root, required=True)


def test_a_rule_that_fails_has_spent_its_fuel(module):
    fuel = Fuel()
    with pytest.raises(ZeroDivisionError):
        apply_rules({"negate": [fail]}, module, fuel)
    assert [r.rule for r in fuel.rewrites] == ["fail"]
    apply_rules({"negate": [fail]}, module, Fuel(0))


def test_what_is_refused_is_noted_and_costs_nothing(module):
    fuel = Fuel(1)
    fuel.refuse("drop", module.entry.root, "it is last")
    assert [(r.rule, r.where, r.reason) for r in fuel.refusals] == [("drop", "e/c", "it is last")]
    assert not fuel.is_spent


def test_an_instruction_without_a_home_has_a_path_too(module):
    assert path_of(module.entry.root.clone([])) == "?/c"
