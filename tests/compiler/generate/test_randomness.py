"""Programs of random numbers say what holds of any numbers of a distribution, and not of those of another one."""

import numpy as np
import pytest

import compiler
from compiler.generate.choices import RandomChoices
from compiler.generate.exhaustive import Packing, space_of
from compiler.generate.randomness import RECIPES
from compiler.ir.types import TYPES
from compiler.ops import random
from xlabench.fuzzing.values import make_inputs

SEEDS = range(12)


def results(kind, seed):
    packing = Packing("m", space_of((kind, "s32", "pred"), frozenset()))
    packing.chain(["rng"], TYPES[kind], (5,), RandomChoices(seed))
    module = packing.finish()
    if module is None:  # there was no room
        return []
    compiler.verify(module)
    return compiler.interpret(module, *make_inputs(module, np.random.default_rng(seed), "special"))


@pytest.mark.parametrize("kind", [t.name for t in RECIPES["rng"].element_types])
def test_all_that_is_said_holds_whatever_the_inputs_are(kind):
    found = [result for seed in SEEDS for result in results(kind, seed)]
    assert found
    assert all(result.all() for result in found if result.dtype == bool)


WRONG = {
    "shifted": lambda bits: (bits >> np.uint64(1)) + (np.uint64(1) << np.uint64(62)),
    "of one half": lambda bits: bits >> np.uint64(1),
    "all alike": np.zeros_like,
    "of a bit": lambda bits: bits & (np.uint64(1) << np.uint64(63)),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("kind", ["f32", "s32", "u8", "bf16"])
def test_other_distributions_are_told(kind, name, monkeypatch):
    bits_of = random.philox_bits

    def wrong(*given):
        bits, after = bits_of(*given)
        return WRONG[name](bits), after

    monkeypatch.setattr(random, "philox_bits", wrong)
    assert not all(result.all() for seed in SEEDS for result in results(kind, seed))
