"""Seeds have their turn: programs of our own, run as they are before what is drawn comes to them by chance.

What is planted in a drawn program meets what it never stood beside, but comes late, if ever: of some hundred seeds most
were in none of the first thousand programs, and a bug in code that nothing runs is found by nobody.  A seed alone takes
a fraction of the time of what is drawn.  So a campaign begins with all of them, those first by which the most code is
run (`suites/seeds`), and a few that are drawn in between; then they come again and again, each time another one near
by: on other types and sizes, with other attributes, in identities (`xlabench.fuzzing.variation`).  Every other time it
is not the next one but one in which some rewrite rule fires, each rule equally often: a condition that a rule forgets
shows in few of the programs near by, and most rules fire in one seed or two.  Those that call LAPACK come again less
often: each takes as long as ten others, and a routine is drawn now and then anyway.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import compiler
from xlabench.fuzzing import variation
from xlabench.fuzzing.blocks import BLOCK, block_of
from xlabench.fuzzing.limits import UNLIMITED, Limits
from xlabench.fuzzing.reached import seed_of_rule, seeds

DRAWN_EVERY, SEED_EVERY, SAMPLE_EVERY = 3, 2, 6
"""Of how many numbers one is drawn while seeds come first, and one is a seed's, or a sample's, afterwards."""
_ATTEMPTS = 4
_RULES_PERCENT = 50
"""How often a seed that comes again is that of a rule."""
_ROUTINES_PERCENT = 25
"""How often a seed that calls LAPACK comes again where it would: of the time that compiling takes, half was theirs."""


def _ahead(count: int) -> int:
    """Numbers in which so many seeds come for the first time, with what is drawn in between."""
    return -(-count * DRAWN_EVERY // (DRAWN_EVERY - 1))


class Turn(NamedTuple):
    """Which seed has a number, and how often it had one before."""

    seed: int
    earlier: int


def position_of(number: int, count: int) -> Turn | None:
    """Which of so many seeds has its turn, and how often it had one; None of a number that is drawn."""
    ahead = _ahead(count)
    if number < ahead:
        return Turn(number - number // DRAWN_EVERY - 1, 0) if number % DRAWN_EVERY else None
    later = number - ahead
    if later % SEED_EVERY:
        return None
    return Turn(later // SEED_EVERY % count, 1 + later // (SEED_EVERY * count))


def is_seed(number: int) -> bool:
    """Whether a number is a seed's."""
    return position_of(number, len(seeds())) is not None


def is_sample(number: int) -> bool:
    """Whether a number that is drawn is that of small programs side by side: half of those among the first seeds."""
    later = number - _ahead(len(seeds()))
    return number % (2 * DRAWN_EVERY) == DRAWN_EVERY if later < 0 else later % SAMPLE_EVERY == 1


def is_first(number: int) -> bool:
    """Whether the block of a number is among those in which every seed comes for the first time."""
    return block_of(number) * BLOCK < _ahead(len(seeds()))


def seed_of(number: int, rng: np.random.Generator, limits: Limits = UNLIMITED) -> Any:
    """The program of a number whose turn is a seed's, under the number's name; None of one that is drawn.

    A seed comes as it is first, then in variations.  One that is larger than the limits does not come.

    Args:
        number: of the case.
        rng: what its variation is drawn from.
        limits: how large it may be.
    """
    turn = position_of(number, len(seeds()))
    if turn is None:
        return None
    module = seeds()[turn.seed]
    if turn.earlier:
        module = _again(module, rng)
    if not limits.hold(module):
        return None
    if turn.earlier:
        module = _varied(module, rng, limits)
    module = module.clone()
    module.name = f"fuzz_{number}"
    return module


def _again(seed: Any, rng: np.random.Generator) -> Any:
    """A seed that comes again, or one in which a rule fires."""
    if rng.integers(100) < _RULES_PERCENT:
        seed = seed_of_rule(rng)
    while calls_routines(seed) and rng.integers(100) >= _ROUTINES_PERCENT:
        seed = seed_of_rule(rng)
    return seed


def calls_routines(module: Any) -> bool:
    """Whether a program calls LAPACK: of matrices with several panels that takes a simulator minutes."""
    calls = (i for i in module.instructions() if i.opcode == "custom-call")
    return any(call.attributes["custom_call_target"].startswith("lapack") for call in calls)


def _varied(seed: Any, rng: np.random.Generator, limits: Limits) -> Any:
    """A seed with a few changes; as it is where none can be made."""
    text = compiler.to_text(seed)
    for _ in range(_ATTEMPTS):
        made = variation.varied(seed, rng, limits)
        if compiler.to_text(made) != text:
            return made
    return seed
