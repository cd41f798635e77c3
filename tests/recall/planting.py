"""Plants a mutant in a process without touching a file: one module is compiled from a mutated tree as it is imported.

The environment variable `XLABENCH_MUTANT` names the site.  `startup/sitecustomize.py` looks at it as Python starts, so
with `tests` and `tests/recall/startup` on `PYTHONPATH` every process has the mutant: a campaign, its workers, tests.
`environment` makes such an environment, or one that is sure to have no mutant, for whoever has to judge it.

Compiled programs are not kept where others look for them, and no bytecode is.  How often the mutated code was run is
counted in memory that forked processes share.
"""

from __future__ import annotations

import ast
import mmap
import os
import struct
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from recall.sites import MARK, Site, mutated

VARIABLE = "XLABENCH_MUTANT"
_CACHE = "XLABENCH_CACHE"
_TESTS = Path(__file__).resolve().parents[1]
_STARTUP = Path(__file__).resolve().parent / "startup"
_COUNT = struct.Struct("Q")


class Reached:
    """How often the mutated code was run, in this process and those forked from it; near enough where they race."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, _COUNT.size)

    def __call__(self) -> bool:
        _COUNT.pack_into(self._shared, 0, self.times + 1)
        return True

    @property
    def times(self) -> int:
        """The count."""
        return int(_COUNT.unpack_from(self._shared)[0])


class Planter(MetaPathFinder):
    """Finds one module, mutated, and leaves all others to Python."""

    def __init__(self, site: Site) -> None:
        self.site, self.reached = site, Reached()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's place as Python has it, with a loader that mutates."""
        spec = PathFinder.find_spec(fullname, path) if fullname == self.site.module else None
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin, self)
        return spec


class _Loader(SourceFileLoader):
    """Loads a module from its mutated tree, never from bytecode."""

    def __init__(self, fullname: str, path: str, planter: Planter) -> None:
        super().__init__(fullname, path)
        self._planter = planter

    def get_code(self, fullname: str) -> CodeType:
        tree = mutated(ast.parse(self.get_data(self.path), self.path), self._planter.site)
        return compile(tree, self.path, "exec")

    def exec_module(self, module: ModuleType) -> None:
        setattr(module, MARK, self._planter.reached)
        super().exec_module(module)


def install(name: str) -> Planter:
    """Have a module mutated when it is imported.

    Raises:
        RuntimeError: it is imported already.
    """
    planter = Planter(Site.of(name))
    if planter.site.module in sys.modules:
        raise RuntimeError(f"{planter.site.module} is imported already: plant {name} before that")
    sys.meta_path.insert(0, planter)
    os.environ.pop(_CACHE, None)
    return planter


def planted() -> Planter | None:
    """What is planted in this process."""
    return next((finder for finder in sys.meta_path if isinstance(finder, Planter)), None)


def environment(site: Site | None, given: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process with a mutant, or surely without one."""
    places = [place for place in given.get("PYTHONPATH", "").split(os.pathsep) if place]
    ours = [str(_TESTS), str(_STARTUP)]
    made = {name: value for name, value in given.items() if name not in (VARIABLE, _CACHE)}
    made["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*ours, *places]))
    return made if site is None else made | {VARIABLE: str(site)}
