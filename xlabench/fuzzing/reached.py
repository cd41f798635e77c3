"""The programs that came to something new, kept in a folder that workers, campaigns and nights share.

What a program comes to are the rewrites that its compilations did, the kinds of kernels and the ways through their
code (`compiler.generate.watching`).  One that comes to something that none in the folder does is cut down to what
still does, and kept: a file of HLO, whose first lines say what it was kept for.  Campaigns plant varied pieces of such
programs in others, the rarest the most often.

Files are only added, under names that follow from what is in them.  So a batch of cases is drawn from the files that
were there when it began, and from the list of these again.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

import compiler
from xlabench import atomic
from xlabench.fuzzing import grafts
from xlabench.fuzzing.own_failures import kept_in

Module = Any  # the compiler's; the harness sees its data by attribute only

_ENDING, _MARK = ".hlo", "// reaches "
_MOST_TRIED = 6
"""Results by which a program is cut down."""
_SEEDS_PERCENT, _RULES_PERCENT, _GRAFTS_PERCENT = 40, 50, 15
_MOST_INSTRUCTIONS = 64


def names_in(folder: Path) -> list[str]:
    """The files of a corpus."""
    return sorted(path.name for path in folder.glob(f"*{_ENDING}"))


@cache
def seeds() -> tuple[Module, ...]:
    """The programs that come with the project: the smallest of its own by which parts of the compiler are reached."""
    return tuple(compiler.parse_many(_ours("programs.hlo")))


@cache
def _shares() -> Any:
    """How often each seed is drawn: those with what is in few others the most often."""
    kinds = [{str(i.attributes.get("custom_call_target", i.opcode)) for i in seed.instructions()} for seed in seeds()]
    counts = Counter(kind for found in kinds for kind in found)
    weights = np.asarray([sum(1 / counts[kind] for kind in found) for found in kinds])
    return weights / weights.sum()


@cache
def _by_rule() -> tuple[tuple[int, ...], ...]:
    """For each rewrite rule the seeds in which it fires: every rule has its turn equally often."""
    fired: dict[str, list[int]] = {}
    for number, rules in enumerate(_ours("rules.txt").splitlines()):
        for rule in filter(None, rules.split("; ")):
            fired.setdefault(rule, []).append(number)
    return tuple(tuple(fired[rule]) for rule in sorted(fired))


def seed_of_rule(rng: np.random.Generator) -> Module:
    """A seed in which a rewrite rule fires, each rule equally often: most fire in one to three of hundreds."""
    rules = _by_rule()
    numbers = rules[int(rng.integers(len(rules)))]
    return seeds()[numbers[int(rng.integers(len(numbers)))]]


def _seed(rng: np.random.Generator) -> Module:
    """A seed: one of a rule whose turn it is, or any, those with what is rare the most often."""
    if rng.integers(100) < _RULES_PERCENT:
        return seed_of_rule(rng)
    return seeds()[int(rng.choice(len(seeds()), p=_shares()))]


@cache
def known() -> frozenset[str]:
    """What all of the project's own small programs come to: what of it no program of a campaign does is a hole."""
    return frozenset(_ours("reached.txt").splitlines())


def _ours(name: str) -> str:
    return (files("suites") / "seeds" / name).read_text(encoding="utf-8")


def keys_of(decided: compiler.generate.Decisions) -> set[str]:
    """What a compilation came to, in words."""
    return {f"rule {rule}" for rule in decided.rules} | decided.ways


@dataclass(frozen=True, slots=True)
class Corpus:
    """The seeds, and the programs of some files of a folder with how rare what they reach is."""

    modules: Sequence[Module] = ()
    weights: Sequence[float] = ()

    @classmethod
    def of(cls, folder: Path, names: Sequence[str]) -> Corpus:
        """The programs of these files, which are there."""
        entries = [_entry(folder / name) for name in names]
        counts = Counter(key for _, keys in entries for key in keys)
        weights = [sum(1 / counts[key] for key in keys) for _, keys in entries]
        kept = [(module, weight) for (module, _), weight in zip(entries, weights, strict=True) if module is not None]
        return cls([module for module, _ in kept], [weight for _, weight in kept])

    def draw(self, rng: np.random.Generator) -> Module:
        """One of the programs, those by which rare things are reached most often; now and then a part of a real one."""
        if rng.integers(100) < _GRAFTS_PERCENT:
            made = grafts.graft(rng)
            if made is not None:
                return made
        whole = sum(self.weights)
        if not whole or rng.integers(100) < _SEEDS_PERCENT:
            return _seed(rng)
        return self.modules[int(rng.choice(len(self.modules), p=np.asarray(self.weights) / whole))]


@cache
def _entry(path: Path) -> tuple[Module | None, tuple[str, ...]]:
    """The program of a file, and what it was kept for; none of one that somebody changed, or that is no fragment."""
    try:
        text = path.read_text(encoding="utf-8")
        module = compiler.parse(text)
    except (OSError, ValueError, compiler.CompilerError):
        return None, ()
    keys = tuple(line.removeprefix(_MARK) for line in text.splitlines() if line.startswith(_MARK))
    return (module if compiler.generate.is_fragment(module) else None), keys


class Keeper:
    """Keeps programs that come to something new in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: set[str] = set()
        self._read: set[str] = set()

    def look(self) -> None:
        """See what others have kept since."""
        for name in names_in(self._folder):
            if name not in self._read:
                self._read.add(name)
                self._known.update(_entry(self._folder / name)[1])

    def is_new(self, reached: set[str]) -> bool:
        """Whether nothing that is kept comes to some of it."""
        return not reached <= self._known

    def take(self, module: Module, reached: set[str], reaches: Callable[[Module], set[str]]) -> None:
        """Keep a program if it comes to something new, or the smallest part of it that does.

        Args:
            module: a program.
            reached: what it comes to.
            reaches: says what a program comes to, an empty set where it cannot be compiled.
        """
        new = reached - self._known
        if not new:
            return
        small = cut_down(module, new, reaches)
        self._known |= new
        if not compiler.generate.is_fragment(small) or _count(small) > _MOST_INSTRUCTIONS:
            return
        text = "".join(f"{_MARK}{key}\n" for key in sorted(new)) + compiler.to_text(small)
        name = hashlib.sha256(text.encode()).hexdigest()[:16] + _ENDING
        with kept_in(self._folder):
            atomic.write(self._folder / name, text.encode())


def cut_down(module: Module, wanted: Iterable[str], reaches: Callable[[Module], set[str]]) -> Module:
    """The smallest part of a program, what one result takes, that still comes to all that is wanted; else the whole.

    Args:
        module: a program.
        wanted: what a part must come to.
        reaches: says what a program comes to.
    """
    root, asked = module.entry.root, set(wanted)
    if root.opcode != "tuple":
        return module
    operands_ = dict.fromkeys(map(compiler.edit.id_of, root.operands))
    pieces = [compiler.edit.keep_results(module, [instruction_id]).module for instruction_id in operands_]
    for piece in sorted(pieces, key=_count)[:_MOST_TRIED]:
        if asked <= reaches(piece):
            return piece
    return module


def _count(module: Module) -> int:
    return sum(len(computation.instructions) for computation in module.computations)
