"""Where mutants can be made: every site of every rule in a fixed order, and a sample that a seed draws.

A site is named `compiler/passes/cse.py:47:drop-part:0`: a file, a line, a rule, and which of the rule's edits on that
line.  What has no influence on results is passed over: docstrings, messages (what is raised, logged or shown),
annotations, assertions, imports, decorators, `__all__`, and what type checkers alone look at.

In a folder the rule is drawn first and then a site of it, so that rules that fit everywhere do not crowd out the
others; folders take turns.  More of the same seed begins with what fewer of it are.
"""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, zip_longest
from pathlib import Path

from recall.edits import Edit, called
from recall.rules import RULES

FOLDERS = (
    "compiler/passes",
    "compiler/analysis",
    "compiler/expansion",
    "compiler/codegen",
    "compiler/backends/cpu",
    "compiler/backends/nvptx",
    "compiler/backends/nvptx/simulator",
    "compiler/ops",
    "compiler/wide",
    "xlabench/judging",
)
"""The folders of the sources that are mutated, each a stratum of the sample."""

GRAPH_FOLDERS = ("compiler/graph", "compiler/jit", "compiler/tf2xla")
"""Those that campaigns of graphs run, which are what `--profile graphs` draws from."""

UNUSED = (
    "compiler/backends/cpu/ahead.py",
    "compiler/backends/cpu/c_names.py",
    "compiler/backends/cpu/limits.py",
    "compiler/backends/nvptx/cards.py",
    "compiler/backends/nvptx/cuda.py",
    "compiler/backends/nvptx/device.py",
    "compiler/backends/nvptx/estimate.py",
    "compiler/backends/nvptx/ptxas.py",
    "compiler/backends/nvptx/roofline.py",
    "compiler/backends/nvptx/simulator/active.py",
    "compiler/backends/nvptx/simulator/banks.py",
    "compiler/backends/nvptx/simulator/clocks.py",
    "compiler/backends/nvptx/simulator/pipes.py",
    "compiler/backends/nvptx/simulator/pressure.py",
    "compiler/backends/nvptx/simulator/profile.py",
    "compiler/backends/nvptx/simulator/slicing.py",
    "compiler/backends/nvptx/simulator/traffic.py",
    "compiler/backends/nvptx/standalone.py",
    "compiler/backends/nvptx/streams.py",
    "compiler/backends/nvptx/timing.py",
    "compiler/backends/nvptx/transfer.py",
    "compiler/jit/drawing.py",
    "compiler/jit/dumps.py",
    "compiler/jit/flags.py",
    "compiler/jit/hlo_graphs.py",
    "compiler/jit/programs.py",
)
"""What no campaign runs: code for other machines, what measures this one, what talks to a GPU or to NVIDIA's assembler,
the model of time; of graphs what draws and dumps them, and what reads flags."""

MARK = "__reached__"
"""The name by which mutated code says that it is run."""

_MESSAGES = frozenset({"warn", "debug", "info", "warning", "error", "exception", "print", "say", "write_text"})
_SHOWING = frozenset({"__repr__", "__str__", "describe"})
_ANNOTATIONS = frozenset({"annotation", "returns", "decorator_list", "type_params", "format_spec", "pattern", "bases"})
_PASSED_OVER = (ast.Raise, ast.Assert, ast.Import, ast.ImportFrom)
_OF_TYPES = frozenset(
    {"Callable", "Iterator", "Literal", "Mapping", "Sequence", "dict", "list", "set", "tuple", "type"}
)


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """One mutant, by its place."""

    file: str
    line: int
    rule: str
    ordinal: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.rule}:{self.ordinal}"

    @staticmethod
    def of(name: str) -> Site:
        """The site of a name."""
        file, line, rule, ordinal = name.split(":")
        return Site(file, int(line), rule, int(ordinal))

    @property
    def module(self) -> str:
        """The name by which the file is imported."""
        return self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def folder(self) -> str:
        """Its stratum."""
        return _folder_of(self.file)


def _folder_of(file: str) -> str:
    """The innermost of the folders that a file lies in."""
    return max((folder for folder in (*FOLDERS, *GRAPH_FOLDERS) if file.startswith(f"{folder}/")), key=len)


def edits(tree: ast.Module) -> Iterator[tuple[str, Edit]]:
    """Every edit of a program, in the order of its text, with the name of its rule."""
    for node in _mutable(tree):
        seen = set[tuple[int, str]]()
        for rule in RULES:
            for edit in rule.edits(node):
                made = ast.dump(edit.new)
                if (id(edit.old), made) not in seen and made != ast.dump(edit.old):
                    seen.add((id(edit.old), made))
                    yield rule.name, edit


def _mutable(node: ast.AST) -> Iterator[ast.AST]:
    """A node and those below it that have an influence on results."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in _ANNOTATIONS:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_passed_over(child):
                yield from _mutable(child)


def _is_passed_over(node: ast.AST) -> bool:
    if isinstance(node, _PASSED_OVER):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or _is_message(node.value)
    if isinstance(node, ast.Assign):
        return _is_alias(node.value) or ast.unparse(node.targets[0]) == "__all__"
    if isinstance(node, ast.If):
        return ast.unparse(node.test).endswith("TYPE_CHECKING")
    return _is_message(node) or (isinstance(node, ast.FunctionDef) and node.name in _SHOWING)


def _is_alias(node: ast.expr) -> bool:
    """Whether it is a type that is given a name, such as `tuple[Index, ...]`."""
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in _OF_TYPES


def _is_message(node: ast.AST) -> bool:
    """Whether it is a call that makes an error or shows something."""
    return isinstance(node, ast.Call) and (called(node) in _MESSAGES or called(node).endswith(("Error", "Warning")))


def named(tree: ast.Module, file: str) -> Iterator[tuple[Site, Edit]]:
    """Every edit of a file with its site."""
    met: Counter[tuple[int, str]] = Counter()
    for rule, edit in edits(tree):
        line = _line_of(edit.old)
        yield Site(file, line, rule, met[line, rule]), edit
        met[line, rule] += 1


def _line_of(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def mutated(tree: ast.Module, site: Site) -> ast.Module:
    """A program with one edit, which says when it is run; the tree that is given is changed.

    Raises:
        ValueError: there is no such site.
    """
    edit = next((edit for found, edit in named(tree, site.file) if found == site), None)
    if edit is None:
        raise ValueError(f"{site}: there is no such site; enumerate the sites of this version of the file")
    changed = _Exchange(edit.old, _marked(edit.new)).visit(tree)
    return ast.fix_missing_locations(changed)


def _marked(node: ast.AST) -> ast.AST:
    """An expression or a statement that says first that it is run."""
    mark = ast.Call(ast.Name(MARK, ast.Load()), [], [])
    if isinstance(node, ast.Break | ast.Continue):
        return ast.If(mark, [node], [node])
    if isinstance(node, ast.stmt):
        return ast.Expr(mark)
    assert isinstance(node, ast.expr)
    return ast.Subscript(ast.Tuple([mark, node], ast.Load()), ast.Constant(1), ast.Load())


class _Exchange(ast.NodeTransformer):
    """Puts a node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, ast.copy_location(new, old)

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else self.generic_visit(node)


def files_of(root: Path, folder: str) -> list[Path]:
    """The sources of a folder that campaigns run."""
    files = {path.relative_to(root).as_posix(): path for path in sorted((root / folder).rglob("*.py"))}
    return [path for file, path in files.items() if file not in UNUSED and _folder_of(file) == folder]


@cache
def sites_of(root: Path, folder: str) -> tuple[Site, ...]:
    """All sites of a folder, in a fixed order."""
    found: list[Site] = []
    for path in files_of(root, folder):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found += [site for site, _ in named(tree, path.relative_to(root).as_posix())]
    return tuple(found)


def sample(root: Path, seed: int, size: int, folders: Sequence[str] = FOLDERS) -> list[Site]:
    """So many sites that a seed draws, the folders in turn."""
    turns = zip_longest(*(_drawn(root, seed, folder) for folder in folders))
    return list(islice((site for turn in turns for site in turn if site is not None), size))


def _drawn(root: Path, seed: int, folder: str) -> Iterator[Site]:
    """The sites of a folder in the order in which a seed draws them: a rule, then one of its sites."""
    rng = random.Random(f"{seed} {folder}")
    by_rule: dict[str, list[Site]] = {}
    for site in sites_of(root, folder):
        by_rule.setdefault(site.rule, []).append(site)
    while by_rule:
        rule = rng.choice(sorted(by_rule))
        left = by_rule[rule]
        yield left.pop(rng.randrange(len(left)))
        if not left:
            del by_rule[rule]


def shown(root: Path, site: Site) -> tuple[str, str]:
    """What stands at a site and what the mutant has there, as one line each."""
    tree = ast.parse((root / site.file).read_text(encoding="utf-8"))
    edit = next(edit for found, edit in named(tree, site.file) if found == site)
    old, new = (" ".join(ast.unparse(ast.fix_missing_locations(node)).split()) for node in edit)
    return old, new
