"""What a folder has of checkpoints: its file `checkpoint` says which is the last one, and which are kept."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STATE = "checkpoint"
"""The file's name, where none is given."""
_QUOTED = re.compile(r'^\s*(model_checkpoint_path|all_model_checkpoint_paths)\s*:\s*"((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")

FilePath = str | os.PathLike[str]


@dataclass(slots=True)
class CheckpointState:
    """What a folder's file `checkpoint` says."""

    model_checkpoint_path: str = ""
    all_model_checkpoint_paths: list[str] = field(default_factory=list)


def checkpoint_exists(checkpoint_prefix: FilePath) -> bool:
    """Whether there is a checkpoint of this path."""
    return Path(f"{os.fspath(checkpoint_prefix)}.index").is_file()


def remove_checkpoint(
    checkpoint_prefix: FilePath, checkpoint_format_version: Any = None, meta_graph_suffix: str = "meta"
) -> None:
    """Remove the files of the checkpoint of the path `checkpoint_prefix`, and the graph beside them.

    That ends with `meta_graph_suffix`; `checkpoint_format_version` changes nothing.
    """
    prefix = Path(checkpoint_prefix)
    for one in (
        *prefix.parent.glob(f"{_literal(prefix.name)}.data-*-of-*"),
        Path(f"{prefix}.index"),
        Path(f"{prefix}.{meta_graph_suffix}"),
    ):
        one.unlink(missing_ok=True)


def _literal(name: str) -> str:
    """A name in which nothing stands for other names."""
    return re.sub(r"([*?[])", r"[\1]", name)


def update_checkpoint_state(
    save_dir: FilePath,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
    *,
    relative: bool = False,
) -> None:
    """Say in a folder which of its checkpoints is the last one, and which there are.

    Args:
        save_dir: the folder.
        model_checkpoint_path: the path of the last checkpoint.
        all_model_checkpoint_paths: those of all that are kept, the oldest first; None for the last one alone.
        latest_filename: the file that says so, None for `checkpoint`.
        all_model_checkpoint_timestamps: when each of these was written, in seconds since 1970, if that is said.
        last_preserved_timestamp: when the last was kept for good, so too.
        relative: whether paths are written as seen from the folder; of a folder whose path is relative they always are.
    """
    folder = Path(save_dir)
    every = list(all_model_checkpoint_paths or ())
    if model_checkpoint_path not in every:
        every.append(model_checkpoint_path)
    if relative or not folder.is_absolute():
        model_checkpoint_path, *every = (os.path.relpath(one, folder) for one in (model_checkpoint_path, *every))
    lines = [f"model_checkpoint_path: {_text(model_checkpoint_path)}"]
    lines += [f"all_model_checkpoint_paths: {_text(one)}" for one in every]
    lines += [f"all_model_checkpoint_timestamps: {float(one)}" for one in all_model_checkpoint_timestamps or ()]
    if last_preserved_timestamp is not None:
        lines.append(f"last_preserved_timestamp: {float(last_preserved_timestamp)}")
    written = folder / f"{latest_filename or STATE}.tmp"
    written.write_text("\n".join(lines) + "\n", encoding="utf-8")
    written.replace(folder / (latest_filename or STATE))


def _text(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def get_checkpoint_state(checkpoint_dir: FilePath, latest_filename: str | None = None) -> CheckpointState | None:
    """What a folder says of its checkpoints, None where it says nothing."""
    folder = Path(checkpoint_dir)
    file = folder / (latest_filename or STATE)
    if not file.is_file():
        return None
    state = CheckpointState()
    for line in file.read_text(encoding="utf-8").splitlines():
        found = _QUOTED.match(line)
        if found is None:
            continue
        path = str(folder / _ESCAPED.sub(r"\1", found[2]))
        if found[1] == "model_checkpoint_path":
            state.model_checkpoint_path = path
        else:
            state.all_model_checkpoint_paths.append(path)
    return state if state.model_checkpoint_path else None


def latest_checkpoint(checkpoint_dir: FilePath, latest_filename: str | None = None) -> str | None:
    """The path of the last checkpoint of a folder, None where there is none."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not checkpoint_exists(state.model_checkpoint_path):
        return None
    return state.model_checkpoint_path
