"""Repro bundles: a folder, or a zip archive of it, that shows a failure again, on any machine, for years.

    module.hlo  inputs.npz  expected.npz  actual.npz  manifest.json  repro.py
    bounds.npz                  how far off a right result may be, where those decide: values and errors by turns
    graph.pbtxt                 the graph that the program carries, for people; its engine's spec says how it is run
    original.hlo  original.npz  the program and its inputs before they were reduced, where they were

- The same failure gives the same bytes: no time, no path, no name of a machine.
- A bundle may come from a stranger: nothing in it is unpickled or run by opening it (`files`).  `repro.py` is for
  people; only a bundle that was written a moment ago is run by it.
- It is judged by what it brings, the bounds of `xlabench.judging.bounds` or a tolerance, whatever the reference says
  later.
- A bundle is replayed from a temporary folder in a fresh process before anybody is told of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import compiler
from compiler import aot, tf
from xlabench import atomic, custom_calls, environment, jobs, repeats, startup
from xlabench.bundles import archive, placing
from xlabench.bundles.failure import Failure, Original, check
from xlabench.bundles.files import ARRAY_FILES, FORMAT_VERSION, MAX_BYTES, holds_manifest, read
from xlabench.bundles.packing import pack_arrays, unpack_arrays
from xlabench.cases import programs
from xlabench.cases.layouts import ALIGNED, LAYOUTS
from xlabench.engines import build, engine, execute
from xlabench.engines.spec import split_spec
from xlabench.errors import VERDICT_EXIT_CODES, BenchError, ExitCode, verdict_of
from xlabench.judging.bounds import Basis, Bounds, with_residuals
from xlabench.judging.differ import tolerated
from xlabench.judging.judge import judge
from xlabench.judging.left_open import left_open
from xlabench.judging.tolerance import Array, TolerancePolicy
from xlabench.worker import Worker

_MOST_BOUNDED = 1 << 22  # elements of results whose bounds are kept
_DAMAGE = (LookupError, TypeError, ValueError, AttributeError, RuntimeError, EOFError, zipfile.BadZipFile)
_OTHER_FORM = (LookupError, TypeError, AttributeError, RecursionError)  # of which Python's words say nothing
_ENVIRONMENT = ("system", "machine", "cpu", "cpu_features", "python", "versions")

GONE, SHOWS, OTHERWISE, UNDECIDED = "gone", "shows", "fails otherwise", "cannot be decided here"

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


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of running a bundle again."""

    verdict: str
    message: str
    recorded: str

    @property
    def answer(self) -> str:
        """What became of the failure; one of another kind hides whether it is still there."""
        code = VERDICT_EXIT_CODES[self.verdict]
        if code is ExitCode.FINE:
            return GONE
        if code is ExitCode.UNDECIDABLE:
            return UNDECIDED
        return SHOWS if code is VERDICT_EXIT_CODES[self.recorded] else OTHERWISE

    @property
    def exit_code(self) -> ExitCode:
        """0 if the bug is gone, 1 if it shows, 125 if that cannot be decided here."""
        return {GONE: ExitCode.FINE, SHOWS: ExitCode.WRONG}.get(self.answer, ExitCode.UNDECIDABLE)


def is_bundle(path: Path) -> bool:
    """Whether a path is that of a bundle rather than of a program: a folder, but a SavedModel's, or an archive."""
    is_folder = os.path.isdir(path)  # noqa: PTH112 - not an error where one may not look
    return zipfile.is_zipfile(path) or (is_folder and not programs.is_graph(path))


def require_writable(folder: Path) -> None:
    """Refuse a place where no bundle can be saved, before anybody works for what is to lie there."""
    is_archive = folder.suffix == ".zip"
    try:
        if folder.exists() and not (holds_manifest(folder) and folder.is_file() == is_archive):
            raise BenchError(f"{folder}: exists and is not a bundle; give a new name")
        atomic.require_writable(folder)
    except OSError as error:
        raise BenchError(f"{folder}: cannot be written: {error.strerror}; give another folder") from error


def save(failure: Failure, folder: Path, *, timeout_s: float = 300.0) -> Saved:
    """Write a bundle and verify it; it appears whole or not at all, and replaces an older bundle.

    A name that ends in `.zip` asks for an archive in place of a folder.

    Args:
        failure: what is kept.
        folder: the folder, or the archive where it ends in .zip.
        timeout_s: seconds for the replay that verifies it.

    Raises:
        BenchError: the folder cannot be written.
    """
    require_writable(folder)
    try:
        with placing.workshop(folder.parent) as workshop:
            draft = workshop / "bundle"
            draft.mkdir()
            contents = _contents(replace(failure, bounds=failure.bounds or find_bounds(failure, timeout_s)))
            for name, data in contents.items():
                atomic.write(draft / name, data)
            message = _verify(draft, failure.verdict, timeout_s)
            if folder.suffix == ".zip":
                atomic.write(folder, archive.pack(contents))
                return Saved(folder, not message, message)
            placing.put(draft, folder)
    except OSError as error:
        raise BenchError(f"{folder}: cannot be written: {error.strerror or error}; give another folder") from error
    return Saved(folder, not message, message)


def load(folder: Path, *, max_bytes: int = MAX_BYTES) -> Failure:
    """Read a bundle that nothing is known of; whatever is wrong with it is a `BenchError`."""
    try:
        manifest, files = read(folder, max_bytes)
        arrays = {name: unpack_arrays(files[name], dtypes, max_bytes) for name, dtypes in manifest["arrays"].items()}
        failure = Failure(
            module_text=programs.decoded(files["module.hlo"]),
            inputs=arrays["inputs.npz"],
            expected=arrays["expected.npz"],
            actual=arrays["actual.npz"],
            engine=manifest["engine"],
            reference=manifest["reference"],
            seed=manifest["seed"],
            verdict=manifest["verdict"],
            message=manifest["message"],
            policy=TolerancePolicy(**manifest["tolerance"]),
            original=Original(programs.decoded(files["original.hlo"]), arrays["original.npz"])
            if "original.hlo" in files
            else None,
            bounds=_bounds(arrays["bounds.npz"], arrays["expected.npz"]) if "bounds.npz" in files else None,
            custom_calls=tuple(map(str, manifest.get("custom_calls", ()))),
            layout=manifest.get("layout", ALIGNED),
            takes_all=manifest.get("takes_all", False),
        )
    except OSError as error:
        location = error.filename or folder
        raise BenchError(f"{location}: cannot be read: {error.strerror}; give a bundle, a folder or a .zip") from error
    except _DAMAGE as error:
        said = "manifest.json is not that of a bundle" if isinstance(error, _OTHER_FORM) else error
        raise BenchError(f"{folder}: not a whole bundle: {said}; get it again") from error
    check(failure, folder)
    return failure


def replay(folder: Path, *, timeout_s: float = 300.0) -> Replay:
    """Run a bundle again in a worker process, so that a crash is an answer; what is bad input is found out before."""
    failure = load(folder)
    engine(failure.engine)
    custom_calls.require(failure.custom_calls, folder)
    with Worker() as worker:
        outcome = worker.run(
            "xlabench.bundles.bundle:replay_job", {"folder": str(folder.resolve())}, timeout_s=timeout_s
        )
    if outcome.ending == "answered":
        return Replay(outcome.value["verdict"], outcome.value["message"], failure.verdict)
    if outcome.ending == "timeout":
        return Replay("timeout", outcome.message, failure.verdict)
    return Replay("crash", f"{outcome.message}\n{outcome.output}".strip(), failure.verdict)


def replay_job(arguments: dict[str, Any], say: Any) -> dict[str, Any]:
    """The worker's part of a replay."""
    failure = load(Path(arguments["folder"]))
    laid_out = LAYOUTS[failure.layout]
    say("replay")
    try:
        module = compiler.parse(failure.module_text, filename="module.hlo")
        subject = engine(failure.engine)
        program = build(subject, failure.module_text)  # as it is spelled, which an engine may misread
        called, flaky = execute(subject, program, failure.inputs, laid_out), ""
        if failure.verdict == "flaky":  # one call of what answers now so and now so, maybe rightly, tells nothing
            calls = repeats.differing(
                called.results,
                lambda: execute(subject, program, failure.inputs, laid_out).results,
                left_open(module),
            )
            flaky = repeats.flakiness(calls) if calls else ""
        otherwise = ""
        if failure.layout != ALIGNED:
            aligned = execute(subject, program, failure.inputs).results
            otherwise = repeats.by_layout(failure.layout, module, called.results, aligned)
    except Exception as error:
        verdict = verdict_of(error, takes_all=failure.takes_all)
        if verdict is None:
            raise
        return {"verdict": verdict, "message": str(error)}
    standard = jobs.standard_of(failure.engine, failure.reference, failure.policy)
    basis = None
    if failure.bounds is not None:
        basis = with_residuals(Basis(failure.bounds), module, failure.inputs, failure.expected)
    judged = judge(module, failure.inputs, failure.expected, called.results, standard, basis=basis)
    verdict, message = jobs.of_calls(called.changed, flaky, judged.verdict, judged.message, otherwise=otherwise)
    return {"verdict": verdict, "message": message}


def graph_text(module_text: str) -> str:
    """The graph that a program carries, as GraphDef; "" where there is none."""
    if aot.KEY not in module_text:
        return ""
    carried = aot.carried_by(compiler.parse(module_text))
    return "" if carried is None else tf.to_text(carried.graph)


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


def _bounds(arrays: Sequence[Array], expected: Sequence[Array]) -> tuple[Bounds, ...]:
    """The bounds that a bundle brings; they must fit its results."""
    pairs = list(zip(arrays[::2], arrays[1::2], strict=True))
    shapes = [array.shape for array in expected]
    if [value.shape for value, _ in pairs] != shapes or [error.shape for _, error in pairs] != shapes:
        raise ValueError("bounds.npz does not fit expected.npz")
    return tuple(Bounds(value, np.asarray(error, np.float64)) for value, error in pairs)


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
