"""Kernels that draw classes, bit for bit as TensorFlow's do by the same seeds (range_sampler.cc, simple_philox.cc).

A node keeps its generator from run to run.  Each run takes words from where the one before began, plus what one may
take at most by TensorFlow's count, whatever was really taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.tf import Node, generator_name, initial_state, philox_bits
from xlabench.tensorflow import errors
from xlabench.tensorflow.runtime.kernels import Kernel, Maker, raised, stateless
from xlabench.tensorflow.runtime.resources import Resources

Array = np.ndarray[Any, Any]

_WORDS_AT_A_TIME = 1024
_COUNTERS = 512
"""By how many counters of four words each class moves a generator (TensorFlow, candidate_sampler_ops.cc)."""
_UNIT = 2.0**-52


class _Words:
    """Words of 32 bits in turn, and numbers of them."""

    def __init__(self, state: Array) -> None:
        self._words = self._drawn(state)

    @staticmethod
    def _drawn(state: Array) -> Iterator[int]:
        low, high, key = state
        state = np.array([key, low, high])
        while True:
            words, state = philox_bits(state, (_WORDS_AT_A_TIME,), 32)
            yield from words.tolist()

    def unit(self) -> float:
        """A number from 0 to 1, with 52 bits."""
        upper, lower = next(self._words), next(self._words)
        return ((upper & 0xFFFFF) << 32 | lower) * _UNIT

    def short_unit(self) -> float:
        """A number from 0 to 1, with 23 bits."""
        return float((next(self._words) & 0x7FFFFF) * 2.0**-23)

    def below(self, limit: int, words: int) -> int:
        """A whole number below a limit, of one word or two; those are left out that would make some more likely."""
        span = 1 << 32 * words
        while True:
            drawn = sum(next(self._words) << 32 * number for number in range(words))
            if not limit & (limit - 1):
                return drawn & (limit - 1)
            if drawn >= span % limit:
                return drawn % limit


@dataclass(frozen=True, slots=True)
class _Distribution:
    """Of which classes are drawn: how many there are, what draws one, and how likely each is."""

    size: int
    draw: Callable[[_Words], int]
    likelihood: Callable[[int], float]


def _uniform(node: Node) -> _Distribution:
    size: Any = node.attributes["range_max"]
    return _Distribution(size, lambda words: words.below(size, 2), lambda _: 1 / size)


def _log_uniform(node: Node) -> _Distribution:
    size: Any = node.attributes["range_max"]
    width = math.log1p(size)
    return _Distribution(
        size,
        lambda words: (int(math.exp(words.unit() * width)) - 1) % size,
        lambda one: math.log((one + 2.0) / (one + 1.0)) / width,
    )


def _unigrams(node: Node) -> _Distribution:
    """By Walker's alias method: a class in each of as many cells, and another in what it leaves free."""
    size: Any = node.attributes["range_max"]
    weights = _weights(node)
    if len(weights) != size:
        said = f"range_max is {size}, and there are weights of {len(weights)} classes."
        raise raised(errors.InvalidArgumentError, node, said)
    total = float(sum(weights, np.float32(0)))
    shares, others = _cells([float(one) for one in weights])

    def draw(words: _Words) -> int:
        height, cell = words.short_unit(), words.below(size, 1)
        return cell if height < shares[cell] else others[cell]

    return _Distribution(size, draw, lambda one: float(weights[one]) / total if 0 <= one < size else 0.0)


def _weights(node: Node) -> list[np.float32]:
    stated: Any = {"vocab_file": b"", "distortion": 1.0, "num_reserved_ids": 0, "num_shards": 1, **node.attributes}
    if stated["vocab_file"] or stated["num_shards"] != 1:
        said = "weights of files, and of parts of all classes, are not there: give all of them as unigrams"
        raise raised(errors.UnimplementedError, node, said)
    power = np.float32(stated["distortion"])
    given = [np.float32(math.pow(np.float32(one), power)) for one in stated["unigrams"].values]
    return [np.float32(0)] * stated["num_reserved_ids"] + given


def _cells(weights: Sequence[float]) -> tuple[list[float], list[int]]:
    total, size = sum(weights), len(weights)
    shares = [one * size / total for one in weights]
    others = [-1] * size
    low = [n for n, one in enumerate(shares) if one < 1]
    high = [n for n, one in enumerate(shares) if one >= 1]
    while low and high:
        lower, higher = low.pop(), high.pop()
        others[lower] = higher
        shares[higher] -= 1 - shares[lower]
        (low if shares[higher] < 1 else high).append(higher)
    for left in (*low, *high):
        shares[left] = 1.0
    return [float(np.float32(one)) for one in shares], others


def _sampler(of: Callable[[Node], _Distribution]) -> Maker:
    def make(node: Node, resources: Resources) -> Kernel:
        distribution = of(node)
        stated: Any = {"seed": 0, "seed2": 0, **node.attributes}
        count, unique = stated["num_sampled"], stated["unique"]
        if unique and count > distribution.size:
            raise raised(errors.InvalidArgumentError, node, "Sampler's range is too small.")
        held = resources.kept(generator_name(node.name), initial_state(stated["seed"], stated["seed2"]))

        def kernel(inputs: Sequence[Any]) -> Sequence[Any]:
            [true] = inputs
            if true.ndim != 2 or true.shape[1] != stated["num_true"]:
                said = f"true_classes must be a matrix with num_true columns, not {list(true.shape)}"
                raise raised(errors.InvalidArgumentError, node, said)
            state: Any = held.value
            drawn, tries = _drawn(distribution, _Words(state), count, unique=unique)
            held.value = _moved(state, _COUNTERS * count)
            expected = [_expected(distribution, one, count, tries) for one in (true, drawn)]
            return drawn, *expected

        return kernel

    return make


def _moved(state: Array, count: int) -> Array:
    low, high, key = map(int, state)
    high, low = divmod((high << 64) + low + count, 1 << 64)
    return np.array([low, high % (1 << 64), key], np.uint64)


def _drawn(distribution: _Distribution, words: _Words, count: int, *, unique: bool) -> tuple[Array, int]:
    """Classes, and how often one was drawn until there were enough."""
    found: list[int] = []
    seen: set[int] = set()
    tries = 0
    while len(found) < count:
        tries += 1
        one = distribution.draw(words)
        if not unique or one not in seen:
            seen.add(one)
            found.append(one)
    return np.array(found, np.int64), tries


def _expected(distribution: _Distribution, classes: Array, count: int, tries: int) -> Array:
    """How often each class is expected among those that are drawn."""
    likely = np.array([distribution.likelihood(one) for one in classes.reshape(-1).tolist()], np.float32)
    if tries == count:
        return (likely * np.float32(count)).reshape(classes.shape)
    logs = np.log1p(-likely.astype(np.float64)).astype(np.float32) * np.float32(tries)
    return -np.expm1(logs.astype(np.float64)).astype(np.float32).reshape(classes.shape)


def _hits(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    """Of each class that was drawn its last position, where it is a true class of a row."""
    true, drawn = inputs
    last = {one: position for position, one in enumerate(drawn.tolist())}
    found = [(row, last[one]) for row, classes in enumerate(true.tolist()) for one in classes if one in last]
    rows, positions = (np.array([pair[n] for pair in found], kind) for n, kind in enumerate((np.int32, np.int64)))
    return rows, positions, np.full(len(found), np.finfo(np.float32).min)


SAMPLERS: Mapping[str, Maker] = {
    "UniformCandidateSampler": _sampler(_uniform),
    "LogUniformCandidateSampler": _sampler(_log_uniform),
    "FixedUnigramCandidateSampler": _sampler(_unigrams),
    "ComputeAccidentalHits": stateless(_hits),
}
"""Ops by name."""
