"""`import tensorflow` means ours, where that is asked for: a finder that comes before all others.

Modules are ours under both names, so that what a program takes from `tensorflow.python.client` is what
`xlabench.tensorflow` itself uses.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from xlabench.tensorflow import namespace
from xlabench.tensorflow.names import NAMESPACES
from xlabench.tensorflow.refused import REFUSED

_NAME = "tensorflow"


class _Loader(Loader):
    """Gives the module of another name."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._own: Any = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module itself."""
        prefix = self._target.removeprefix(f"{namespace.ROOT}.")
        is_namespace = prefix in NAMESPACES
        module: ModuleType = namespace.resolve(prefix) if is_namespace else import_module(self._target)
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Leave it as it is: importing has given it the other name's specification."""
        module.__spec__ = self._own


class Finder(MetaPathFinder):
    """Finds `tensorflow` and what is below it."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Where the module `fullname` is, None where it is not below `tensorflow`; `path` and `target` are not needed.

        Raises:
            ModuleNotFoundError: TensorFlow may have it, and this has not.
        """
        if fullname != _NAME and not fullname.startswith(f"{_NAME}."):
            return None
        ours = namespace.ROOT + fullname.removeprefix(_NAME)
        inner = fullname.removeprefix(f"{_NAME}.")
        if inner not in NAMESPACES and not _is_there(ours):
            raise ModuleNotFoundError(f"No module named {fullname!r}: {_reason(inner)}", name=fullname)
        return ModuleSpec(fullname, _Loader(ours), is_package=True)


def _reason(name: str) -> str:
    """Why there is no module of a name, or none that it is in."""
    while name:
        if name in REFUSED:
            return REFUSED[name]
        name = name.rpartition(".")[0]
    return "it is not there under `xlabench tf`"


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def install() -> None:
    """Let `import tensorflow` mean ours from here on."""
    if not any(isinstance(one, Finder) for one in sys.meta_path):
        sys.meta_path.insert(0, Finder())
