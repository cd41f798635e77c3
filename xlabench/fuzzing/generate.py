"""What a fuzzing campaign draws: a profile, a seed and a number give a program and its inputs, the same everywhere.

Each program is drawn from a space of its own (swarm testing: Groce et al., ISSTA 2012): some opcodes and element types
are left out at random, so that those left meet more often; now and then only a few of one family are left, or a few of
those that most programs consist of, since most rewrites look at two in a row.  One program of eight is replaced by its
integer twin, in which no bound of an error can hide a wrong index.  The profile `ratchet` keeps to what is
common; `discovery` draws everything, with special values among the first inputs.  A program of either is called with
several kinds of values (`xlabench.fuzzing.values`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import compiler
from compiler.generate import COMMON, FAMILIES, PAIRS, RandomChoices, Space
from compiler.ops import Trait, having
from xlabench import custom_calls
from xlabench.cases.index_ranges import index_limits
from xlabench.cases.inputs import DTYPES
from xlabench.fuzzing import blocks, seed_order, variants, variation
from xlabench.fuzzing.case import Case
from xlabench.fuzzing.limits import UNLIMITED, Limits
from xlabench.fuzzing.reached import Corpus
from xlabench.fuzzing.values import BOUNDARY, MATRICES, make_inputs, several
from xlabench.fuzzing.variation import is_determined, is_valid

_OPCODES = frozenset(opcode for opcode, _ in PAIRS)
_TYPES = frozenset(element_type for _, element_type in PAIRS) & frozenset(DTYPES)
_COMMON_TYPES = frozenset({
    "pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "bf16", "f16", "f32", "f64", "c64", "c128",
    "f8e4m3fn", "f8e5m2",
})  # fmt: skip
_SELDOM_TYPES = _TYPES - _COMMON_TYPES
"""Few of the small programs are on these, none beside engines of others, which would have to be asked about each."""
# Those that any program may need, whatever the swarm leaves out.
_ALWAYS = frozenset({"pred", "s32"})
_USUAL_TYPES = frozenset({"bf16", "f16", "f32", "f64", "s64", "u32"})
"""What most programs compute with, beside those that any may need."""
_PROBES = 10
_DEVICES_PERCENT = 10  # what is compiled for several devices is compiled as often
_VARIANT, _VARIANT_OF_PACK = 1, 2  # drawn besides the program, which is the same with variants and without
_TWINS_EVERY = 8
_CLOSE_PERCENT, _USUAL_PERCENT = 25, 25
_FEW, _SEVERAL = (2, 6), (3, 14)  # opcodes of a family, or of the common ones
_CUBE_PERCENTS = (10, 30, 60)
_EDGE_PERCENTS = (0, 30, 80)
_AGAIN_PERCENTS = (0, 10, 30)
_PLANTED_PERCENT, _MOST_FRAGMENTS, _FRAGMENT_PERCENTS = 60, 3, (15, 30, 60)
_FEATURED, _FEATURED_PERCENT = 2, 20
_EXCHANGING = sorted(having(Trait.COLLECTIVE) - having(Trait.ASYNC))
_NARROW_PERCENT, _NARROW = 20, ("s8", "u8")  # what counts and indexes in them comes to their ends
_LARGE_PERCENT, _LARGE = 8, (1 << 14, 1 << 14, 1 << 16, 1 << 18)
_FEW_LARGE = 3  # instructions of a program on large arrays
_CUT = having(Trait.ACCUMULATES | Trait.ORDERS | Trait.INDEXED) | {"transpose"}
"""What is done in other ways when it is large: shared among threads, in tiles, in several passes."""
_CUT_PERCENT = 60
_ROUTINES, _ROUTINE_EVERY, _ROUTINE_PERCENT, _FEW_ROUTINES, _MOST_OF_ROUTINE = "custom-call", 24, 70, 3, 4096
"""Of how many numbers one calls LAPACK, how often an instruction does then, of how few, on arrays of how many elements.

A tenth of the compiler is for that one opcode; the numbers are such as are drawn while seeds come first, and compiled
alone."""
_OTHER_CALLS = 5
"""With how many kinds of values a program is called beside the first; fewer would leave out most of the kinds."""
_CALLS_OF_SAMPLE = 8
_MOST_STEPS = 100_000
"""Instructions that the reference may come to in one call of small programs: some 0.3 s, of which most take none."""
_KERNELS_PERCENT = 40
"""How often samples are of a few kernels, on arrays that are cut and shared."""
_OF_KERNELS = ("integers",)
"""Kinds of values with which kernels are called in any case: of long sums rounding explains much, but not of these.
Where some of them are indices, the kind that is about those is another; where LAPACK is called, that of matrices."""
_NO_CORPUS = Corpus()
_COMMON_WEIGHT = 3
_NEWEST_PERCENTS, _IN_CHAINS = (20, 35, 50, 70), (60, 75, 90)
_MOST_PARAMETERS = (0, 1, 2, 4, 8, 8)
_KEPT = (0.06, 0.15, 0.3, 1.0)  # shares of the opcodes and types; what takes two or three in a row is met with few


@dataclass(frozen=True, slots=True)
class Profile:
    """A space of programs, how often special values are among the first inputs of one, and what somebody limited."""

    space: Space
    special_percent: int
    limits: Limits = UNLIMITED


PROFILES: Mapping[str, Profile] = {
    "ratchet": Profile(Space(_OPCODES, _COMMON_TYPES, extreme_percent=3, devices_percent=_DEVICES_PERCENT), 0),
    "discovery": Profile(
        Space(
            _OPCODES, _TYPES, guard_percent=50, empty_percent=1, extreme_percent=10, devices_percent=_DEVICES_PERCENT
        ),
        60,
    ),
}
"""The profiles by name."""


def restricted(profile: Profile, banned: frozenset[tuple[str, str]]) -> Profile:
    """A profile without the pairs of opcode and element type that are banned."""
    return replace(profile, space=replace(profile.space, banned=profile.space.banned | banned))


def limited(profile: Profile, limits: Limits) -> Profile:
    """A profile of programs that are no larger than somebody asked for."""
    return replace(profile, space=limits.space(profile.space), limits=limits)


def probe_module(opcode: str, element_type: str) -> Any:
    """A program of about one instruction of an opcode on a type; None where it cannot be drawn alone."""
    space = Space(frozenset({opcode}), _ALWAYS | {element_type}, most_instructions=1, most_elements=16)
    others = frozenset((opcode, other) for other in _ALWAYS if other != element_type)
    for seed in range(_PROBES):
        module = compiler.generate.program(RandomChoices(seed), replace(space, banned=others), name="probe")
        if any(instruction.opcode == opcode for instruction in module.instructions()):
            return module
    return None


def draw_case(profile: Profile, seed: int, number: int, *, varied: bool = True, corpus: Corpus = _NO_CORPUS) -> Case:
    """The case of a `number` by a `profile` and a `seed`, with variants of engines if it is `varied`.

    `corpus` holds the programs of which fragments are planted.
    """
    custom_calls.use_own()
    rng = np.random.default_rng([seed, number])
    options = _options(seed, number) if varied else {}
    case = _of_seed(profile, rng, number) or _sampled(profile, rng, number)
    case = case or _of_choices(profile, rng, seed, number, corpus)
    if case.is_apart and varied:
        options = variants.draw(np.random.default_rng([seed, number, _VARIANT]), of_kernels=True)
    return replace(case, options=options)


def _of_seed(profile: Profile, rng: np.random.Generator, number: int) -> Case | None:
    """The seed whose turn a number is, with inputs; None of a number that is drawn, or where it may not be drawn."""
    module = seed_order.seed_of(number, rng, profile.limits)
    if module is None or _is_banned(module, profile.space):
        return None
    case = _with_inputs(module, profile.space, rng, number, may_be_twin=not seed_order.is_first(number))
    return case if variation.ends(module, (inputs for _, inputs in case.calls)) else None


def _sampled(profile: Profile, rng: np.random.Generator, number: int) -> Case | None:
    """Small programs side by side; None of a number whose turn is another's, or where they come to nothing."""
    if not seed_order.is_sample(number) or profile.limits:
        return None
    space, name = profile.space, f"fuzz_{number}"
    choices, seldom = RandomChoices(int(rng.integers(1 << 62))), sorted(_SELDOM_TYPES - space.element_types)
    types, is_apart = sorted(space.element_types), bool(rng.integers(100) < _KERNELS_PERCENT)
    if is_apart:
        module = compiler.generate.around_kernels(choices, name, types, space.banned)
    else:
        module = compiler.generate.sample(choices, name, types, space.banned, seldom)
    if module is None or not (is_valid(module) and is_determined(module)) or _is_banned(module, space):
        return None
    count, note = (_OTHER_CALLS, "a few kernels") if is_apart else (_CALLS_OF_SAMPLE, "small programs side by side")
    always = _always(module) if is_apart else ()
    made = make_inputs(module, rng, "tame")
    if not variation.ends(module, [made], _MOST_STEPS):  # reducers with loops may be run for each of many windows
        return None
    others = several(module, rng, count, always)
    return Case(number, module, made, note=note, others=others, is_apart=is_apart)


def _always(module: Any) -> tuple[str, ...]:
    """The kinds of values that kernels are called with in any case."""
    of_indices = (BOUNDARY,) if index_limits(module) else ()
    return (*_OF_KERNELS, *of_indices, *((MATRICES,) if seed_order.calls_routines(module) else ()))


def _of_choices(profile: Profile, rng: np.random.Generator, seed: int, number: int, corpus: Corpus) -> Case:
    """What is drawn, with inputs."""
    limits = profile.limits
    space = featuring(swarm(profile.space, rng, limits), profile.space, number, seed)
    if is_of_routines(number):
        space = limits.space(calling_routines(space, rng))
    elif rng.integers(100) < _PLANTED_PERCENT:
        space = planting(space, corpus, rng, limits)
    kind = "special" if rng.integers(100) < profile.special_percent else "tame"
    case = _with_inputs(_within(space, rng, number, limits), space, rng, number, kind)
    if space.fragments and not variation.ends(case.module, (inputs for _, inputs in case.calls)):
        plain = replace(space, fragments=())
        case = _with_inputs(_within(plain, rng, number, limits), plain, rng, number, kind)
    return case


def is_of_routines(number: int) -> bool:
    """Whether it is the turn of LAPACK's routines, unless a number is a seed's."""
    return number % _ROUTINE_EVERY == 0


def _options(seed: int, number: int) -> dict[str, dict[str, str]]:
    """In which variants of engines a program is compiled: what may be compiled together has one.

    Seeds that come for the first time are to run what they were chosen for, and soon: nothing is left out of engines,
    and LLVM optimises little, which is most of the time.
    """
    if blocks.is_alone(number):
        drawn = variants.draw(np.random.default_rng([seed, number, _VARIANT]))
        is_whole = seed_order.is_first(number) and seed_order.is_seed(number)
    else:
        drawn = variants.draw(np.random.default_rng([seed, blocks.block_of(number), _VARIANT_OF_PACK]))
        is_whole = seed_order.is_first(number)
    return variants.whole(drawn) if is_whole else drawn


def _with_inputs(
    module: Any, space: Space, rng: np.random.Generator, number: int, kind: str = "tame", *, may_be_twin: bool = True
) -> Case:
    """A program, or now and then its twin, with inputs, the first of them of a kind."""
    twin = _twin(module, space) if may_be_twin and not number % _TWINS_EVERY else None
    always = (MATRICES,) if twin is None and seed_order.calls_routines(module) else ()
    made, others = make_inputs(twin or module, rng, kind), several(twin or module, rng, _OTHER_CALLS, always)
    return Case(number, twin or module, made, note="the integer twin of what was drawn" if twin else "", others=others)


def _within(space: Space, rng: np.random.Generator, number: int, limits: Limits) -> Any:
    """A program of a space, drawn of fewer and fewer instructions until it is within the limits."""
    while True:
        module = _drawn(space, rng, number)
        if limits.hold(module) or not space.most_instructions:
            return module
        space = replace(space, most_instructions=space.most_instructions - 1, fragments=())


def _drawn(space: Space, rng: np.random.Generator, number: int) -> Any:
    """A program of a space; what is planted may come to something that is banned or no program, and then is not."""
    module = compiler.generate.program(RandomChoices(int(rng.integers(1 << 62))), space, name=f"fuzz_{number}")
    is_fit = is_valid(module) and is_determined(module) and not _is_banned(module, space)
    if is_fit or not space.fragments:
        return module
    space = replace(space, fragments=())
    return compiler.generate.program(RandomChoices(int(rng.integers(1 << 62))), space, name=f"fuzz_{number}")


def planting(space: Space, corpus: Corpus, rng: np.random.Generator, limits: Limits = UNLIMITED) -> Space:
    """The `space` with a few programs of a `corpus` within `limits` as fragments, varied by `rng`."""
    count = int(rng.integers(1, _MOST_FRAGMENTS, endpoint=True))
    drawn = [fragment for fragment in (corpus.draw(rng) for _ in range(count)) if limits.hold(fragment)]
    varied = [(fragment, variation.varied(fragment, rng, limits)) for fragment in drawn]
    kept = tuple(  # what was changed was tried when it was
        made
        for fragment, made in varied
        if compiler.generate.is_fragment(made) and (made is not fragment or variation.has_meaning(made, rng))
    )
    return replace(space, fragments=kept, fragment_percent=int(rng.choice(_FRAGMENT_PERCENTS)))


def featuring(space: Space, whole: Space, number: int, seed: int) -> Space:
    """The `space`, of a `whole`, with its own opcodes featured, else those whose turn it is, by `number` and `seed`.

    Each has its turn equally often.
    """
    turns = np.random.default_rng(seed).permutation(sorted(whole.opcodes))
    turn = [str(turns[(_FEATURED * number + k) % len(turns)]) for k in range(_FEATURED)]
    turn = list(space.featured) or turn
    types = set(space.element_types)
    for offset, opcode in enumerate(turn):
        able = sorted(kind for kind in whole.element_types if (opcode, kind) in PAIRS)
        if able and not types & set(able):
            types.add(able[(number + offset) % len(able)])
    return replace(
        space,
        opcodes=space.opcodes | set(turn),
        element_types=frozenset(types),
        featured=tuple(turn),
        featured_percent=space.featured_percent or _FEATURED_PERCENT,
    )


def _is_banned(module: Any, space: Space) -> bool:
    """Whether a program has anything that must not be drawn."""
    return any(
        (instruction.opcode, leaf.element_type.name) in space.banned
        for instruction in module.instructions()
        for value in (instruction, *instruction.operands)
        for leaf in compiler.edit.leaves(value.shape)
    )


def _twin(module: Any, space: Space) -> Any:
    """What a program is on integers, if it is anything that may be drawn."""
    try:
        twin = compiler.edit.integer_twin(module)
    except compiler.UnsupportedError:
        return None
    return None if _is_banned(twin, space) else twin


def drawer(arguments: Mapping[str, Any]) -> Callable[[int], Case]:
    """What draws cases by number, from arguments as in JSON: profile, seed, banned pairs, limits, variants, corpus."""
    banned = frozenset((opcode, kind) for opcode, kind in arguments["banned"])
    profile = limited(restricted(PROFILES[arguments["profile"]], banned), Limits(**arguments.get("limits", {})))
    varied = arguments.get("varied", True)
    kept = arguments.get("corpus")
    corpus = Corpus.of(Path(kept["folder"]), kept["names"]) if kept else _NO_CORPUS
    return lambda number: draw_case(profile, arguments["seed"], number, varied=varied, corpus=corpus)


def swarm(space: Space, rng: np.random.Generator, limits: Limits = UNLIMITED) -> Space:
    """A part of a space, of large arrays now and then where that is within the limits.

    Args:
        space: what is drawn from as a rule.
        rng: what decides which part.
        limits: how large programs and arrays may be.
    """
    keep = float(rng.choice(_KEPT))
    kind = int(rng.integers(100))
    is_close = kind < _CLOSE_PERCENT + _USUAL_PERCENT
    if kind < _CLOSE_PERCENT:
        keep, kept = min(_KEPT), _close(space.opcodes, rng)
    elif is_close:
        keep, kept = min(_KEPT), _usual(space.opcodes, rng)
    else:
        kept = {o for o in sorted(space.opcodes) if rng.random() < (keep**0.5 if o in COMMON else keep)}
    types, usual = sorted(space.element_types), sorted(_USUAL_TYPES & space.element_types)
    kept_types = {t for t in types if rng.random() < (keep**0.5 if t in _USUAL_TYPES else max(keep, 2 / len(types)))}
    kept_types.update(map(str, rng.choice(usual, min(1, len(usual)))))
    if rng.integers(100) < _NARROW_PERCENT:
        kept_types.add(str(rng.choice(_NARROW)))
    most = int(rng.integers(space.most_instructions // 3, space.most_instructions, endpoint=True))
    if space.devices_percent and rng.integers(100) < space.devices_percent:
        kept |= set(map(str, rng.choice(_EXCHANGING, 2))) & space.opcodes
    narrowed = replace(
        space,
        opcodes=frozenset(kept or {str(rng.choice(sorted(space.opcodes)))}),
        element_types=frozenset(kept_types) | (_ALWAYS & space.element_types),
        most_instructions=most,
        most_elements=min(int(rng.choice([64, 512, space.most_elements])), space.most_elements),
        newest_percent=int(rng.choice(_IN_CHAINS if is_close else _NEWEST_PERCENTS)),
        most_parameters=int(rng.choice(_MOST_PARAMETERS)),
        cube_percent=int(rng.choice(_CUBE_PERCENTS)),
        edge_percent=int(rng.choice(_EDGE_PERCENTS)),
        again_percent=int(rng.choice(_AGAIN_PERCENTS)),
        guard_percent=int(rng.choice([space.guard_percent, space.guard_percent, space.guard_percent // 4])),
    )
    return _large(narrowed, rng) if rng.integers(100) < _LARGE_PERCENT and not limits else narrowed


def _large(space: Space, rng: np.random.Generator) -> Space:
    """The space with few instructions on large arrays: what threads share, and what is cut into blocks or looked up."""
    most, cut = int(rng.choice(_LARGE)), str(rng.choice(sorted(_CUT)))
    return replace(
        space,
        opcodes=space.opcodes | {cut},
        most_elements=most,
        budget=_FEW_LARGE * most,
        most_instructions=_FEW_LARGE,
        depth=1,
        most_parameters=space.most_parameters or 1,
        featured=(cut,),
        featured_percent=_CUT_PERCENT,
    )


def calling_routines(space: Space, rng: np.random.Generator) -> Space:
    """The space with few instructions, most of them calls of LAPACK."""
    kinds = sorted(kind for opcode, kind in PAIRS if opcode == _ROUTINES)
    return replace(
        space,
        opcodes=space.opcodes | {_ROUTINES},
        element_types=frozenset({str(rng.choice(kinds))}) | (_ALWAYS & space.element_types),
        most_instructions=_FEW_ROUTINES,
        most_elements=_MOST_OF_ROUTINE,
        most_parameters=max(_MOST_PARAMETERS),
        featured=(_ROUTINES,),
        featured_percent=_ROUTINE_PERCENT,
        devices_percent=0,
    )


def _close(opcodes: frozenset[str], rng: np.random.Generator) -> set[str]:
    """A few opcodes of one family, mostly those that are common, and a few that are common."""
    shares = np.asarray([1 + len(family & COMMON) for family in FAMILIES]) ** 0.5
    family = sorted(FAMILIES[int(rng.choice(len(FAMILIES), p=shares / shares.sum()))] & opcodes)
    weights = np.asarray([_COMMON_WEIGHT if opcode in COMMON else 1 for opcode in family], float)
    count = min(len(family), int(rng.integers(*_FEW, endpoint=True)))
    chosen = rng.choice(family, count, replace=False, p=weights / weights.sum())
    return {*map(str, chosen), *map(str, rng.choice(sorted(COMMON & opcodes), 2))}


def _usual(opcodes: frozenset[str], rng: np.random.Generator) -> set[str]:
    """Several opcodes that are common, and a few of any kind beside them."""
    common, all_of_them = sorted(COMMON & opcodes), sorted(opcodes)
    several = min(len(common), int(rng.integers(*_SEVERAL, endpoint=True)))
    return {*map(str, rng.choice(common, several, replace=False)), *map(str, rng.choice(all_of_them, 2))}
