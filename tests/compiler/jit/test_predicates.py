"""Formulas are made once each, and equal ones come out as one."""

import itertools

import pytest

from compiler.jit.predicates import Kind, Predicates


@pytest.fixture
def logic():
    return Predicates()


def symbols(logic, names="abc"):
    return [logic.symbol(name, is_value=True) for name in names]


def test_what_is_said_in_another_order_is_the_same(logic):
    a, b, c = symbols(logic)
    for one, two, three in itertools.permutations((a, b, c)):
        assert logic.all_of([one, logic.all_of([two, three])]) is logic.all_of([a, b, c])
        assert logic.any_of([logic.any_of([one, two]), three]) is logic.any_of([a, b, c])
    assert logic.all_of([a, a]) is a


def test_nothing_and_everything(logic):
    a, *_ = symbols(logic)
    assert logic.all_of([]) is logic.true
    assert logic.any_of([]) is logic.false
    assert logic.all_of([a, logic.true]) is a
    assert logic.all_of([a, logic.false]) is logic.false
    assert logic.any_of([a, logic.true]) is logic.true
    assert logic.any_of([a, logic.false]) is a
    assert (str(logic.true), str(logic.false)) == ("#true", "#false")


def test_a_formula_and_its_contrary(logic):
    a, b, _ = symbols(logic)
    assert logic.no(logic.no(a)) is a
    assert logic.no(logic.all_of([a, b])) is logic.any_of([logic.no(a), logic.no(b)])
    assert logic.all_of([a, logic.no(a)]) is logic.false
    assert logic.any_of([a, b, logic.no(logic.all_of([a, b]))]) is logic.true
    assert logic.no(logic.true) is logic.false


def test_what_is_common_to_all_is_taken_out(logic):
    a, b, _ = symbols(logic)
    either = logic.any_of([logic.all_of([a, b]), logic.all_of([a, logic.no(b)])])
    assert either is a


def test_a_loop_that_has_ended_is_as_alive_as_it_was_at_first(logic):
    a, b, _ = symbols(logic)
    loop = logic.loop(a, b, ["outer", "inner"])
    assert logic.all_of([loop, logic.no(b)]) is a
    assert str(loop) == "{*a,&,*b}<outer;inner>"


def test_that_a_tensor_is_alive_is_not_that_it_is_true(logic):
    alive, true = logic.symbol("x", is_value=False), logic.symbol("x", is_value=True)
    assert alive is not true
    assert [str(one) for one in (alive, true, logic.no(true))] == ["x", "*x", "~*x"]


def test_what_stands_too_deep_is_a_symbol_of_its_own(logic):
    a, b, _ = symbols(logic)
    formula = a
    for number in range(10_000):
        formula = logic.loop(formula, b, [str(number)])
    assert formula.depth < 10_000
    assert any(one.kind is Kind.SYMBOL and one.name.startswith("#") for one in formula.subpredicates())
