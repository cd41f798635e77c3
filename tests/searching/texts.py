"""A pytest plug-in (`-p searching.texts`) that keeps the programs that tests look at: campaigns may as well.

    XLABENCH_TEXTS=FOLDER python -m pytest -p searching.texts tests/compiler

A test is skipped where it would generate code, so that thousands take a minute.  Each process writes a file of its own
in the folder, of small programs, lines `// -----` between them, from which `searching/seeds.py --texts FOLDER` chooses.
"""

import os
from pathlib import Path

import pytest

from compiler.backends import Backend
from compiler.text import parser

_MOST_CHARACTERS = 8000
_SEPARATOR = "\n// -----\n"


@pytest.fixture(autouse=True, scope="session")
def _kept():
    """Within it what is read is kept."""
    folder = Path(os.environ["XLABENCH_TEXTS"])
    folder.mkdir(parents=True, exist_ok=True)
    seen, read, compiled = set(), parser._ModuleReader.read, Backend.compile
    with (folder / f"{os.getpid()}.hlo").open("a", encoding="utf-8", buffering=1) as kept:

        def reading(reader):
            module, text = read(reader), reader.source.text
            if len(text) < _MOST_CHARACTERS and text not in seen:
                seen.add(text)
                kept.write(text + _SEPARATOR)
            return module

        def skipped(*_):
            pytest.skip("the program is known")

        parser._ModuleReader.read, Backend.compile = reading, skipped
        yield
        parser._ModuleReader.read, Backend.compile = read, compiled
