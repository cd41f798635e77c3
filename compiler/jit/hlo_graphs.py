"""Drawings of each cluster's HLO, from pass to pass, under the names that TensorFlow 1 gave them.

    TF_XLA_FLAGS="--xla_hlo_graph_path=/tmp --xla_generate_hlo_graph=.*" python train.py

Documents still name these two flags: the first file is the module as it was lowered, each further one what a pass made
of it, so that one sees fusion happen from file to file.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from compiler.diagnostics import InputError
from compiler.drawing import PICTURES
from compiler.ir.module import Module
from compiler.jit.flags import Flags
from compiler.options import CompileOptions
from compiler.snapshots import trace

Say = Callable[[str], None]


class HloGraphs:
    """Writes a file for each stage of the modules whose names flags ask for."""

    def __init__(self, flags: Flags, say: Say) -> None:
        """Begin with the file of number 0; `say` hears of each.

        Raises:
            InputError: the flag holds no regular expression.
        """
        try:
            self._wanted = re.compile(flags.generate_hlo_graph) if flags.generate_hlo_graph else None
        except re.error as error:
            said = f"is no regular expression: {error}"
            raise InputError(f"--xla_generate_hlo_graph={flags.generate_hlo_graph} {said}") from error
        self._folder = Path(flags.hlo_graph_path or tempfile.gettempdir())
        self._say = say
        self._count = 0

    def draw(self, module: Module) -> None:
        """Draw a module, and what each pass makes of it.

        Raises:
            InputError: a file cannot be written.
        """
        if self._wanted is None or not self._wanted.search(module.name):
            return
        self._write(module, module.name, "as it was lowered")
        for snapshot in trace(module, CompileOptions()).snapshots:
            self._write(snapshot.module, module.name, f"after {snapshot.pass_name}")

    def _write(self, module: Module, name: str, stage: str) -> None:
        path = self._folder / f"hlo_graph_{self._count}.dot"
        self._count += 1
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            path.write_text(PICTURES["dot"](module), encoding="utf-8")
        except OSError as error:
            said = "--xla_hlo_graph_path names the folder"
            raise InputError(f"{path}: cannot be written: {error.strerror or error}; {said}") from error
        self._say(f"computation {name} [{stage}]: {path}")
