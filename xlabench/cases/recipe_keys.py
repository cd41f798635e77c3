"""What a recipe may hold, key by key; another key is an error, since a misspelt one would change what is tested.

suites/README.md says the same to people; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xlabench.errors import BenchError, did_you_mean

RECIPE_KEYS: Mapping[str, str] = {
    "seed": "decides what is drawn, an integer from 0 on",
    "params": "a list with one object for each parameter, in order",
    "rtol": "the relative tolerance that the results deserve, instead of the reference's error bounds",
    "atol": "the absolute one",
    "name": "the program's, for people",
    "group": "its kind, for people",
    "doc": "what it is, for people",
    "outputs": "shape and type of each result, for people",
    "flops": "what a benchmark counts as its work, in floating-point operations",
    "bytes_min": "what its parameters and results take, in bytes",
    "peak": "the type whose arithmetic the work is, f32 where it is not said",
}
"""The keys of a recipe."""

PARAMETER_KEYS: Mapping[str, str] = {
    "name": "the parameter's, for messages",
    "shape": "its dimensions, a list of integers",
    "dtype": "its element type, as in HLO text",
    "gen": "its generator, an object with its `kind` and the kind's arguments",
}
"""The keys of a parameter."""


@dataclass(frozen=True, slots=True)
class GeneratorKeys:
    """The arguments that a kind of generator must be given and may be given, and what it makes."""

    makes: str
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


GENERATOR_KEYS: Mapping[str, GeneratorKeys] = {
    "normal": GeneratorKeys("normal numbers of mean `mean` (0) and deviation `std` (1)", optional=("std", "mean")),
    "uniform": GeneratorKeys("numbers from `lo` up to but not including `hi`, all alike", ("lo", "hi")),
    "int": GeneratorKeys("integers from `lo` up to but not including `hi`", ("lo", "hi")),
    "sorted_int": GeneratorKeys("the same, sorted along the last dimension", ("lo", "hi")),
    "onehot": GeneratorKeys("a single one, elsewhere zeros, along the last dimension"),
    "bool": GeneratorKeys("ones with the probability `p`", ("p",)),
    "full": GeneratorKeys("`value` everywhere", ("value",)),
    "linspace": GeneratorKeys("equal steps from `lo` to `hi`, both included", ("lo", "hi")),
    "choice": GeneratorKeys("any of `values`, a list, all alike", ("values",)),
    "key": GeneratorKeys("words of 32 random bits, as keys of generators"),
    "spd": GeneratorKeys("symmetric positive definite matrices of condition `cond`", ("cond",)),
    "lower_tri": GeneratorKeys("well conditioned lower triangular matrices"),
}
"""The arguments of each kind of generator."""


def check_keys(where: object, given: Mapping[str, Any], known: Mapping[str, str]) -> None:
    """Refuse a key that is none of those known.

    Args:
        where: what messages begin with.
        given: the keys.
        known: those that there are.

    Raises:
        BenchError: it names the key, the nearest of those known and all of them, after the place.
    """
    unknown = sorted(given.keys() - known.keys())
    if unknown:
        hint = did_you_mean(unknown[0], known)
        raise BenchError(f"{where}: unknown key {unknown[0]!r}{hint}; known are: {', '.join(known)}")


def check_recipe(path: object, content: Mapping[str, Any]) -> None:
    """Refuse what stands in a recipe and means nothing, and what a generator lacks.

    Raises:
        BenchError: as `check_keys` does; or an argument of a generator is missing.
    """
    check_keys(path, content, RECIPE_KEYS)
    for number, entry in enumerate(content["params"]):
        where = f"{path}: {entry.get('name', f'parameter {number}')}"
        check_keys(where, entry, PARAMETER_KEYS)
        kind = entry["gen"]["kind"]
        if kind not in GENERATOR_KEYS:
            hint = did_you_mean(str(kind), GENERATOR_KEYS)
            raise BenchError(f"{where}: unknown generator {kind!r}{hint}; known are {', '.join(GENERATOR_KEYS)}")
        keys = GENERATOR_KEYS[kind]
        check_keys(
            f"{where}: generator {kind}", entry["gen"], dict.fromkeys(("kind", *keys.required, *keys.optional), "")
        )
        missing = [key for key in keys.required if key not in entry["gen"]]
        if missing:
            raise BenchError(f"{where}: generator {kind} lacks {', '.join(missing)}")
