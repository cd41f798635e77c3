"""Saving a bundle: what its files hold, and a replay of it by a stranger's means before anybody is told of it.

It appears whole or not at all (`placing`), and says where it could not be made to show its failure again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from xlabench import atomic, custom_calls, environment, jobs, startup
from xlabench.bundles import archive, placing
from xlabench.bundles.bundle import SHOWS, graph_text, replay
from xlabench.bundles.failure import Failure
from xlabench.bundles.files import ARRAY_FILES, FORMAT_VERSION, holds_manifest
from xlabench.bundles.packing import pack_arrays
from xlabench.cases import programs
from xlabench.engines.spec import split_spec
from xlabench.errors import VERDICT_EXIT_CODES, BenchError, ExitCode
from xlabench.judging.bounds import Bounds
from xlabench.judging.differ import tolerated
from xlabench.judging.tolerance import TolerancePolicy
from xlabench.worker import Worker

_MOST_BOUNDED = 1 << 22  # elements of results whose bounds are kept
_NOT_REPLAYED = "there was no time to replay it"
_ENVIRONMENT = ("system", "machine", "cpu", "cpu_features", "python", "versions")

_REPRO = '''"""Run this bundle again: exit status 0 if the bug is gone, 1 if it shows, 125 if it cannot be decided here.

In an environment that has xlabench, which a clone of it gives by `python -m pip install .`:

    python repro.py
"""

import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:] = [place for place in sys.path if os.path.realpath(place) != HERE]  # nothing here is a package

try:
    from xlabench.cli import main
except ModuleNotFoundError as error:
    print(f"{error}; install it, in a clone of xlabench: python -m pip install .", file=sys.stderr)
    sys.exit(125)

main(["replay", *sys.argv[1:], HERE])
'''


@dataclass(frozen=True, slots=True)
class Saved:
    """A bundle on disk; `verified` if a replay in a fresh process showed the failure, else the message says why not."""

    path: Path
    verified: bool
    message: str = ""


def require_writable(folder: Path) -> None:
    """Refuse a place where no bundle can be saved, before anybody works for what is to lie there."""
    is_archive = folder.suffix == ".zip"
    try:
        if folder.exists() and not (holds_manifest(folder) and folder.is_file() == is_archive):
            raise BenchError(f"{folder}: exists and is not a bundle; give a new name")
        atomic.require_writable(folder)
    except OSError as error:
        raise BenchError(f"{folder}: cannot be written: {error.strerror}; give another folder") from error


def save(failure: Failure, folder: Path, *, timeout_s: float = 300.0, is_verified: bool = True) -> Saved:
    """Write a bundle and verify it; it appears whole or not at all, and replaces an older bundle.

    A name that ends in `.zip` asks for an archive in place of a folder.

    Args:
        failure: what is kept.
        folder: the folder, or the archive where it ends in .zip.
        timeout_s: seconds for the replay that verifies it.
        is_verified: whether there is time to run anything: for bounds that it lacks, and for the replay.

    Raises:
        BenchError: the folder cannot be written.
    """
    require_writable(folder)
    try:
        with placing.workshop(folder.parent) as workshop:
            draft = workshop / "bundle"
            draft.mkdir()
            bounds = failure.bounds or (find_bounds(failure, timeout_s) if is_verified else None)
            contents = _contents(replace(failure, bounds=bounds))
            for name, data in contents.items():
                atomic.write(draft / name, data)
            message = _verify(draft, failure.verdict, timeout_s) if is_verified else _NOT_REPLAYED
            if folder.suffix == ".zip":
                atomic.write(folder, archive.pack(contents))
                return Saved(folder, not message, message)
            placing.put(draft, folder)
    except OSError as error:
        raise BenchError(f"{folder}: cannot be written: {error.strerror or error}; give another folder") from error
    return Saved(folder, not message, message)


def _contents(failure: Failure) -> dict[str, bytes]:
    arrays = dict(zip(ARRAY_FILES, (failure.inputs, failure.expected, failure.actual), strict=True))
    files = {"module.hlo": programs.encoded(failure.module_text), "repro.py": _REPRO.encode()}
    if graph := graph_text(failure.module_text):
        files["graph.pbtxt"] = graph.encode()
    if failure.original is not None:
        files["original.hlo"] = programs.encoded(failure.original.module_text)
        arrays["original.npz"] = failure.original.inputs
    if failure.bounds is not None:
        arrays["bounds.npz"] = [array for bounds in failure.bounds for array in (bounds.value, bounds.error)]
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
        "layout": failure.layout,
        "takes_all": failure.takes_all,
        "tolerance": asdict(failure.policy),
        "environment": {key: machine[key] for key in _ENVIRONMENT},
        "arrays": {name: [np.asarray(value).dtype.name for value in values] for name, values in arrays.items()},
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    if failure.is_unanswered:
        manifest["is_unanswered"] = True
    if meanings := custom_calls.recorded(failure.module_text):
        manifest["custom_calls"] = meanings
    files["manifest.json"] = (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode()
    return files


def find_bounds(failure: Failure, timeout_s: float) -> tuple[Bounds, ...] | None:
    """The error bounds of the reference, where it was our own and no tolerance was given; a watched worker is asked.

    Of a result that the reference's own bounds do not hold the tolerance is what it brings.
    """
    elements = sum(array.size for array in failure.expected)
    is_ours = split_spec(failure.reference)[0] == "reference"
    if not is_ours or failure.policy != TolerancePolicy() or not 0 < elements <= _MOST_BOUNDED:
        return None
    with tempfile.TemporaryDirectory(prefix="bounds-") as folder, Worker() as worker:
        paths = {name: Path(folder) / name for name in ("program", "inputs", "expected", "results")}
        paths["program"].write_bytes(programs.encoded(failure.module_text))
        jobs.write_arrays(paths["inputs"], failure.inputs)
        jobs.write_arrays(paths["expected"], failure.expected)
        arguments = {name: str(path) for name, path in paths.items()}
        outcome = worker.run("xlabench.jobs:bound", arguments, timeout_s=timeout_s)
        bounds = jobs.basis_of(outcome, paths["results"]).bounds
    if bounds is None:
        return None
    return tuple(one or tolerated(own, failure.policy) for one, own in zip(bounds, failure.expected, strict=True))


def _verify(draft: Path, verdict: str, timeout_s: float) -> str:
    """Replay a copy of the bundle as its receiver would; the empty string if the failure shows, else why not.

    What did not end is asked again in a worker, where loading Python does not count.
    """
    if VERDICT_EXIT_CODES[verdict] is ExitCode.INTERNAL:
        return "xlabench failed on it, no engine: there is nothing that a replay could show"
    if verdict == "timeout":
        try:
            again = replay(draft, timeout_s=timeout_s)
        except BenchError as error:
            return f"the replay did not begin: {error}"
        return "" if again.verdict == verdict else f"the replay ended: {again.verdict}"
    path = os.pathsep.join(startup.search_path())
    with tempfile.TemporaryDirectory(prefix="replay-") as temporary:
        copy = Path(temporary) / "bundle"
        shutil.copytree(draft, copy)
        try:
            done = subprocess.run(
                [*startup.python(), "repro.py", "--json"],
                cwd=copy,
                env={**os.environ, "PYTHONPATH": path},
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"the replay did not end in {timeout_s:g} s"
    try:
        report = json.loads(done.stdout)
        answer, verdict, message = report["answer"], report["verdict"], report["message"]
    except (ValueError, KeyError):  # an error is an object too, of another form
        return f"the replay ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-500:]}"
    return "" if answer == SHOWS else f"the replay ended with {done.returncode}: {answer}: {verdict}: {message}"
