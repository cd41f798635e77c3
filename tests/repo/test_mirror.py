"""Tests mirror the sources: what tests a module is found by its name, and every test file stands for what it tests.

A module is tested by its namesake, or with the table that it is a row of, by the test named for its package; see
`tests/README.md`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
MIRRORED = ("compiler", "xlabench", "suites", "reports")


def name_of(path: Path) -> str:
    """What a file is imported as."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


FILES = {name_of(path): path for folder in MIRRORED for path in sorted((ROOT / folder).rglob("*.py"))}
PACKAGES = {name for name, path in FILES.items() if path.name == "__init__.py"}
MODULES = {n for n in FILES if n not in PACKAGES and n.rpartition(".")[0] in PACKAGES and not n.endswith(".__main__")}


def namesake(name: str) -> Path:
    """Where the test of a module, or of a package as a whole, is."""
    *folders, last = name.split(".")
    return ROOT.joinpath("tests", *folders, f"test_{last}.py")


FROM = re.compile(r"^ *from ([\w.]+) import (\([^)]*\)|.*)", re.M)
NAMED = re.compile(r"^ *import ([\w.]+)|[\"']([a-z_]+(?:\.\w+)+)[\"']", re.M)


@cache
def imported(name: str) -> frozenset[str]:
    """The modules that a module imports, or names in a text because it loads them when they are asked for."""
    text = FILES[name].read_text(encoding="utf-8")
    found = {loaded or named for loaded, named in NAMED.findall(text)}
    for module, names in FROM.findall(text):
        found |= {module, *(f"{module}.{one}" for one in re.findall(r"\w+", names))}
    return frozenset(found & FILES.keys()) - {name}


@cache
def users() -> dict[str, set[str]]:
    """Who imports each module."""
    found: dict[str, set[str]] = {name: set() for name in FILES}
    for name in FILES:
        for other in imported(name):
            found[other].add(name)
    return found


def ranged_over(tree: ast.Module) -> Iterator[str]:
    """The tables that a test's parameters, loops and comprehensions range over, by the modules that define them."""
    places = [d for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for d in node.decorator_list]
    places += [node.iter for node in ast.walk(tree) if isinstance(node, ast.For | ast.comprehension)]
    used = {ast.unparse(node) for place in places for node in ast.walk(place) if isinstance(node, ast.expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in FILES:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if alias.name.isupper() and alias.name in used:
                    yield node.module
                elif whole in FILES and any(
                    u.startswith(f"{alias.name}.") and u.rpartition(".")[2].isupper() for u in used
                ):
                    yield whole


def rows(table: str, package: str) -> set[str]:
    """The modules of a package that a table is made of: those it imports, and those that serve only the table."""
    inside = {name for name in FILES if f"{name}.".startswith(f"{package}.")}
    direct = imported(table)
    kept = inside
    while True:
        family = kept | direct | {table}
        closer = {
            name for name in kept if name in direct or name == table or (users()[name] and users()[name] <= family)
        }
        if closer == kept:
            return kept
        kept = closer


def of_tables() -> set[str]:
    tests = {package: namesake(package) for package in PACKAGES if namesake(package).exists()}
    return {
        name
        for package, path in tests.items()
        for table in ranged_over(ast.parse(path.read_text(encoding="utf-8")))
        for name in rows(table, package)
    }


def test_every_module_is_tested_by_its_namesake_or_with_its_table():
    untested = {name for name in MODULES if not namesake(name).exists()} - of_tables()
    assert sorted(untested) == [], "write the test that is named for it"


def test_every_test_file_stands_for_a_module_a_package_or_a_page():
    folders = {folder for path in FILES.values() for folder in path.parents if ROOT in folder.parents}
    sources = {namesake(name.replace("__main__", "main")) for name in FILES.keys() | set(map(name_of, folders))}
    pages = {page for folder in MIRRORED for page in (ROOT / folder).rglob("*.md")}
    sources |= {ROOT / "tests" / page.relative_to(ROOT).with_name(f"test_{page.stem}.py") for page in pages}
    tests = {path for folder in MIRRORED for path in (ROOT / "tests" / folder).rglob("test_*.py")}
    assert sorted(str(path.relative_to(ROOT)) for path in tests - sources) == []
