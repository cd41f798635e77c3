"""Which engines are asked about the graph of a number: a number says it, so that a graph is the same in every campaign.

What is looked for by graphs is how they are lowered, clustered and put together, and that any engine shows: the
reference does without compiling anything, op by op and in clusters, and is always asked.  What engines compile of
graphs costs ten times as much, and campaigns of programs look for its faults, so of the other specs each has its turn.
"""

from __future__ import annotations

from collections.abc import Sequence

ALWAYS = ("ops", "clusters:on=reference")
"""The engines that compile nothing."""


def asked(specs: Sequence[str], number: int) -> list[str]:
    """The engines that are asked about the graph of a number, of all those of a campaign."""
    others = [spec for spec in specs if spec not in ALWAYS]
    in_turn = others[number % len(others)] if others else ""
    return [spec for spec in specs if spec in ALWAYS or spec == in_turn]
