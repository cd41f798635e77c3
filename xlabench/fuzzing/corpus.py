"""Real programs and what is made of them: corpus, seed and number give a program that means the same as one of it.

A program of the corpus comes first as it is, then with changes that keep every bit of its results
(`compiler.mutation`), some number of them drawn by the seed.  Numbers that follow each other mostly belong to one
program, so that a worker reads and evaluates it once.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import compiler
from compiler import mutation
from compiler.generate import RandomChoices
from xlabench.cases import inputs, programs
from xlabench.cases.suite import ENDINGS, known_suites, load_suite
from xlabench.errors import BenchError
from xlabench.fuzzing.case import Case

PER_PROGRAM = 20
"""How many numbers in a row belong to one program."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A program of a corpus; the hash is that of the file."""

    name: str
    path: str
    module: int | None
    digest: str


def find(paths: Sequence[str], engines: Sequence[str]) -> list[Entry]:
    """The programs of files, of folders and of suites by name; of suites the form for the engine that takes least.

    What a folder holds that cannot be read is an entry all the same, which is left out and named when it is evaluated.
    """
    entries: dict[str, Entry] = {}
    for given in paths:
        for path in _files(given, engines):
            for entry in _entries(path, is_given=path == Path(given)):
                number = "" if entry.module is None else f"#{entry.module}"
                entries.setdefault(entry.path + number, entry)
    times = Counter(entry.name for entry in entries.values())
    return [replace(entry, name=key) if times[entry.name] > 1 else entry for key, entry in entries.items()]


def _files(given: str, engines: Sequence[str]) -> list[Path]:
    path = Path(given)
    try:
        if given not in known_suites() and path.is_file():
            return [path]
        if given not in known_suites() and path.is_dir() and not (path / "suite.toml").exists():
            return _below(path)
    except OSError as error:
        raise BenchError(f"{given}: cannot be looked into: {error.strerror}; give another corpus") from error
    found = []
    for program in load_suite(given).programs:
        reduced = [v.path for v in map(program.variant, engines) if v.reduced]
        found.append(reduced[0] if reduced else program.path)
    return found


def _below(folder: Path) -> list[Path]:
    """The programs of a folder, and the folders in it that cannot be looked into."""
    found = []

    def note(error: OSError) -> None:
        if Path(error.filename) == folder:
            raise error
        found.append(Path(error.filename))

    for root, folders, files in os.walk(folder, onerror=note):
        found += [Path(root, name) for name in (*files, *folders) if name.endswith(ENDINGS)]
    if not found:
        raise BenchError(
            f"{folder}: there is no program in it ({', '.join(ENDINGS)}); give files, folders of them, or suites"
        )
    return sorted(found)


def _entries(path: Path, *, is_given: bool) -> list[Entry]:
    try:
        text = programs.read_text(path)
        count = len(compiler.parse_many(text, str(path)))
    except (BenchError, compiler.CompilerError):
        if is_given:
            raise
        return [Entry(path.name, str(path.resolve()), None, "")]
    digest = hashlib.sha256(programs.encoded(text)).hexdigest()
    numbers: list[int | None] = [None] if count == 1 else list(range(1, count + 1))
    return [Entry(path.name if n is None else f"{path.name}#{n}", str(path.resolve()), n, digest) for n in numbers]


@lru_cache(maxsize=1)
def load(entry: Entry, seed: int) -> tuple[Any, list[Any]]:
    """The module and inputs for it: those of the recipe beside the file, else some that the seed draws.

    Constants that a dump left out are made up.
    """
    path = Path(entry.path)
    module = programs.read(path, module=entry.module)
    compiler.settle_elided(module, seed)
    recipe = inputs.recipe_beside(path)
    arrays = recipe.make() if recipe else inputs.generate(module, seed)
    inputs.check(arrays, module, source=str(path))
    return module, [inputs.aligned(array) for array in arrays]


@dataclass(frozen=True, slots=True)
class Mutants:
    """Draws cases by number; `most` is how many changes one program gets at most."""

    entries: tuple[Entry, ...]
    seed: int
    most: int

    def __call__(self, number: int) -> Case:
        """The case of a number."""
        return self.with_changes(number, None)

    def changes(self, number: int) -> int:
        """How many changes are tried."""
        _, index = self._entry_and_index(number)
        return 0 if index == 0 else 1 + self._hash(number, "count") % self.most

    def with_changes(self, number: int, count: int | None) -> Case:
        """The case with only the first so many of its changes."""
        entry, _ = self._entry_and_index(number)
        original, arrays = load(entry, self.seed)
        choices = RandomChoices(self._hash(number, "changes"))
        wanted = self.changes(number) if count is None else count
        mutant, applied = mutation.mutate(original, choices, count=wanted)
        note = f"{entry.name} with {len(applied)} changes"
        note += f", the last {applied[-1]}" if applied else ""
        return Case(number, mutant, arrays, original, tuple(change.name for change in applied), note)

    def _entry_and_index(self, number: int) -> tuple[Entry, int]:
        block, within = divmod(number, PER_PROGRAM)
        iteration, at = divmod(block, len(self.entries))
        return self.entries[at], iteration * PER_PROGRAM + within

    def _hash(self, number: int, purpose: str) -> int:
        entry, index = self._entry_and_index(number)
        text = f"{self.seed} {entry.digest} {entry.module} {index} {purpose}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")


def drawer(arguments: Mapping[str, Any]) -> Callable[[int], Case]:
    """What draws cases by number, from arguments as they are written in JSON."""
    return mutants(arguments)


def mutants(arguments: Mapping[str, Any]) -> Mutants:
    """The mutants of a corpus, from arguments as they are written in JSON."""
    entries = tuple(Entry(**entry) for entry in arguments["entries"])
    return Mutants(entries, arguments["seed"], arguments["most"])


def evaluates(arguments: dict[str, Any], say: Callable[[str], None]) -> dict[str, Any]:
    """A job: whether the reference can evaluate a program of a corpus; raises where it cannot."""
    say("reference")
    module, arrays = load(Entry(**arguments["entry"]), arguments["seed"])
    compiler.interpret(module, *arrays)
    return {}
