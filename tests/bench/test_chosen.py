"""What hangs on constants that were chosen: which programs are decided about otherwise if one is half, or double.

Counts, not times, so that any machine will do.  Whoever makes a choice again measures the programs that are named here,
before and after (`xlabench nightly --suite corpus`, then `compare`); where none is, no program of ours can say.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

import compiler

ROOT = Path(compiler.__file__).parents[1]
OPTIONS = compiler.CompileOptions(threads=8, fill_elided=1)
CHOSEN = re.compile(r"(?<!is |re )chosen\b")


class Constant(NamedTuple):
    """A number at the top of a module whose words say that it was chosen."""

    module: str
    name: str


def constants() -> Iterator[Constant]:
    """All of the compiler's."""
    for path in sorted((ROOT / "compiler").rglob("*.py")):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for node, words in pairwise(body):
            if isinstance(node, ast.Assign) and isinstance(words, ast.Expr) and CHOSEN.search(ast.unparse(words)):
                (target,) = node.targets
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                yield from (Constant(module, name.id) for name in names if isinstance(name, ast.Name))


@cache
def programs() -> dict[str, bytes]:
    """The programs of the suites by name."""
    paths = [path for suite in ("smoke", "corpus") for path in sorted((ROOT / "suites" / suite).glob("*.hlo"))]
    return {f"{path.parent.name}/{path.stem}": path.read_bytes() for path in paths}


def digests() -> dict[str, str]:
    """What is decided about each."""
    return {name: compiler.decide(data, options=OPTIONS).digest for name, data in programs().items()}


def changed(constant: Constant, factor: float, before: dict[str, str]) -> list[str]:
    """The programs that are decided about otherwise with so many times the number."""
    module = import_module(constant.module)
    number = getattr(module, constant.name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, constant.name, max(1, int(number * factor)))
        return [name for name, digest in digests().items() if digest != before[name]]


FACTORS = {"half": 0.5, "double": 2.0}


@pytest.mark.bench
def test_what_half_and_double_of_each_constant_changes():
    before = digests()
    assert before == digests(), "the same is decided twice"
    found = {
        f"{one.module.removeprefix('compiler.')}.{one.name}": {
            word: changed(one, factor, before) for word, factor in FACTORS.items()
        }
        for one in constants()
    }
    Path("chosen.json").write_text(json.dumps(found, indent=1) + "\n")
