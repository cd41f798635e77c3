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

import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import compiler
from compiler import aot, tf
from xlabench import custom_calls, jobs, repeats
from xlabench.bundles.failure import Failure, Original, check
from xlabench.bundles.files import MAX_BYTES, read
from xlabench.bundles.packing import unpack_arrays
from xlabench.bundles.relowering import lowered_now
from xlabench.cases import programs
from xlabench.cases.layouts import ALIGNED, LAYOUTS
from xlabench.engines import build, engine, execute
from xlabench.errors import VERDICT_EXIT_CODES, BenchError, ExitCode, verdict_of
from xlabench.judging.bounds import Basis, Bounds, with_residuals
from xlabench.judging.judge import judge
from xlabench.judging.left_open import left_open
from xlabench.judging.tolerance import Array, TolerancePolicy
from xlabench.worker import Worker

_DAMAGE = (LookupError, TypeError, ValueError, AttributeError, RuntimeError, EOFError, zipfile.BadZipFile)
_OTHER_FORM = (LookupError, TypeError, AttributeError, RecursionError)  # of which Python's words say nothing

GONE, SHOWS, OTHERWISE, UNDECIDED = "gone", "shows", "fails otherwise", "cannot be decided here"


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
            is_unanswered=manifest.get("is_unanswered", False),
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
        now = lowered_now(failure.engine, failure.reference, failure.module_text, failure.inputs)
        failure = replace(failure, **now, is_unanswered=failure.is_unanswered and not now)
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
    verdict, message = _judged(failure, module, called.results)
    verdict, message = jobs.of_calls(called.changed, flaky, verdict, message, otherwise=otherwise)
    return {"verdict": verdict, "message": message}


def _judged(failure: Failure, module: compiler.Module, results: Sequence[Array]) -> tuple[str, str]:
    """The verdict on an engine's results, and what there is to say of it, by what a bundle brings.

    Args:
        failure: the bundle's.
        module: its program.
        results: those of the engine.
    """
    if failure.is_unanswered:
        return "undecided", "it gives results, and nobody had an answer to hold them against"
    standard = jobs.standard_of(failure.engine, failure.reference, failure.policy)
    basis = None
    if failure.bounds is not None:
        basis = with_residuals(Basis(failure.bounds), module, failure.inputs, failure.expected)
    judged = judge(module, failure.inputs, failure.expected, results, standard, basis=basis)
    return judged.verdict, judged.message


def graph_text(module_text: str) -> str:
    """The graph that a program carries, as GraphDef; "" where there is none."""
    if aot.KEY not in module_text:
        return ""
    carried = aot.carried_by(compiler.parse(module_text))
    return "" if carried is None else tf.to_text(carried.graph)


def _bounds(arrays: Sequence[Array], expected: Sequence[Array]) -> tuple[Bounds, ...]:
    """The bounds that a bundle brings; they must fit its results."""
    pairs = list(zip(arrays[::2], arrays[1::2], strict=True))
    shapes = [array.shape for array in expected]
    if [value.shape for value, _ in pairs] != shapes or [error.shape for _, error in pairs] != shapes:
        raise ValueError("bounds.npz does not fit expected.npz")
    return tuple(Bounds(value, np.asarray(error, np.float64)) for value, error in pairs)
