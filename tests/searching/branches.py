"""Which branches of the compiler a program runs: sources are marked as they are imported, at the head of each branch.

A tracer takes three times as long as what it traces; a mark is one store.  The marks lie in memory that forked
processes share, so whoever forks a process for each program reads what it came to even where that ended it.

    install(("compiler/passes", ...)) before anything of them is imported, then `clear()`, work, `reached()`.
"""

import ast
import hashlib
import mmap
import sys
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOOKED_AT = (
    "compiler/passes", "compiler/analysis", "compiler/expansion", "compiler/codegen", "compiler/backends",
    "compiler/ops", "compiler/wide", "compiler/interpreter.py", "compiler/pipeline.py", "xlabench/judging",
)  # fmt: skip
"""What a campaign is there to find bugs in."""
_NAME = "__branches__"
_MOST = 1 << 17
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_RAISING = (ast.Raise, ast.Assert)


@dataclass(frozen=True, slots=True)
class Branch:
    """Statements of a function that run together, from a line on.

    Attributes:
        function: `compiler/passes/cse.py:run`; "" in place of a name for what runs as a module is loaded.
        lines: how many statements there are, those of branches inside of it aside.
        is_error: whether it ends by raising.
    """

    function: str
    line: int
    column: int
    lines: int
    is_error: bool = False

    def __str__(self):
        return f"{self.function}:{self.line}:{self.column}"


class Branches(MetaPathFinder):
    """Finds modules of some folders, marked, and leaves all others to Python.

    Attributes:
        all: the branches; their numbers are the same in every process, whatever it imports first.
        digest: of the sources.
    """

    def __init__(self, places):
        self.all, self.trees, self.marks = [], {}, mmap.mmap(-1, _MOST)
        sources = hashlib.sha256()
        for path in sorted(file for place in places for file in _files(ROOT / place)):
            text = path.read_bytes()
            sources.update(text)
            self.trees[str(path)] = marked(ast.parse(text), str(path.relative_to(ROOT)), self.all)
        self.digest = sources.hexdigest()[:16]

    def find_spec(self, fullname, path, target=None):
        """The module's place as Python has it, with a loader that takes the marked tree."""
        spec = PathFinder.find_spec(fullname, path) if fullname.startswith(("compiler.", "xlabench.")) else None
        if spec is None or spec.origin not in self.trees:
            return None
        spec.loader = _Loader(fullname, spec.origin, self)
        return spec

    def clear(self):
        """Forget what was run."""
        self.marks[:] = bytes(_MOST)

    def reached(self):
        """The numbers of the branches that were run since."""
        marks = self.marks[: len(self.all)]
        return {number for number, mark in enumerate(marks) if mark}


def install(places):
    """Mark the modules of some folders and files as they are imported."""
    found = Branches(places)
    sys.meta_path.insert(0, found)
    return found


def _files(place):
    return place.rglob("*.py") if place.is_dir() else [place]


class _Loader(SourceFileLoader):
    """Loads a module from its marked tree, never from bytecode."""

    def __init__(self, fullname, path, branches):
        super().__init__(fullname, path)
        self._branches = branches

    def get_code(self, fullname):
        return compile(self._branches.trees[self.path], self.path, "exec")

    def exec_module(self, module):
        setattr(module, _NAME, self._branches.marks)
        super().exec_module(module)


def marked(tree, file, branches):
    """A tree with a mark at the head of each branch of its functions, which are appended to a list."""
    _Marker(file, branches).visit(tree)
    return ast.fix_missing_locations(tree)


class _Marker(ast.NodeTransformer):
    def __init__(self, file, branches):
        self.file, self.branches, self.names, self.depth = file, branches, [], 0

    def visit_ClassDef(self, node):
        self.names.append(node.name)
        self.generic_visit(node)
        self.names.pop()
        return node

    def visit_FunctionDef(self, node):
        self.names.append(node.name)
        self.depth += 1
        self.generic_visit(node)
        doc = ast.get_docstring(node, clean=False) is not None
        node.body[doc:doc] = [self._mark(node, node.body)]
        self.depth -= 1
        self.names.pop()
        return node

    def visit_Lambda(self, node):
        self.depth += 1
        self.generic_visit(node)
        node.body = self._marked(node.body)
        self.depth -= 1
        return node

    def visit_IfExp(self, node):
        self.generic_visit(node)
        if self.depth:
            node.body, node.orelse = self._marked(node.body), self._marked(node.orelse)
        return node

    def visit_If(self, node):
        return self._split(node, "body", "orelse")

    def visit_For(self, node):
        return self._split(node, "body")

    def visit_While(self, node):
        return self._split(node, "body")

    def visit_ExceptHandler(self, node):
        return self._split(node, "body")

    def visit_match_case(self, node):
        return self._split(node, "body")

    def _split(self, node, *names):
        self.generic_visit(node)
        if self.depth:
            for name in names:
                inside = getattr(node, name)
                setattr(node, name, [self._mark(inside[0] if inside else node, inside), *inside])
        return node

    def _number(self, node, lines, is_error):
        function = f"{self.file}:{'.'.join(self.names)}"
        line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        self.branches.append(Branch(function, line, column, lines, is_error))
        return ast.Constant(len(self.branches) - 1)

    def _mark(self, node, inside):
        """A statement that says that a branch is run."""
        own = [one for one in inside if not isinstance(one, _FUNCTIONS)]
        number = self._number(node, max(1, len(own)), any(isinstance(one, _RAISING) for one in inside))
        place = ast.Subscript(ast.Name(_NAME, ast.Load()), number, ast.Store())
        return ast.copy_location(ast.Assign([place], ast.Constant(1)), node)

    def _marked(self, value):
        """An expression that says that it is evaluated, of which the call gives None."""
        number = self._number(value, 1, is_error=False)
        said = ast.Attribute(ast.Name(_NAME, ast.Load()), "__setitem__", ast.Load())
        call = ast.Call(said, [number, ast.Constant(1)], [])
        return ast.copy_location(ast.BoolOp(ast.Or(), [call, value]), value)
