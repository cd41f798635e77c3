"""Public functions with three or more parameters name each of them: what it is, with shapes and units."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FEWEST = 3
"""Parameters from which on a reader does not guess them all from a name and a type."""
SHARES = {"compiler": 0.97, "xlabench": 0.95}
"""The share of such functions that name every parameter, at least: it goes up, and never down."""
ELSEWHERE = ROOT / "xlabench" / "tensorflow"
"""An API of others, whose parameters TensorFlow's own documentation tells of."""


def parameters(function: ast.FunctionDef) -> list[str]:
    """All but `self` and `cls`."""
    given = function.args
    several = [one for one in (given.vararg, given.kwarg) if one is not None]
    every = [*given.posonlyargs, *given.args, *several, *given.kwonlyargs]
    return [one.arg for one in every if one.arg not in ("self", "cls")]


def asked_for(function: ast.FunctionDef) -> bool:
    """Whether it is to name its parameters: options of a command name themselves, and overloads are the same again."""
    decorators = " ".join(map(ast.unparse, function.decorator_list))
    is_aside = re.search(r"\b(command|overload|override|callback)\b", decorators)
    return len(parameters(function)) >= FEWEST and not is_aside


def public(node: ast.Module | ast.ClassDef, where: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions of a module, or of a class, that others call, by their names."""
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef) and not child.name.startswith("_"):
            name = f"{where}{child.name}"
            if isinstance(child, ast.FunctionDef):
                yield name, child
            else:
                yield from public(child, f"{name}.")


def unnamed(function: ast.FunctionDef) -> list[str]:
    """The parameters that the docstring does not say a word of."""
    said = ast.get_docstring(function) or ""
    return [name for name in parameters(function) if not re.search(rf"\b{re.escape(name)}\b", said)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('def f(a, b, c):\n    """Adds `a` and b to c."""', []),
        ('def f(a, b, c):\n    """Adds a and b."""', ["c"]),
        ("def f(a, *rest, b, **more): pass", ["a", "rest", "more", "b"]),
    ],
)
def test_what_counts_as_named(text: str, names: list[str]) -> None:
    ((_, function),) = public(ast.parse(text))
    assert unnamed(function) == names


@pytest.mark.parametrize("package", SHARES)
def test_parameters_are_named(package: str) -> None:
    modules = [path for path in sorted((ROOT / package).rglob("*.py")) if not path.is_relative_to(ELSEWHERE)]
    asked = [
        (f"{path.relative_to(ROOT)}: {name}", unnamed(function))
        for path in modules
        for name, function in public(ast.parse(path.read_text(encoding="utf-8")))
        if asked_for(function)
    ]
    silent = [f"{name} says nothing of {', '.join(left)}" for name, left in asked if left]
    share = 1 - len(silent) / len(asked)
    assert share >= SHARES[package], "\n".join([f"{share:.3f} name their parameters:", *silent])
