"""Sizes lie within one of the regimes that they are drawn from, and every regime has its turn."""

import math

import pytest

from compiler.generate import regimes
from compiler.generate.choices import RandomChoices

TABLES = {name: table for name, table in vars(regimes).items() if name.isupper() and not name.startswith("_")}
MOST_ELEMENTS = 1 << 22


@pytest.mark.parametrize("name", TABLES)
def test_sizes_lie_within_a_regime(name: str):
    met = set()
    for seed in range(100):
        drawn = regimes.sizes(RandomChoices(seed), TABLES[name])
        within = {regime for regime in TABLES[name] if is_within(drawn, regime)}
        assert within
        met |= within
    assert met == set(TABLES[name])


def is_within(sizes: list[int], regime: regimes.Regime) -> bool:
    return len(sizes) == len(regime) and all(low <= n <= high for n, (low, high) in zip(sizes, regime, strict=True))


@pytest.mark.parametrize("table", [regimes.REDUCED, regimes.SCANNED, regimes.SORTED, regimes.TRANSPOSED, regimes.ROWS])
def test_arrays_are_not_larger_than_a_campaign_can_do_with(table: tuple[regimes.Regime, ...]):
    assert all(math.prod(high for _, high in regime) < MOST_ELEMENTS for regime in table)
