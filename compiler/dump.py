"""Dumps under XLA's names: what a compilation saw and made, one file each, and `index.json` that lists them.

`module_0001.NAME.before_optimizations.txt`, `...cpu_after_optimizations.txt`, one file around each pass that
`dump_pass_re` asks for, and the back end's artifacts.  Modules are text, drawings (`.dot`, `.html`) or protocol buffers
(`.hlo.pb`).  Numbers go up within a folder, so a second compilation never overwrites the first.  What comes after the
compilation, as snapshots of runs do, is added to its row in the index.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from compiler.diagnostics import InputError
from compiler.drawing import PICTURES
from compiler.ir.module import Module
from compiler.options import names_of
from compiler.pipeline import Step
from compiler.plan import check_inputs, times_given
from compiler.proto import hlo_proto, hlo_snapshot, unoptimized_snapshot
from compiler.text.printer import to_text

FORMS: Mapping[str, tuple[str, Callable[[Module], str | bytes]]] = {
    "text": ("txt", to_text),
    **{name: (name, draw) for name, draw in PICTURES.items()},
    "proto": ("hlo.pb", hlo_proto),
}
"""The forms of a module in a dump: the end of the file's name, and how it is written."""

_LONGEST_NAME = 120
"""Characters of a module's name in a file's: file systems allow 255 bytes, and what was done is said behind it."""
_INDEX = "index.json"


@dataclass(slots=True)
class Dump:
    """The dump of one compilation into a folder."""

    folder: Path
    stem: str
    pass_re: str = ""
    forms: Sequence[str] = ("text",)
    files: list[dict[str, str]] = field(default_factory=list)

    @staticmethod
    def start(folder: str, module: Module, pass_re: str = "", forms: Sequence[str] = ("text",)) -> Dump:
        """Make the folder and choose the next free number in it; modules are written in each of the forms.

        Args:
            folder: is made where it is not there.
            module: what is compiled, which names the files.
            pass_re: passes after which the module is dumped, a regular expression; "" for none.
            forms: of modules, keys of `FORMS`.

        Raises:
            InputError: the folder cannot be written, or a form is unknown.
        """
        for form in forms:
            if form not in FORMS:
                raise InputError(f"dump_as: unknown form {form!r}; forms are: {', '.join(FORMS)}")
        path = Path(folder)
        try:
            path.mkdir(parents=True, exist_ok=True)
            _known(path)
            taken = [int(m.group(1)) for f in path.iterdir() if (m := re.match(r"module_(\d{4,})\.", f.name))]
        except OSError as error:
            raise InputError(f"cannot write dumps to {folder!r}: {error.strerror}; choose another folder") from error
        name = "".join(c if c.isalnum() or c in "._-" else "_" for c in module.name)[:_LONGEST_NAME]
        return Dump(path, f"module_{max(taken, default=0) + 1:04d}.{name}", pass_re, forms)

    def write(self, suffix: str, content: str | bytes) -> None:
        """Write one file.

        Raises:
            InputError: it cannot be written.
        """
        path = self.folder / f"{self.stem}.{suffix}"
        try:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        except OSError as error:
            raise InputError(f"cannot write dump {path.name!r} to {str(self.folder)!r}: {error.strerror}") from error
        self.files.append({"file": path.name, "what": suffix})

    def write_module(self, suffix: str, module: Module) -> None:
        """Write a module in every form that was asked for."""
        for form in self.forms:
            end, written = FORMS[form]
            self.write(f"{suffix}.{end}", written(module))

    def observe(self, step: Step) -> None:
        """Dump around the passes that were asked for; with `.*` only those that changed something."""
        if not self.pass_re or not any(re.search(self.pass_re, name) for name in names_of(step.after)):
            return
        if not step.changed and self.pass_re == ".*":
            return
        suffix = f"{step.number:04d}.{step.pipeline}.after_{step.after}.before_{step.before or 'pipeline-end'}"
        self.write_module(suffix, step.module)

    def finish(self) -> None:
        """Put this compilation's files into the folder's index, where they may be already.

        Raises:
            InputError: it cannot be written.
        """
        others = [row for row in _known(self.folder) if not _is_of(row, self.stem)]
        known = [*others, {"module": self.stem, "files": self.files}]
        path = self.folder / _INDEX
        try:
            path.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot write dump {path.name!r} to {str(self.folder)!r}: {error.strerror}") from error


class Snapshots:
    """The runs of a program, one file each, numbered from 0."""

    def __init__(self, dump: Dump, module: Module, platform: str) -> None:
        self._dump, self._module, self._platform = dump, module, platform
        self._runs = count()

    def before(self, inputs: Sequence[Any]) -> None:
        """Keep what each device is given, before a run that might not end.

        Raises:
            InputError: the inputs do not fit the module.
        """
        times = times_given(self._module)
        size = -(-len(inputs) // times)
        for device in range(times):
            check_inputs(self._module, inputs[device * size : (device + 1) * size])
        content = unoptimized_snapshot(self._module, inputs, times)
        self._write(f"execution_{next(self._runs):04d}.hlo_unoptimized_snapshot.pb", content)

    def after(self, inputs: Sequence[Any], results: Sequence[Any]) -> None:
        """Keep what a run was given, and its results."""
        content = hlo_snapshot(self._module, inputs, results, self._platform)
        self._write(f"snapshot.{next(self._runs)}.pb", content)

    def _write(self, suffix: str, content: bytes) -> None:
        self._dump.write(suffix, content)
        self._dump.finish()


def _is_of(row: Any, stem: str) -> bool:
    return isinstance(row, dict) and row.get("module") == stem


def _known(folder: Path) -> list[Any]:
    """What the index of a folder lists, which somebody else may have written, or two of us at once."""
    path = folder / _INDEX
    try:
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot dump to {str(folder)!r}: its {_INDEX}: {error}; choose another folder") from error
    if not isinstance(known, list):
        raise InputError(f"cannot dump to {str(folder)!r}: its {_INDEX} is not ours; choose another folder")
    return known
