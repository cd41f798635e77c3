"""The files of a bundle, from a folder or an archive that nothing is known of.

Links and what is no plain file are refused, sizes are limited before anything is read, and files are what the manifest
says (SHA-256).  Whatever is wrong is a `ValueError`, or one of those that reading strangers' JSON and archives raises.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from xlabench.bundles import archive
from xlabench.cases.layouts import ALIGNED, LAYOUTS
from xlabench.errors import VERDICT_EXIT_CODES

FORMAT_VERSION = 3
_MANIFEST = "manifest.json"
MAX_BYTES = 2 << 30
"""The files of a bundle together, the manifest not counted."""
ARRAY_FILES = ("inputs.npz", "expected.npz", "actual.npz")
MORE_ARRAY_FILES = ("bounds.npz", "original.npz")
FILES = ("module.hlo", *ARRAY_FILES, "repro.py")
MORE_FILES = ("original.hlo", "graph.pbtxt", *MORE_ARRAY_FILES)
_READ_VERSIONS = (1, 2, 3)  # the first knew neither bounds nor originals, the second no layouts
_MAX_MANIFEST_BYTES = 1 << 20
_TYPES = {"engine": str, "reference": str, "verdict": str, "message": str, "seed": int | None, "tolerance": dict}


def read(path: Path, max_bytes: int) -> tuple[Mapping[str, Any], dict[str, bytes]]:
    """The manifest of a bundle, and the bytes of the files that it describes.

    A folder may hold more, which is not looked at; of an archive that would be read all the same, and is refused.
    """
    if not path.is_file():
        source: _Source = partial(_read_limited, path)
        packed = frozenset[str]()
    else:
        source, packed = _unpacked(path, max_bytes)
    manifest = _read_manifest(source)
    for name in sorted(packed - {_MANIFEST, *manifest["files"]}):
        raise ValueError(f"it holds {name!r}, which the manifest does not name")
    return manifest, _read_files(source, manifest["files"], max_bytes)


def holds_manifest(path: Path) -> bool:
    """Whether a folder or an archive is there to be a bundle, whole or not."""
    if path.is_dir():
        return (path / _MANIFEST).is_file()
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as file:
        return any(Path(name).name == _MANIFEST for name in file.namelist())


_Source = Callable[[str, int], bytes]
"""Reads a file of a bundle by its name, up to a number of bytes."""


def _unpacked(path: Path, max_bytes: int) -> tuple[_Source, frozenset[str]]:
    """A source that is an archive, and the names of its files."""
    files = archive.unpack(path, max_bytes + _MAX_MANIFEST_BYTES, {_MANIFEST, *FILES, *MORE_FILES})

    def read(name: str, limit: int) -> bytes:
        if name not in files:
            raise ValueError(f"the archive lacks {name}")
        if len(files[name]) > limit:
            raise ValueError(f"{name} is larger than the limit of {limit:,} bytes")
        return files[name]

    return read, frozenset(files)


def _read_manifest(source: _Source) -> Mapping[str, Any]:
    data = source(_MANIFEST, _MAX_MANIFEST_BYTES)
    manifest: Mapping[str, Any] = json.loads(data)
    if manifest.get("format") != "xlabench-bundle":
        raise ValueError("manifest.json is not that of a bundle")
    if manifest.get("version") not in _READ_VERSIONS:
        raise ValueError(f"format version {manifest.get('version')!r}, this xlabench reads versions 1 to 3")
    for key, kind in _TYPES.items():
        if not isinstance(manifest[key], kind):
            raise ValueError(f"{key} cannot be {manifest[key]!r}")
    if not set(ARRAY_FILES) <= set(manifest["arrays"]) <= {*ARRAY_FILES, *MORE_ARRAY_FILES}:
        raise ValueError(f"arrays of {', '.join(manifest['arrays'])}")
    if manifest.get("layout", ALIGNED) not in LAYOUTS:
        raise ValueError(f"unknown layout {manifest['layout']!r}")
    for key in ("takes_all", "is_unanswered"):
        if not isinstance(manifest.get(key, False), bool):
            raise ValueError(f"{key} cannot be {manifest[key]!r}")
    if manifest["verdict"] not in VERDICT_EXIT_CODES:
        raise ValueError(f"unknown verdict {manifest['verdict']!r}")
    return manifest


def _read_files(source: _Source, digests: Mapping[str, str], max_bytes: int) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    left = max_bytes
    for name in (*FILES, *(name for name in MORE_FILES if name in digests)):
        files[name] = source(name, left)
        left -= len(files[name])
        if hashlib.sha256(files[name]).hexdigest() != digests[name]:
            raise ValueError(f"{name} is not the file that the manifest describes")
    return files


def _read_limited(folder: Path, name: str, max_bytes: int) -> bytes:
    path = folder / name
    if path.is_symlink():
        raise ValueError(f"{path.name} is a link")
    if path.exists() and not path.is_file():
        raise ValueError(f"{path.name} is no plain file")
    if path.stat().st_size > max_bytes:
        raise ValueError(f"{path.name} is larger than the limit of {max_bytes:,} bytes")
    return path.read_bytes()
