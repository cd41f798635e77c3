"""Programs near the seeds: every kind of change is made to some, and what is made of them is valid."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from xlabench.fuzzing import variation
from xlabench.fuzzing.reached import known, seeds


@pytest.mark.parametrize("kind", variation.CHANGES)
def test_every_kind_of_change_is_made_and_leaves_its_source_alone(kind):
    rng = np.random.default_rng(1)
    made = 0
    for seed in seeds()[::4]:
        before = compiler.to_text(seed)
        changed = variation.CHANGES[kind](seed, rng)
        assert compiler.to_text(seed) == before
        made += changed is not None and variation.is_valid(changed) and compiler.to_text(changed) != before
    assert made > 3


def test_what_is_varied_is_valid():
    rng = np.random.default_rng(2)
    for seed in seeds()[::3]:
        compiler.verify(variation.varied(seed, rng))


def test_seeds_may_be_planted_and_what_they_reach_is_known():
    assert all(map(compiler.generate.is_fragment, seeds()))
    with compiler.watching() as decided:
        compiler.optimize(seeds()[-1])
    assert {f"rule {rule}" for rule in decided.rules} <= known()
