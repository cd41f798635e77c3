"""Where a generator's decisions come from: one protocol, so that one generator serves campaigns and Hypothesis alike.

Every decision is an integer in a range, and 0 steps above `low` is the simplest outcome; a source that shrinks (as
Hypothesis does) then shrinks programs.  Collections are drawn by asking for one more element at a time, never by a
count, so that a source can delete an element without disturbing the others.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Choices(Protocol):
    """A source of decisions."""

    def integer(self, low: int, high: int) -> int:
        """An integer in the range, both ends included; `low` is the simplest."""

    def more(self, drawn: int, most: int) -> bool:
        """Whether to draw another element of a collection that has `drawn` and may have `most`."""

    def group(self, draw: Callable[[], None]) -> None:
        """Call a function whose choices belong together, so that they can be dropped together."""


class RandomChoices:
    """Decisions from a seed: equal seeds give equal decisions on every machine and version of Python."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        """A uniform integer; of `random`, only `getrandbits` is promised never to change."""
        span = high - low + 1
        bits = span.bit_length()
        value = self._random.getrandbits(bits)
        while value >= span:
            value = self._random.getrandbits(bits)
        return low + value

    def more(self, drawn: int, most: int) -> bool:
        """Whether to go on, so that collections may have any length up to `most`, long ones more often."""
        return drawn < most and self.integer(0, 4 * (most - drawn)) > 0

    def group(self, draw: Callable[[], None]) -> None:
        """Choices that belong together, which matters to those who shrink; nothing shrinks here."""
        draw()


def pick(choices: Choices, items: Sequence[T]) -> T:
    """One of several, the first being the simplest."""
    return items[choices.integer(0, len(items) - 1)]


def chance(choices: Choices, percent: int) -> bool:
    """True in so many of a hundred cases; False is the simpler."""
    return choices.integer(0, 99) >= 100 - percent


def subset(choices: Choices, items: Sequence[T], percent: int) -> list[T]:
    """Each of the items with the same chance.

    Args:
        choices: the source of chance.
        items: what is chosen from.
        percent: the chance of each.
    """
    return [item for item in items if chance(choices, percent)]


def turned(choices: Choices, length: int) -> list[int]:
    """An order of three numbers or more that is another one than its inverse: what confuses the two shows in it."""
    order = permutation(choices, length)
    if all(order[order[index]] == index for index in range(length)):
        shift = 1 if chance(choices, 50) else length - 1
        return [(index + shift) % length for index in range(length)]
    return order


def exchanged(choices: Choices, length: int) -> list[int]:
    """An order of two numbers or more in which two runs that are beside each other change places."""
    first = choices.integer(0, length - 2)
    second = choices.integer(first + 1, length - 1)
    last = length - choices.integer(0, length - 1 - second)
    order = range(length)
    return [*order[:first], *order[second:last], *order[first:second], *order[last:]]


def permutation(choices: Choices, length: int) -> list[int]:
    """An order of the numbers below `length`; the simplest is their own."""
    rest, order = list(range(length)), []
    while rest:
        order.append(rest.pop(choices.integer(0, len(rest) - 1)))
    return order
