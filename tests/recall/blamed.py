"""Who has to be blamed for a mutant: the pass whose file it is in, or that uses it; a kernel; or the reference."""

import ast
from functools import cache
from pathlib import Path

_BACK_END = ("kernel", "program", "llvm")
_REFERENCE = ("reference", "judge")
_GRAPHS = ("tf2xla", "clustering", "execution")
_STAGES = {
    "compiler/passes": (),
    "compiler/analysis": _BACK_END,
    "compiler/expansion": (),
    "compiler/codegen": _BACK_END,
    "compiler/backends/cpu": _BACK_END,
    "compiler/backends/nvptx": _BACK_END,
    "compiler/backends/nvptx/simulator": _BACK_END,
    "compiler/ops": _REFERENCE,
    "compiler/wide": _REFERENCE,
    "xlabench/judging": _REFERENCE,
    "compiler/graph": _GRAPHS,
    "compiler/jit": _GRAPHS[1:],
    "compiler/tf2xla": _GRAPHS,
}
"""The first part of a right cause by folder, besides the passes that use a file of it."""


def is_right(root, site, cause):
    """Whether a cause, or the traceback of a failure of our own, names who has to be blamed."""
    if site.file in cause or f" {Path(site.file).name}:" in cause:
        return True
    return cause.startswith((*_STAGES[site.folder], *(f"pass/{name}" for name in passes_with(root, site.module))))


def passes_with(root, module):
    """The passes whose files are a module or import it, directly or through others."""
    if not module.startswith(("compiler.passes.", "compiler.expansion.", "compiler.analysis.")):
        return []
    files = sorted((root / "compiler" / "passes").glob("*.py"))
    names = [file.stem for file in files if module in _behind(root, f"compiler.passes.{file.stem}")]
    return [name.replace("_", "-") for name in names]


@cache
def _behind(root, module):
    """A module and those of the compiler that it imports, directly or through others."""
    found, left = set(), [module]
    while left:
        name = left.pop()
        file = root / f"{name.replace('.', '/')}.py"
        file = file if file.exists() else root / name.replace(".", "/") / "__init__.py"
        if name not in found and file.exists():
            found.add(name)
            left += _imported(file)
    return found


@cache
def _imported(file):
    """The modules of the compiler, and maybe names in them, that a file imports."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("compiler."):
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return found
