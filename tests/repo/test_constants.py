"""A number at the top of a module has words beside it: a cost in ns, a size in bytes, a count, and why so."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import compiler

SOURCES = Path(compiler.__file__).parent
MEASURED = re.compile(r"reports/measured/[\w-]+")


def assigned(node: ast.stmt) -> tuple[list[str], ast.expr] | None:
    """The names that a statement gives a value, and the value."""
    if isinstance(node, ast.Assign):
        target, value = node.targets[0], node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        target, value = node.target, node.value
    else:
        return None
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    return [name.id for name in names if isinstance(name, ast.Name)], value


def is_number(value: ast.expr, known: set[str]) -> bool:
    """Whether a value is a number, or some, made of nothing but numbers and names of such."""
    parts: list[ast.expr] = []
    match value:
        case ast.Constant():
            return isinstance(value.value, int | float) and not isinstance(value.value, bool)
        case ast.Name():
            return value.id in known
        case ast.UnaryOp():
            parts = [value.operand]
        case ast.BinOp():
            parts = [value.left, value.right]
        case ast.Tuple():
            parts = value.elts
    return bool(parts) and all(is_number(part, known) for part in parts)


def silent(text: str) -> Iterator[str]:
    """The numeric constants of a module beside which nothing stands: no docstring below, no comment above or behind."""
    lines, body, known = text.splitlines(), ast.parse(text).body, set[str]()
    for node, following in zip(body, [*body[1:], None], strict=True):
        found = assigned(node)
        if found is None or not is_number(found[1], known):
            continue
        known.update(found[0])
        is_told = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        above, last = lines[node.lineno - 2] if node.lineno > 1 else "", lines[(node.end_lineno or node.lineno) - 1]
        if not is_told and not above.startswith("#") and "#" not in last:
            yield from found[0]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("A = 1", ["A"]),
        ('A = 1\n"""Bytes."""', []),
        ("# Bytes.\nA = -1.5", []),
        ("A = 1  # bytes", []),
        ('A = 1 << 4\n"""Bytes."""\nB = 2 * A', ["B"]),
        ("# Bytes.\nA, B = 1, 2\nC: int = 3", ["C"]),
        ("A = 'a'\nB = True\nC = D | E\nF = f(1)", []),
    ],
)
def test_what_counts_as_a_constant_and_as_words(text: str, names: list[str]) -> None:
    assert list(silent(text)) == names


def test_every_numeric_constant_says_what_it_is() -> None:
    modules = sorted(SOURCES.rglob("*.py"))
    assert modules
    assert [f"{path.relative_to(SOURCES)}: {name}" for path in modules for name in silent(path.read_text())] == []


def test_measurements_that_constants_name_are_kept() -> None:
    root = SOURCES.parent
    named = {folder for path in SOURCES.rglob("*.py") for folder in MEASURED.findall(path.read_text())}
    assert named
    assert [folder for folder in sorted(named) if not (root / folder).is_dir()] == []
