"""Pages that tell contributors what to write and what to type, done as they say it, in a copy of the project.

A page's edits stand in its prose, each with a block of code below it:

    A new file `compiler/passes/abs_of_abs.py`:                                      the block is the file
    In `compiler/pipeline.py`, below `PASSES: dict[str, Pass] = {`:                  the block follows that line
    In `compiler/passes/cse.py`, in place of `    return None`:                      the block takes its place
    In `pyproject.toml`, `cpu | nvptx` becomes `cpu | other | nvptx`.                without a block, within a line

What is typed stands in blocks of ```console, as a terminal shows it: `$ ` and a command, what it prints below it, `...`
for anything and a line of it for any lines.  A command that fails says so: `exit code 1` is the last line.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS = ("compiler", "xlabench", "suites", "reports")
_EDIT = re.compile(
    r"^(?:A new file `(?P<new>[^`\n]+)`|In `(?P<file>[^`\n]+)`, (?P<where>below|in place of) `(?P<line>[^`\n]+)`):\n\n"
    r"```\w*\n(?P<text>.*?)^```$"
    r"|^```console\n(?P<console>.*?)^```$"
    r"|^In `(?P<within>[^`\n]+)`, `(?P<old>[^`\n]+)` becomes `(?P<becomes>[^`\n]+)`\.$",
    re.S | re.M,
)
_ANYTHING = "..."


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of one file, which stands below a line, in its place or within it; without `where` it is a new one."""

    file: str
    where: str
    line: str
    text: str

    def make(self, folder: Path) -> None:
        """Change the file below a folder; the line that is named must stand there exactly once."""
        path = folder / self.file
        if not self.where:
            assert not path.exists(), f"{self.file} is there already"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.text, encoding="utf-8")
            return
        path.write_text(self.changed(path.read_text(encoding="utf-8")), encoding="utf-8")

    def changed(self, text: str) -> str:
        """What a file's text becomes."""
        line = re.escape(self.line)
        found = re.findall(line if self.where == "within" else rf"^ *{line}\n", text, re.M)
        assert len(found) == 1, f"{self.file} has {self.line!r} {len(found)} times"
        after = found[0] + self.text if self.where == "below" else self.text
        return text.replace(found[0], after)


@dataclass(frozen=True, slots=True)
class Command:
    """What is typed, and what is shown below it."""

    words: str
    shown: str


def read(page: Path) -> list[Edit | Command]:
    """What a page asks of its reader, in order."""
    found: list[Edit | Command] = []
    for match in _EDIT.finditer(page.read_text(encoding="utf-8")):
        if match["within"]:
            found.append(Edit(match["within"], "within", match["old"], match["becomes"]))
        elif match["console"]:
            said = [command.partition("\n") for command in re.split(r"^\$ ", match["console"], flags=re.M)[1:]]
            found += [Command(words, shown) for words, _, shown in said]
        else:
            found.append(Edit(match["new"] or match["file"], match["where"] or "", match["line"] or "", match["text"]))
    return found


def copy_project(folder: Path) -> None:
    """The project's packages, with what Python has compiled of them."""
    for part in PARTS:
        ignore = shutil.ignore_patterns("measured", "corpus", "regressions")
        shutil.copytree(ROOT / part, folder / part, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", folder)


def python(folder: Path, *arguments: str, given: str = "") -> str:
    """What a fresh Python prints that takes the project from a folder."""
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(folder: Path, commands: Sequence[Command]) -> None:
    """Give the commands in a folder, all in one process, and compare what they print with what the page shows."""
    printed = python(folder, str(Path(__file__).with_name("console.py")), given=json.dumps([c.words for c in commands]))
    for command, got in zip(commands, json.loads(printed), strict=True):
        told = f"$ {command.words}\n{got}\n-- is not what the page shows --\n{command.shown}"
        assert is_shown(command.shown, got), told


def is_shown(shown: str, got: str) -> bool:
    """Whether a page shows what was printed; blank lines and the width of gaps do not count."""
    lines = [
        r"(?:.*\n)*?" if line == _ANYTHING else ".*".join(map(re.escape, line.split(_ANYTHING))) + r"\n"
        for line in _lines(shown)
    ]
    return re.fullmatch("".join(lines), "".join(f"{line}\n" for line in _lines(got))) is not None


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]
