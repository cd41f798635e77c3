"""A program of a suite as it is judged: its text, its inputs, and how closely results must agree."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xlabench.cases import inputs, programs
from xlabench.cases.inputs import Array
from xlabench.cases.open_sizes import OpenSizes
from xlabench.cases.suite import CONFIG, SuiteProgram, Variant
from xlabench.judging.tolerance import TolerancePolicy


@dataclass(frozen=True, slots=True)
class Subject:
    """A program with its inputs, how closely its results must agree, and the sizes that open ones were given."""

    variant: Variant
    text: str
    inputs: list[Array]
    policy: TolerancePolicy
    opened: str = ""

    @classmethod
    def load(cls, variant: Variant, seed: int | None) -> Subject:
        """Read the program and make its inputs: by its recipe, or else from what its parameters look like."""
        text = programs.read_text(variant.path)
        shapes = OpenSizes()
        module = programs.read(variant.path, shapes=shapes)
        recipe = inputs.recipe_beside(variant.path)
        if recipe is None:
            return cls(variant, text, inputs.generate(module, seed or 0), TolerancePolicy(), shapes.said)
        return cls(variant, text, recipe.make(seed), recipe.policy(module), shapes.said)


def by_variant(program: SuiteProgram, engines: Sequence[str]) -> list[tuple[Variant, list[str]]]:
    """The engines by the file they run, so that the reference runs each file once."""
    groups: dict[Path, tuple[Variant, list[str]]] = {}
    for engine in engines:
        variant = program.variant(engine)
        groups.setdefault(variant.path, (variant, []))[1].append(engine)
    return list(groups.values())


def _beside(path: Path) -> list[Path]:
    """The files that a graph consists of besides its own: its config, or of a SavedModel all of them."""
    config = path.with_name(f"{path.name.removesuffix('.pbtxt').removesuffix('.pb')}{CONFIG}")
    return [*([config] if config.is_file() else []), *sorted(one for one in path.rglob("*") if one.is_file())]


def digest_of(program: SuiteProgram, engines: Sequence[str]) -> str:
    """Names the texts and recipes that a case is made of."""
    digest = hashlib.sha256()
    for path in sorted({program.path, *(program.variant(engine).path for engine in engines)}):
        for file in (path, path.with_suffix(".json"), *_beside(path)):
            try:
                digest.update(file.read_bytes() if file.is_file() else b"")
            except OSError as error:  # what cannot be read is said when it is to be judged
                digest.update(str(error).encode())
            digest.update(b"\0")
    return digest.hexdigest()
