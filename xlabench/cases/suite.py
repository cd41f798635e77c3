"""Suites of programs: a folder with `suite.toml`, `NAME.hlo` and recipes; or any folder of programs.

    name = "smoke"
    description = "..."

    [[program]]
    name = "softmax_1k"
    [program.reduced."nvptx:sim"]      # a smaller program of the same structure, for this engine
    file = "softmax_1k.sim.hlo"
    reason = "1024 rows of 1024 cut to 40 of 200"

Suites that belong to the project lie in the package `suites` and go by their names.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from xlabench.cases import programs
from xlabench.cases.recipe_keys import check_keys
from xlabench.errors import BenchError

ENDINGS = (
    *(".hlo", ".hlo.gz", ".hlo.txt", ".hlo.pb", ".hlo.pb.gz"),
    *(".mlir", ".mlir.gz", ".mlirbc", ".stablehlo", ".mhlo", ".jax_export"),
)
"""How the files of a folder end that are taken for programs; one that is named may be called anything."""

CONFIG = ".config.pbtxt"
"""How the file ends that says of a graph what is fed and fetched."""

_OF_GRAPHS = (".pb", ".pbtxt")
_MANIFEST = "suite.toml"

KEYS: Mapping[str, str] = {
    "name": "the suite's name; by default the folder's",
    "description": "one sentence for people",
    "program": "the programs, each a table `[[program]]`",
}
"""What `suite.toml` may hold."""

PROGRAM_KEYS: Mapping[str, str] = {
    "name": "the program's name in records and reports; once in a suite",
    "file": "its file, from the folder of the suite; by default `NAME.hlo`",
    "reduced": 'what an engine runs instead: a table `[program.reduced."ENGINE"]` for each',
}
"""What a program of `suite.toml` may hold."""

REDUCED_KEYS: Mapping[str, str] = {
    "file": "the smaller program",
    "reason": "what was cut, for the report",
}
"""What the reduction for an engine may hold."""


@dataclass(frozen=True, slots=True)
class Variant:
    """The file that an engine runs for a program; `reduced` says how it was cut down, empty if it was not."""

    path: Path
    reduced: str = ""


@dataclass(frozen=True, slots=True)
class SuiteProgram:
    """One program of a suite; of one that could not be made `unmade` says what went wrong."""

    name: str
    path: Path
    reduced: Mapping[str, Variant] = field(default_factory=dict)
    is_timed: bool = True
    unmade: str = ""

    def variant(self, engine: str) -> Variant:
        """What an engine runs; a reduction for `nvptx:sim` holds for `nvptx:sim,opt=0` as well."""
        matching = [spec for spec in self.reduced if f"{engine},".startswith(f"{spec},")]
        return self.reduced[max(matching, key=len)] if matching else Variant(self.path)


@dataclass(frozen=True, slots=True)
class Suite:
    """Programs under a name."""

    name: str
    description: str
    programs: tuple[SuiteProgram, ...]


def known_suites() -> dict[str, Path]:
    """The project's own suites by name."""
    root = Path(str(files("suites")))
    return {manifest.parent.name: manifest.parent for manifest in sorted(root.glob(f"*/{_MANIFEST}"))}


def load_suite(name_or_path: str) -> Suite:
    """A suite of the project by its name, or any folder by its path.

    Raises:
        BenchError: there is none, or it cannot be read.
    """
    folder = known_suites().get(name_or_path, Path(name_or_path))
    try:
        return _from_folder(name_or_path, folder)
    except OSError as error:
        raise BenchError(f"{folder}: cannot be looked into: {error.strerror}; give another suite") from error


def _from_folder(name_or_path: str, folder: Path) -> Suite:
    if not folder.is_dir():
        known = ", ".join(known_suites()) or "none"
        raise BenchError(f"unknown suite {name_or_path!r}; known are: {known}; or give a folder of programs")
    if (folder / _MANIFEST).is_file():
        return _from_manifest(folder / _MANIFEST)
    paths = sorted(path for path in folder.iterdir() if path.name.endswith(ENDINGS) or _is_graph(path))
    if not paths:
        raise BenchError(
            f"{folder}: no {_MANIFEST} and no program ({', '.join(ENDINGS)}); give a folder that has either"
        )
    stems = [path.name.removesuffix(next(filter(path.name.endswith, (*ENDINGS, *_OF_GRAPHS)), "")) for path in paths]
    found = tuple(
        SuiteProgram(stem if stems.count(stem) == 1 else path.name, path)
        for path, stem in zip(paths, stems, strict=True)
    )
    return Suite(folder.resolve().name, "", found)


def _is_graph(path: Path) -> bool:
    """Whether it is a graph of TensorFlow's that says what is fed and fetched: a SavedModel, or one with its config."""
    if path.name.endswith(CONFIG):
        return False
    if path.is_dir():
        return programs.is_graph(path)
    stem = path.name.removesuffix(".pbtxt").removesuffix(".pb")
    return stem != path.name and path.with_name(f"{stem}{CONFIG}").is_file()


def _from_manifest(path: Path) -> Suite:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BenchError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BenchError(f"{path}: not TOML: {error}") from error
    check_keys(path, content, KEYS)
    entries = content.get("program", [])
    if not isinstance(entries, list) or not entries:
        raise BenchError(f"{path}: no programs; add [[program]] with a name")
    found = tuple(_program(path, entry) for entry in entries)
    names = [program.name for program in found]
    for name in names:
        if names.count(name) > 1:
            raise BenchError(f"{path}: program {name!r} stands there twice; remove one")
    return Suite(str(content.get("name", path.parent.name)), str(content.get("description", "")), found)


def _program(manifest: Path, entry: Mapping[str, Any]) -> SuiteProgram:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise BenchError(f'{manifest}: a [[program]] without a name; add name = "..."')
    check_keys(manifest, entry, PROGRAM_KEYS)
    name = entry["name"]
    cuts = entry.get("reduced", {})
    if not isinstance(cuts, dict) or not all(isinstance(cut, dict) for cut in cuts.values()):
        raise BenchError(f'{manifest}: program {name!r}: reduced is no table; write [program.reduced."ENGINE"]')
    for spec, cut in cuts.items():
        check_keys(f"{manifest}: program {name!r}: reduced for {spec}", cut, REDUCED_KEYS)
    reduced = {
        spec: Variant(_file(manifest, name, cut.get("file", "")), str(cut.get("reason", "a smaller program")))
        for spec, cut in cuts.items()
    }
    return SuiteProgram(name, _file(manifest, name, entry.get("file", f"{name}.hlo")), reduced)


def _file(manifest: Path, program: str, name: str) -> Path:
    path = manifest.parent / name
    if not path.is_file():
        raise BenchError(f"{manifest}: program {program!r}: there is no file {name!r} in the folder")
    return path
