"""Reducers that mind the order are associative, have their identities, and do mind it."""

import itertools

import numpy as np

from compiler.analysis.commutativity import is_commutative
from compiler.generate.choices import RandomChoices
from compiler.generate.reducers import REDUCERS, in_order
from compiler.generate.scope import Program, Scope, Space
from compiler.interpreter import Interpreter, flatten
from compiler.ir.module import Computation, Module
from compiler.ir.shape import ArrayShape
from compiler.ir.types import TYPES


def reducers():
    """One of each, with its initial values."""
    for seed, kind in itertools.product(range(40), ("s8", "u32")):
        module = Module("m")
        module.entry = module.add_computation(Computation("main"))
        space = Space(frozenset(), frozenset({kind}))
        scope = Scope(Program(RandomChoices(seed), space, module, lambda _: None), module.entry, depth=0)
        operands, reducer = in_order(scope, scope.parameter(ArrayShape(TYPES[kind], (4,))))
        yield reducer, [int(value.literal.array) for value in operands[len(operands) // 2 :]], TYPES[kind]


def combined(reducer, left, right):
    return list(flatten(Interpreter().map(reducer, [*left, *right])))


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_they_may_be_bracketed_in_any_way_and_not_exchanged():
    seen = set()
    for reducer, identity, kind in reducers():
        rng = np.random.default_rng(0)
        one, two, three = ([rng.integers(0, 4, 64).astype(kind.dtype) for _ in identity] for _ in range(3))
        bracketed = combined(reducer, combined(reducer, one, two), three)
        assert same(bracketed, combined(reducer, one, combined(reducer, two, three)))
        assert not same(combined(reducer, one, two), combined(reducer, two, one))
        nothing = [np.full(64, number, kind.dtype) for number in identity]
        assert same(combined(reducer, nothing, one), one)
        assert same(combined(reducer, one, nothing), one)
        assert not is_commutative(reducer)
        seen.add(reducer.name)
    assert {name.partition(".")[0] for name in seen} == set(REDUCERS)
