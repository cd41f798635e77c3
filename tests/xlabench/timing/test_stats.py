"""The statistics: known values, and intervals that cover what they should."""

import numpy as np
import pytest

from xlabench.timing import stats


def test_mad_estimates_the_standard_deviation_and_ignores_outliers():
    samples = np.random.default_rng(0).normal(10, 2, 20_000)
    samples[:100] = 1e9
    assert stats.mad(samples) == pytest.approx(2, rel=0.03)


def test_geometric_mean_counts_slowdowns_as_they_are():
    assert stats.geometric_mean([4.0, 0.25]) == pytest.approx(1)
    even = stats.geometric_mean_ratio([stats.Ratio(4, 4, 4), stats.Ratio(0.25, 0.25, 0.25)])
    assert (even.estimate, even.verdict) == (pytest.approx(1), "unclear")


def test_the_mean_of_one_program_is_as_uncertain_as_the_program():
    mean = stats.geometric_mean_ratio([stats.Ratio(2, 1, 4)])
    assert (mean.low, mean.high) == (pytest.approx(1, rel=0.1), pytest.approx(4, rel=0.1))


@pytest.mark.slow
def test_a_clear_speedup_is_called_faster_and_its_inverse_slower():
    rng = np.random.default_rng(1)
    slow, fast = ([list(base * rng.uniform(1, 1.1, 20)) for _ in range(3)] for base in (2.0, 1.0))
    ratio = stats.speedup(slow, fast)
    assert ratio.low < 2 < ratio.high
    assert ratio.verdict == "faster"
    assert stats.speedup(fast, slow).verdict == "slower"


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (1.02, 1.5, "faster"),
        (1.005, 1.5, "unclear"),
        (0.995, 1.005, "same"),
        (0.5, 0.9, "slower"),
        (0.5, 1.5, "unclear"),
    ],
)
def test_a_claim_needs_an_interval_that_excludes_one(low, high, verdict):
    assert stats.Ratio((low + high) / 2, low, high).verdict == verdict


@pytest.mark.slow
def test_equal_engines_are_rarely_called_different():
    rng = np.random.default_rng(2)
    claims = [
        stats.speedup(*([rng.lognormal(0, 0.1, 20) for _ in range(3)] for _ in range(2)), seed=trial).verdict
        for trial in range(40)
    ]
    assert sum(claim in ("faster", "slower") for claim in claims) <= 6


def test_a_speed_up_is_the_quotient_of_the_times():
    rng = np.random.default_rng(4)
    sides = [[list(level * rng.lognormal(0, 0.3, 20)) for _ in range(3)] for level in (2.0, 1.0)]
    assert stats.speedup(*sides).estimate == pytest.approx(stats.typical(sides[0]) / stats.typical(sides[1]))


def test_the_time_of_an_engine_is_the_mean_of_the_lower_quartiles_of_its_processes():
    assert stats.typical([[1.0, 1.0, 50.0, 90.0], [4.0] * 5]) == pytest.approx(2)


@pytest.mark.slow
def test_processes_that_disagree_widen_the_interval():
    level = [1.0, 1.3, 0.8]
    baseline = [[2.0] * 20] * 3
    agreeing = stats.speedup(baseline, [[1.0] * 20] * 3)
    disagreeing = stats.speedup(baseline, [[value] * 20 for value in level])
    assert agreeing.high - agreeing.low == pytest.approx(0)
    assert disagreeing.high - disagreeing.low > 0.3


def test_the_same_seed_gives_the_same_interval():
    baseline, candidate = [[3.0, 3.3, 3.1, 3.9]], [[1.0, 1.2, 1.4, 1.1]]
    assert stats.speedup(baseline, candidate, seed=7) == stats.speedup(baseline, candidate, seed=7)


@pytest.mark.parametrize("sides", [([], []), ([[1.0, 2.0]], [[1.0]])])
def test_unpaired_rounds_are_refused(sides):
    with pytest.raises(ValueError, match="same rounds"):
        stats.speedup(*sides)


def test_an_empty_sequence_is_refused():
    with pytest.raises(ValueError, match="non-empty"):
        stats.median([])


def test_the_interval_of_a_rate_holds_it_and_stays_a_rate():
    for count in range(21):
        low, high = stats.share_interval(count, 20)
        assert 0 <= low <= count / 20 <= high <= 1
        assert high - low > 0.1
    low, high = stats.share_interval(50, 100)
    assert (round(low, 3), round(high, 3)) == (0.404, 0.596)
