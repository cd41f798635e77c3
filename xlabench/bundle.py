"""Repro bundles: a folder, or a zip archive of it, that shows a failure again, on any machine, for years.

    module.hlo  inputs.npz  expected.npz  actual.npz  manifest.json  repro.py

- The same failure gives the same bytes: no time, no path, no name of a machine.
- A bundle may come from a stranger: nothing in it is unpickled or run by opening it, sizes are limited before anything
  is read, files are what the manifest says (SHA-256), links are refused.  `repro.py` is for people; only a bundle that
  was written a moment ago is run by it.
- Types that `.npy` cannot say (bfloat16 and narrower) are stored as raw unsigned integers, their names in the manifest.
- A bundle is replayed from a temporary folder in a fresh process before anybody is told of it.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import compiler
from xlabench import archive, atomic, environment
from xlabench.differ import compare
from xlabench.engines import build, engine, execute
from xlabench.errors import VERDICT_EXIT_CODES, BenchError, ExitCode, verdict_of
from xlabench.inputs import DTYPES, is_npy_type, restore
from xlabench.tolerance import Array, DType, TolerancePolicy, raw_bits
from xlabench.worker import Worker

FORMAT_VERSION = 1
MAX_BYTES = 2 << 30
_MAX_MANIFEST_BYTES = 1 << 20
_ARRAY_FILES = ("inputs.npz", "expected.npz", "actual.npz")
_FILES = ("module.hlo", *_ARRAY_FILES, "repro.py")
_TYPES = {"engine": str, "reference": str, "verdict": str, "message": str, "seed": int | None, "tolerance": dict}
_DAMAGE = (LookupError, TypeError, ValueError, AttributeError, RuntimeError, EOFError, zipfile.BadZipFile)
_ROOT = Path(__file__).resolve().parents[1]
_ENVIRONMENT = ("system", "machine", "cpu", "cpu_features", "python", "versions")

_REPRO = '''"""Run this bundle again: exit status 0 if the bug is gone, 1 if it shows, 125 if it cannot be decided here.

    python -m pip install xlabench && python repro.py
"""

import sys
from pathlib import Path

try:
    from xlabench.cli import main
except ModuleNotFoundError as error:
    print(f"{error}; install it: python -m pip install xlabench", file=sys.stderr)
    sys.exit(125)

main(["replay", str(Path(__file__).resolve().parent)])
'''


@dataclass(frozen=True, slots=True)
class Failure:
    """What a bundle keeps: a program, its inputs, what was expected and what came (nothing, if it crashed)."""

    module_text: str
    inputs: Sequence[Array]
    expected: Sequence[Array]
    actual: Sequence[Array]
    engine: str
    reference: str
    seed: int | None
    verdict: str
    message: str
    policy: TolerancePolicy = TolerancePolicy()  # noqa: RUF009 - frozen


@dataclass(frozen=True, slots=True)
class Saved:
    """A bundle on disk; `verified` if a replay in a fresh process showed the failure, else the message says why not."""

    path: Path
    verified: bool
    message: str = ""


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of running a bundle again."""

    verdict: str
    message: str
    recorded: str

    @property
    def exit_code(self) -> ExitCode:
        """0 if the bug is gone, 1 if it shows, 125 if that cannot be decided here."""
        code = VERDICT_EXIT_CODES[self.verdict]
        return code if code in (ExitCode.FINE, ExitCode.UNDECIDABLE) else ExitCode.WRONG


def is_bundle(path: Path) -> bool:
    """Whether a path is that of a bundle rather than of a program: a folder or an archive."""
    return path.is_dir() or (path.is_file() and zipfile.is_zipfile(path))


def save(failure: Failure, folder: Path, *, timeout_s: float = 300.0) -> Saved:
    """Write a bundle and verify it; it appears whole or not at all, and replaces an older bundle.

    A name that ends in `.zip` asks for an archive in place of a folder.
    """
    is_archive = folder.suffix == ".zip"
    if folder.exists() and not (_holds_manifest(folder) and folder.is_file() == is_archive):
        raise BenchError(f"{folder}: exists and is not a bundle; give a new name")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".bundle-", dir=folder.parent) as temporary:
            draft = Path(temporary) / "bundle"
            draft.mkdir()
            contents = _contents(failure)
            for name, data in contents.items():
                (draft / name).write_bytes(data)
            message = _verify(draft, timeout_s)
            if is_archive:
                atomic.write(folder, archive.pack(contents))
                return Saved(folder, not message, message)
            if folder.exists():
                folder.rename(Path(temporary) / "old")
            draft.rename(folder)
    except OSError as error:
        raise BenchError(f"{folder}: cannot be written: {error.strerror or error}; give another folder") from error
    return Saved(folder, not message, message)


def load(folder: Path, *, max_bytes: int = MAX_BYTES) -> Failure:
    """Read a bundle that nothing is known of; whatever is wrong with it is a `BenchError`."""
    try:
        source = _source(folder, max_bytes)
        manifest = _read_manifest(source)
        files = _read_files(source, manifest["files"], max_bytes)
        arrays = {name: _unpack(files[name], manifest["arrays"][name], max_bytes) for name in _ARRAY_FILES}
        return Failure(
            module_text=files["module.hlo"].decode(),
            inputs=arrays["inputs.npz"],
            expected=arrays["expected.npz"],
            actual=arrays["actual.npz"],
            engine=manifest["engine"],
            reference=manifest["reference"],
            seed=manifest["seed"],
            verdict=manifest["verdict"],
            message=manifest["message"],
            policy=TolerancePolicy(**manifest["tolerance"]),
        )
    except OSError as error:
        place = error.filename or folder
        raise BenchError(f"{place}: cannot be read: {error.strerror}; give a bundle, a folder or a .zip") from error
    except _DAMAGE as error:
        raise BenchError(f"{folder}: not a whole bundle: {error}; get it again") from error


def replay(folder: Path, *, timeout_s: float = 300.0) -> Replay:
    """Run a bundle again in a worker process, so that a crash is an answer; what is bad input is found out before."""
    failure = load(folder)
    compiler.verify(compiler.parse(failure.module_text, filename="module.hlo"))
    engine(failure.engine)
    with Worker() as worker:
        outcome = worker.run("xlabench.bundle:replay_job", {"folder": str(folder.resolve())}, timeout_s=timeout_s)
    if outcome.ending == "answered":
        return Replay(outcome.value["verdict"], outcome.value["message"], failure.verdict)
    if outcome.ending == "timeout":
        return Replay("timeout", outcome.message, failure.verdict)
    return Replay("crash", f"{outcome.message}\n{outcome.output}".strip(), failure.verdict)


def replay_job(arguments: dict[str, Any], say: Any) -> dict[str, Any]:
    """The worker's part of a replay."""
    failure = load(Path(arguments["folder"]))
    say("replay")
    try:
        module = compiler.parse(failure.module_text, filename="module.hlo")
        subject = engine(failure.engine)
        actual = execute(subject, build(subject, module), failure.inputs)
    except Exception as error:
        verdict = verdict_of(error)
        if verdict is None:
            raise
        return {"verdict": verdict, "message": str(error)}
    comparison = compare(failure.expected, actual, policy=failure.policy)
    return {"verdict": str(comparison.agreement), "message": comparison.describe()}


def _contents(failure: Failure) -> dict[str, bytes]:
    arrays = dict(zip(_ARRAY_FILES, (failure.inputs, failure.expected, failure.actual), strict=True))
    files = {"module.hlo": failure.module_text.encode(), "repro.py": _REPRO.encode()}
    files |= {name: pack_arrays(values) for name, values in arrays.items()}
    machine = environment.capture().to_json()
    manifest = {
        "format": "xlabench-bundle",
        "version": FORMAT_VERSION,
        "engine": failure.engine,
        "reference": failure.reference,
        "seed": failure.seed,
        "verdict": failure.verdict,
        "message": failure.message.partition("\n")[0],
        "tolerance": asdict(failure.policy),
        "environment": {key: machine[key] for key in _ENVIRONMENT},
        "arrays": {name: [np.asarray(value).dtype.name for value in values] for name, values in arrays.items()},
        "files": {name: hashlib.sha256(files[name]).hexdigest() for name in _FILES},
    }
    files["manifest.json"] = (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode()
    return files


def _verify(draft: Path, timeout_s: float) -> str:
    """Replay a copy of the bundle as its receiver would; the empty string if the failure shows, else why not."""
    path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH", "")]))
    with tempfile.TemporaryDirectory(prefix="replay-") as temporary:
        copy = Path(temporary) / "bundle"
        shutil.copytree(draft, copy)
        try:
            done = subprocess.run(
                [sys.executable, "repro.py"],
                cwd=copy,
                env={**os.environ, "PYTHONPATH": path},
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"the replay did not end in {timeout_s:g} s"
    if done.returncode == ExitCode.WRONG and "Traceback" not in done.stderr:
        return ""
    return f"the replay ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-500:]}"


def pack_arrays(arrays: Sequence[Array]) -> bytes:
    """The bytes of an `.npz` file that depend on nothing but the arrays."""
    members = {}
    for number, value in enumerate(arrays):
        array = np.asarray(value)
        stored = array if is_npy_type(array.dtype) else raw_bits(array)
        member = io.BytesIO()
        np.lib.format.write_array(member, np.asarray(stored, order="C"), version=(1, 0), allow_pickle=False)
        members[f"array_{number:04d}.npy"] = member.getvalue()
    return archive.pack(members)


def _unpack(data: bytes, dtypes: Sequence[str], max_bytes: int) -> list[Array]:
    by_name = {dtype.name: dtype for dtype in DTYPES.values()}
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        members = file.infolist()
        if sum(member.file_size for member in members) > max_bytes:
            raise ValueError(f"its arrays take more than the limit of {max_bytes:,} bytes")
        if any(member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1 for member in members):
            raise ValueError("its arrays are compressed or encrypted, which those of a bundle are not")
        if len(members) != len(dtypes):
            raise ValueError(f"{len(members)} arrays, but the manifest lists {len(dtypes)}")
        pairs = zip(members, dtypes, strict=True)
        return [_read_array(file.read(member), by_name[name]) for member, name in pairs]


def _read_array(data: bytes, dtype: DType) -> Array:
    """One `.npy` file; its header is believed only if as many bytes follow as it says."""
    file = io.BytesIO(data)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array of an unknown .npy version")
    shape, is_fortran, stored = np.lib.format.read_array_header_1_0(file)
    rest = data[file.tell() :]
    if stored.hasobject or is_fortran or math.prod(shape) * stored.itemsize != len(rest):
        raise ValueError("an array that is not as long as its header says")
    array = restore(np.frombuffer(rest, stored).reshape(shape), dtype)
    if array.dtype != dtype:
        raise ValueError(f"an array of {array.dtype}, but the manifest says {dtype}")
    return array.copy()


_Source = Callable[[str, int], bytes]
"""Reads a file of a bundle by its name, up to a number of bytes."""


def _source(path: Path, max_bytes: int) -> _Source:
    if not path.is_file():
        return lambda name, limit: _read_limited(path / name, limit)
    files = archive.unpack(path, max_bytes)

    def read(name: str, limit: int) -> bytes:
        if name not in files:
            raise ValueError(f"the archive lacks {name}")
        if len(files[name]) > limit:
            raise ValueError(f"{name} is larger than the limit of {limit:,} bytes")
        return files[name]

    return read


def _holds_manifest(path: Path) -> bool:
    if path.is_dir():
        return (path / "manifest.json").is_file()
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as file:
        return any(Path(name).name == "manifest.json" for name in file.namelist())


def _read_manifest(source: _Source) -> Mapping[str, Any]:
    data = source("manifest.json", _MAX_MANIFEST_BYTES)
    manifest: Mapping[str, Any] = json.loads(data)
    if manifest.get("format") != "xlabench-bundle":
        raise ValueError("manifest.json is not that of a bundle")
    if manifest.get("version") != FORMAT_VERSION:
        raise ValueError(f"format version {manifest.get('version')!r}, this xlabench reads version {FORMAT_VERSION}")
    for key, kind in _TYPES.items():
        if not isinstance(manifest[key], kind):
            raise ValueError(f"{key} cannot be {manifest[key]!r}")
    if manifest["verdict"] not in VERDICT_EXIT_CODES:
        raise ValueError(f"unknown verdict {manifest['verdict']!r}")
    return manifest


def _read_files(source: _Source, digests: Mapping[str, str], max_bytes: int) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for name in _FILES:
        files[name] = source(name, max_bytes)
        if hashlib.sha256(files[name]).hexdigest() != digests[name]:
            raise ValueError(f"{name} is not the file that the manifest describes")
    return files


def _read_limited(path: Path, max_bytes: int) -> bytes:
    if path.is_symlink():
        raise ValueError(f"{path.name} is a link")
    if path.stat().st_size > max_bytes:
        raise ValueError(f"{path.name} is larger than the limit of {max_bytes:,} bytes")
    return path.read_bytes()
