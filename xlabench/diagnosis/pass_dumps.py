"""The modules that XLA leaves between its passes, from the names and texts of its dump files.

    module_0002.NAME.before_optimizations.txt
    module_0002.NAME.0006.simplification.after_algsimp.before_simplify-sorts.txt
    module_0002.NAME.0019.copy-insertion.after_adding_copies_to_resolve_interference.txt

XLA writes a file after each pass that changed something, and at the start of each pipeline.  NAME may have dots.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_STEP = re.compile(r"(module_\d+)\..*\.(\d{4,})\.(.+?)\.after_(.+?)(?:\.before_(.+))?\.txt")
_FIRST = re.compile(r"(module_\d+)\..*\.before_optimizations\.txt")
CONVERSION = "conversion"
"""The step before the first pass: what became of the program on its way into XLA."""


@dataclass(frozen=True, slots=True)
class PassDump:
    """One module: `step` is the pipeline and the pass that made it, `number` its place in the order."""

    step: str
    number: int
    file: str


def ordered(names: Iterable[str]) -> list[PassDump]:
    """The dumps among the names of files, in the order of the passes; of several modules those of the one with most."""
    names = sorted(names)
    found = [(match, name) for name in names if (match := _STEP.fullmatch(name))]
    if not found:
        return []
    module, _ = Counter(match[1] for match, _ in found).most_common(1)[0]
    first = [name for name in names if (match := _FIRST.fullmatch(name)) and match[1] == module]
    steps = [PassDump(f"{match[3]}/{match[4]}", int(match[2]) + 1, name) for match, name in found if match[1] == module]
    return [*(PassDump(CONVERSION, 0, name) for name in first), *sorted(steps, key=lambda dump: dump.number)]


def read(folder: Path) -> list[tuple[PassDump, str]]:
    """The dumps in a folder with their texts."""
    dumps = ordered(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return [(dump, (folder / dump.file).read_text(encoding="utf-8", errors="replace")) for dump in dumps]
