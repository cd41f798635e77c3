"""The statistics every claim about speed rests on.

The time of an engine on a program is the *geometric mean, over processes, of the lower quartile of its samples*
(`typical`), and a speed-up or a change is a ratio of two such times: so what a table, a chart or a message says of a
ratio is the quotient of the times beside it.  The lower quartile, because on a shared machine the upper half of the
samples measures the neighbours, and of the estimators that keep an honest interval this one spreads least.  By process
and not over all samples, because two processes differ by more than the samples inside either suggest, and are what is
replicated.  A geometric mean, because that of ratios is the ratio of the means.

The interval of a speed-up is a hierarchical bootstrap, processes first and then the rounds within each.  Rounds are
resampled jointly for both sides, as they were measured.  What changed from one night to the next is judged in `change`.

All functions are pure: the same samples and seed give the same numbers, so a report can be written again to the byte.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RESAMPLES = 2000
CONFIDENCE = 0.95
_NORMAL_QUANTILE = 1.959963984540054  # of a two-sided interval of 95 %
_NORMAL_MAD = 1.4826022185056018  # of a normal distribution, standard deviation over median absolute deviation
RELEVANCE = 0.01  # a difference below one per cent is called none


@dataclass(frozen=True, slots=True)
class Ratio:
    """An estimate with its confidence interval; as a speed-up, above 1 means that the candidate is faster."""

    estimate: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """`faster`, `slower`, `same` or `unclear`; the first two only when the interval lies wholly on one side."""
        return self.claim(RELEVANCE)

    def claim(self, relevance: float) -> str:
        """The verdict where a difference below `relevance` is called none."""
        slack = 1 + relevance
        if self.low > slack:
            return "faster"
        if self.high < 1 / slack:
            return "slower"
        return "same" if 1 / slack <= self.low and self.high <= slack else "unclear"


def median(samples: Sequence[float]) -> float:
    """The middle value."""
    return float(np.median(_array(samples)))


def mad(samples: Sequence[float]) -> float:
    """The median absolute deviation, scaled to estimate the standard deviation of normal noise."""
    array = _array(samples)
    return float(_NORMAL_MAD * np.median(np.abs(array - np.median(array))))


def lower_quartile(samples: Sequence[float]) -> float:
    """The value a quarter of the samples lie below."""
    return float(np.quantile(_array(samples), 0.25))


def typical(processes: Iterable[Sequence[float]]) -> float:
    """The time of an engine in seconds, from its samples by process: the one statistic that is shown (see above)."""
    return geometric_mean([lower_quartile(samples) for samples in processes])


def speedup(baseline: Sequence[Sequence[float]], candidate: Sequence[Sequence[float]], *, seed: int = 0) -> Ratio:
    """How many times faster the candidate is than the baseline.

    Args:
        baseline: seconds per call, one sequence for each process, one value for each round.
        candidate: the same rounds of the same processes, measured interleaved with the baseline.
        seed: of the bootstrap.

    Raises:
        ValueError: there are no rounds, or they are not the same on both sides.
    """
    pairs = [(_array(a), _array(b)) for a, b in zip(baseline, candidate, strict=True)]
    if not pairs or any(a.size != b.size for a, b in pairs):
        raise ValueError("both sides need the same rounds of the same processes, at least one")
    rng = np.random.default_rng(seed)
    estimate = typical(baseline) / typical(candidate)
    resampled = np.concatenate([_resample(pairs, rng) for _ in range(_outer(len(pairs)))])
    low, high = np.quantile(resampled, _tails())
    return Ratio(estimate, min(float(low), estimate), max(float(high), estimate))


def paired_speedup(
    baseline: Mapping[int, Sequence[float]], candidate: Mapping[int, Sequence[float]], *, seed: int = 0
) -> Ratio | None:
    """The speed-up by the processes, given by number, that timed both sides; None if there are none.

    Args:
        baseline: seconds a call of one side, by process.
        candidate: those of the other.
        seed: of the resampling.
    """
    both = sorted(baseline.keys() & candidate.keys())
    if not both:
        return None
    return speedup(*([side[process] for process in both] for side in (baseline, candidate)), seed=seed)


def geometric_mean(values: Sequence[float]) -> float:
    """The mean of ratios; every value counts as it is, slowdowns included."""
    return float(np.exp(np.mean(np.log(_array(values)))))


def geometric_mean_ratio(ratios: Sequence[Ratio], *, seed: int = 0) -> Ratio:
    """The geometric mean with its interval, by bootstrap over the programs and over what is known of each.

    A drawn program contributes a value from its own interval (taken as that of a lognormal), so that few programs, or
    one, do not look more certain than their samples.
    """
    logs = np.log(_array([ratio.estimate for ratio in ratios]))
    spread = np.log([[ratio.low, ratio.high] for ratio in ratios]) @ [-1, 1] / (2 * _NORMAL_QUANTILE)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(logs.size, size=(RESAMPLES, logs.size))
    means = np.mean(rng.normal(logs[drawn], spread[drawn]), axis=1)
    low, high = np.exp(np.quantile(means, _tails()))
    return Ratio(math.exp(float(np.mean(logs))), float(low), float(high))


def share_interval(count: int, total: int) -> tuple[float, float]:
    """Where a rate lies (95 %) of which `count` of `total` trials were seen; by Wilson, so none and all are fine."""
    z = _NORMAL_QUANTILE
    share, weight = count / total, 1 + z * z / total
    middle = (share + z * z / (2 * total)) / weight
    reach = z / weight * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def _array(samples: Sequence[float]) -> Floats:
    array = np.asarray(samples, np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"needs a non-empty sequence of numbers, got shape {array.shape}")
    return array


def _tails() -> tuple[float, float]:
    tail = (1 - CONFIDENCE) / 2
    return tail, 1 - tail


def _outer(processes: int) -> int:
    """How often the processes are drawn anew; with one process there is nothing to draw."""
    return 1 if processes == 1 else 200


def _resample(pairs: Sequence[tuple[Floats, Floats]], rng: np.random.Generator) -> Floats:
    """Ratios of one draw of processes, each with its rounds drawn anew many times over."""
    inner = RESAMPLES // _outer(len(pairs))
    logs = np.zeros(inner)
    for chosen in rng.integers(len(pairs), size=len(pairs)):
        rounds = pairs[chosen][0].size
        draw = rng.integers(rounds, size=(inner, rounds))
        baseline, candidate = (np.quantile(samples[draw], 0.25, axis=1) for samples in pairs[chosen])
        logs += np.log(baseline / candidate)
    ratios: Floats = np.exp(logs / len(pairs))
    return ratios
