"""All programs of one instruction and of two, and of three common ones, packed: the profile `exhaustive`, with an end.

The order is fixed, whatever the seed, and mixed, so that what is done by any time is of every kind.  The seed draws
inputs and variants of engines.  Of a pack that fails the reduction leaves the program that does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from compiler.generate import Packing, Small, small_programs, space_of
from xlabench.fuzzing import variants
from xlabench.fuzzing.case import Case
from xlabench.fuzzing.generate import PROFILES
from xlabench.fuzzing.values import make_inputs, several

NAME = "exhaustive"
PACK = 12
"""Programs in one module."""
_TYPES = tuple(sorted(PROFILES["ratchet"].space.element_types))
_CALLS = 8
Banned = frozenset[tuple[str, str]]


@cache
def _order(banned: Banned) -> tuple[tuple[Small, ...], tuple[int, ...]]:
    """All small programs, and in which order they come."""
    known = tuple(small_programs(_TYPES, banned))
    return known, tuple(map(int, np.random.default_rng(0).permutation(len(known))))


def count(banned: Banned) -> int:
    """How many small programs there are."""
    return len(_order(banned)[0])


def packs(banned: Banned, shards: int = 1) -> int:
    """How many modules they are, or the most that one of so many shards gets."""
    return -(-count(banned) // (PACK * shards))


def drawer(arguments: Mapping[str, Any]) -> Callable[[int], Case]:
    """What draws packs by number, from arguments as they are written in JSON; `shard` is one of how many."""
    banned = frozenset((opcode, kind) for opcode, kind in arguments["banned"])
    shard, shards = arguments["shard"]
    varied, seed = arguments.get("varied", True), arguments["seed"]

    def drawn(number: int) -> Case:
        known, order = _order(banned)
        start = (number * shards + shard) * PACK
        chosen = [known[k] for k in order[start : start + PACK]]
        packing = Packing(f"fuzz_{number}", space_of(_TYPES, banned))
        several_of_them = sum(packing.add(small) for small in chosen)
        module = packing.finish()
        rng = np.random.default_rng([seed, number])
        options = variants.draw(rng) if varied else {}
        made, others = make_inputs(module, rng, "tame"), several(module, rng, _CALLS)
        note = f"{several_of_them} small programs in one"
        return Case(number, module, made, note=note, others=others, options=options)

    return drawn
