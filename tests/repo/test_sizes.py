"""A file is about one thing and a function fits on a screen."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("compiler", "xlabench", "suites", "reports", "tests")
LONGEST_FILE = 400
LONGEST_FUNCTION = 50


def sources():
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def functions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def own_lines(function):
    """Lines of a function without its docstring and without functions defined in it."""
    inner = [node for node in functions(function) if node is not function]
    inside = {line for node in inner for line in range(node.lineno, node.end_lineno + 1)}
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        inside |= set(range(first.lineno, first.end_lineno + 1))
    return len(set(range(function.lineno, function.end_lineno + 1)) - inside)


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_files_and_functions_are_short(path):
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    assert lines <= LONGEST_FILE, f"{name_of(path)} has {lines} lines: split it"
    for function in functions(ast.parse(text)):
        where = f"{name_of(path)}:{function.name}"
        count = own_lines(function)
        assert count <= LONGEST_FUNCTION, f"{where} has {count} lines: split it"
