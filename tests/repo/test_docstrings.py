"""Public functions with three parameters or more name each of them, with shapes and units; those that raise say so.

What many functions of a module or package take is said once, under `Args:` in the docstring of that; options of
commands are said in their `help`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
FEWEST = 3
"""Parameters from which on a reader does not guess them all from a name and a type."""
PACKAGES = ("compiler", "xlabench")
SHARED = re.compile(r"^    (?! )([\w, ]+): ", re.MULTILINE)
"""An entry of a section `Args:`, which may be about several parameters."""

ERROR = re.compile(r"\b([A-Z]\w*(Error|Fault|Failure|Race)|Fault|[Rr]aise[sd]?|[Rr]efuse[sd]?)\b")
"""What a docstring says errors with."""


def parameters(function: ast.FunctionDef) -> list[str]:
    """All but `self` and `cls`."""
    given = function.args
    several = [one for one in (given.vararg, given.kwarg) if one is not None]
    every = [*given.posonlyargs, *given.args, *several, *given.kwonlyargs]
    return [one.arg for one in every if one.arg not in ("self", "cls")]


def asked_for(function: ast.FunctionDef) -> bool:
    """Whether it is to name its parameters: options of a command have a `help`, and overloads are the same again."""
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


def unnamed(function: ast.FunctionDef, shared: frozenset[str] = frozenset()) -> list[str]:
    """The parameters that neither the docstring says a word of, nor that of a module around it."""
    said = ast.get_docstring(function) or ""
    own = [name for name in parameters(function) if name not in shared]
    return [name for name in own if not re.search(rf"\b{re.escape(name)}\b", said)]


def shared_by(*modules: ast.Module) -> frozenset[str]:
    """The parameters that modules say once for all of their functions."""
    sections = [(ast.get_docstring(module) or "").partition("\nArgs:\n")[2] for module in modules]
    return frozenset(name for text in sections for names in SHARED.findall(text) for name in names.split(", "))


def raised(node: ast.AST) -> Iterator[str]:
    """What a function itself raises, other than the errors that are bugs of ours and those that it hands on."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Raise) and isinstance(child.exc, ast.Call):
            yield ast.unparse(child.exc.func)
        elif not isinstance(child, ast.FunctionDef | ast.expr):
            yield from raised(child)


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def packages_of(folder: Path) -> list[ast.Module]:
    """The package that a folder is, and those that it is in."""
    if folder == ROOT:
        return []
    return [*packages_of(folder.parent), tree(folder / "__init__.py")]


class Silence(NamedTuple):
    """What the docstrings of a package's functions leave out."""

    parameters: list[str]
    errors: list[str]


@cache
def silence(package: str) -> Silence:
    found = Silence([], [])
    for path in sorted((ROOT / package).rglob("*.py")):
        module = tree(path)
        shared = shared_by(module, *packages_of(path.parent))
        for name, function in public(module):
            where = f"{path.relative_to(ROOT)}: {name}"
            if asked_for(function) and (left := unnamed(function, shared)):
                found.parameters.append(f"{where} says nothing of {', '.join(left)}")
            said = f"{ast.get_docstring(function)} {ast.get_docstring(module)}"
            if name != "command" and (errors := set(raised(function)) - {"AssertionError"}) and not ERROR.search(said):
                found.errors.append(f"{where} does not say that it raises {', '.join(sorted(errors))}")
    return found


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


def test_what_a_module_says_for_its_functions() -> None:
    module = ast.parse('"""Sums.\n\nArgs:\n    a, b: terms,\n        c: too.\n"""\ndef f(a, b, c):\n    """Adds."""')
    ((_, function),) = public(module)
    assert shared_by(module) == {"a", "b"}
    assert unnamed(function, shared_by(module)) == ["c"]


@pytest.mark.parametrize("package", PACKAGES)
def test_parameters_are_named(package: str) -> None:
    found = silence(package).parameters
    assert not found, "\n".join(found)


@pytest.mark.parametrize("package", PACKAGES)
def test_errors_are_said(package: str) -> None:
    """A module whose functions all raise the same may say it for them; commands end with exit codes."""
    found = silence(package).errors
    assert not found, "\n".join(found)


def test_what_a_function_raises() -> None:
    text = "def f(x):\n  if x: raise A(x)\n  def g(): raise B()\n  try: g()\n  except B: raise"
    assert list(raised(ast.parse(text).body[0])) == ["A"]


@pytest.mark.parametrize("package", PACKAGES)
def test_options_have_a_help(package: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{call.lineno}: {ast.unparse(call.args[0])} has no help"
        for path in sorted((ROOT / package / "commands").rglob("*.py"))
        for call in ast.walk(tree(path))
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "click.option"
        if not {"help", "hidden"} & {one.arg for one in call.keywords}
    ]
    assert not found, "\n".join(found)
