"""What a worker process is asked to do: evaluate a program on one engine, or time engines side by side.

Arguments and answers are JSON; arrays travel through files.  A job says which stage it enters before it enters it, so
that a crash or a hang, which leaves no answer, still has a place: `load`, `compile`, `run`, `measure`.

The results go to a file before anything judges them, and whoever judges is another process: an engine that writes out
of bounds cannot touch what it is compared with.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import compiler
from xlabench.cases import inputs, programs
from xlabench.cases.layouts import ALIGNED, LAYOUTS
from xlabench.engines import Program, call, decisions_of, info_of, launch_models_of, liberties
from xlabench.engines.spec import split_spec
from xlabench.judging import bounds, residuals
from xlabench.judging.excuses import Answer
from xlabench.judging.judge import Here, Standard
from xlabench.judging.tolerance import TolerancePolicy
from xlabench.repeats import by_layout, same_bytes, unsteadiness
from xlabench.timing import measure
from xlabench.worker import OnStage, Outcome

Array = NDArray[Any]

ENGINES = "xlabench.engines:engine"
CANARIES = "xlabench.timing.canary:subjects"
CLOCK = "time:perf_counter"
_EVALUATE = "xlabench.jobs:evaluate"
_REPEAT_BELOW_S = 1.0  # a slower program is not run a second time only to see whether it repeats itself
_BUSY = 0.25
_CONSTANTS = ".constants"
"""Ends the name of the file beside a program that holds its long arrays, of which the text says only the shapes."""
_CANARY = "canary "  # before the names of canaries, which no spec of an engine can begin with
_UNDECIDABLE = frozenset({"UnsupportedError", "Undecidable"})
ENDINGS: Mapping[str, str] = {"died": "crash", "timeout": "timeout"}
"""The verdicts on what somebody else had to end."""


def evaluate(arguments: dict[str, Any], on_stage: OnStage) -> dict[str, Any]:
    """Run a program once on an engine, and again where that is cheap; write the results of the first call.

    What its kernels take of a GPU, what a model says of their launches, and the digest of what the compiler decided,
    where these are known, are written to `kernels`, `launches` and `decisions`, if they are given, before it is run.

    The answer says how long things took, what the engine says of how it `ran`, and what it did that no engine may:
    change its inputs, answer the same question differently, or answer otherwise where arrays lie in the `layout` that
    may be given.  Of a program that cannot be run it says what is `proven`, and there are no results.
    """
    on_stage("load")
    source, made = _load(arguments)
    on_stage("compile")
    begin = time.perf_counter()
    dump_to = arguments.get("dump_to", "")
    options = {"dump_to": dump_to} if dump_to else {}
    program = engine_of(arguments["factory"], arguments["engine"], **options).compile(source)
    compiled = time.perf_counter()
    facts = info_of(program)
    if "kernels" in arguments:
        Path(arguments["kernels"]).write_text(json.dumps([asdict(kernel) for kernel in facts.kernels]))
    if "decisions" in arguments:
        Path(arguments["decisions"]).write_text(decisions_of(program))
    if "launches" in arguments:
        models = [asdict(model) for model in launch_models_of(program)]
        Path(arguments["launches"]).write_text(json.dumps(models))
    if facts.proven:
        return {"proven": facts.proven, "compile_s": compiled - begin}
    on_stage("run")
    layout = arguments.get("layout", ALIGNED)
    laid_out = LAYOUTS[layout]
    called = call(program, made, laid_out)
    results, ran = called.results, info_of(program).ran
    write_arrays(Path(arguments["results"]), results)
    is_asked_once = called.seconds > _REPEAT_BELOW_S or called.changed
    repeats = is_asked_once or same_bytes(results, call(program, made, laid_out).results)
    flaky = "" if repeats else unsteadiness(module_of(source), results, lambda: call(program, made, laid_out).results)
    return {
        "compile_s": compiled - begin,
        "run_s": called.seconds,
        "ran": ran,
        "changed_inputs": called.changed,
        "flaky": flaky,
        "otherwise": ""
        if layout == ALIGNED
        else by_layout(layout, module_of(source), results, call(program, made).results),
    }


class Asked(Protocol):
    """Who does jobs in a process that is watched."""

    def run(self, job: str, arguments: Mapping[str, Any], *, timeout_s: float) -> Outcome:
        """Do one to its end, whatever that is.

        Args:
            job: the function, as `module:name`.
            arguments: its arguments, which JSON can hold.
            timeout_s: seconds after which it is ended.
        """

    def stop(self) -> None:
        """End the process and all it started."""


def evaluated(
    worker: Asked, arguments: Mapping[str, Any], *, timeout_s: float, job: str = _EVALUATE
) -> tuple[Outcome, list[Array] | None]:
    """Ask a worker for an evaluation; returns how it ended, and the results where it has left some to compare.

    A process whose memory was written over may answer all the same: results that cannot be read are a crash.

    Args:
        worker: who is asked.
        arguments: those of the job.
        timeout_s: seconds that it has.
        job: the job, `evaluate` unless it is another.
    """
    outcome = worker.run(job, arguments, timeout_s=timeout_s)
    if outcome.ending != "answered" or "proven" in outcome.value:
        return outcome, None
    try:
        return outcome, read_arrays(Path(arguments["results"]))
    except (ValueError, KeyError) as error:
        worker.stop()
        return Outcome("died", "run", message=f"what it left as results cannot be read: {error}"), None


def is_refusal(outcome: Outcome) -> bool:
    """Whether an engine says that it does not take the program, in words for whoever gave it."""
    return outcome.ending == "raised" and not _UNDECIDABLE.isdisjoint(outcome.error.split())


def without_results(outcome: Outcome, *, takes_all: bool = False) -> str:
    """The verdict on an engine that gave none, from how and where it ended; one that only assembles has done all.

    An engine that is said to take all that it is asked about may refuse nothing.
    """
    if outcome.ending == "answered":
        return "assembled"
    if outcome.ending != "raised":
        return ENDINGS[outcome.ending]
    if is_refusal(outcome):
        return "compile-error" if takes_all else "unsupported"
    return "compile-error" if outcome.stage.startswith("compile") else "crash"


def of_calls(changed: Sequence[int], flaky: str, verdict: str, message: str, *, otherwise: str = "") -> tuple[str, str]:
    """The verdict and message on an engine's results, unless it did what none may: those say it then.

    Args:
        changed: numbers of the inputs that were changed.
        flaky: how often a second call gave other results, "" for never.
        verdict: on the results.
        message: on the results.
        otherwise: what is said of a call on the same numbers in other memory, "" for nothing.
    """
    if changed:
        return "wrong", f"changed its inputs, numbers {', '.join(map(str, changed))}; {message}"
    if flaky:
        return "flaky", f"a second call gave other results; {flaky}; of the first, {message}"
    if otherwise:
        return "wrong", f"{otherwise}; {message}"
    return verdict, message


def bound(arguments: dict[str, Any], on_stage: OnStage) -> dict[str, Any]:
    """Write values and error bounds of a program's results, by turns; the answer says why there are none.

    Behind them is what residuals hold, which the answer describes.
    """
    on_stage("load")
    source, made = _load(arguments)
    on_stage("run")
    basis = bounds.basis_of(module_of(source), made, read_arrays(Path(arguments["expected"])))
    held, pairs = bounds.packed(basis.bounds or ())
    said, operands = residuals.packed(basis.residuals)
    write_arrays(Path(arguments["results"]), [*pairs, *operands])
    return {
        "reason": basis.reason,
        "rounds": basis.rounds,
        "held": held,
        "residuals": said,
        "flaws": list(basis.flaws.items()),
    }


def excuse(arguments: dict[str, Any], on_stage: OnStage) -> dict[str, Any]:
    """Look for the excuse for what is wrong with an engine's results: `actual`, held against `expected`."""
    on_stage("load")
    source, made = _load(arguments)
    expected, actual, pairs = (read_arrays(Path(arguments[name])) for name in ("expected", "actual", "bounds"))
    given = arguments["standard"]
    standard = Standard(
        TolerancePolicy(**given["policy"]), given["wide"], given["is_ours"], frozenset(given["liberties"])
    )
    on_stage("judge")
    held = bounds.unpacked(arguments["held"], pairs) or None
    basis = bounds.Basis(held, rounds=arguments["rounds"], flaws=dict(arguments["flaws"]))
    return asdict(Here(module_of(source), made).excuse(expected, actual, basis, standard))


def basis_of(outcome: Outcome, results: Path) -> bounds.Basis:
    """What `bound` found, or why it found nothing."""
    if outcome.ending != "answered":
        said = outcome.message or outcome.error.partition(" ")[0] or outcome.ending
        return bounds.Basis(reason=f"wide mode gave no bounds: {said}")
    if outcome.value["reason"]:
        return bounds.Basis(None, outcome.value["reason"], outcome.value["rounds"])
    value, arrays = outcome.value, read_arrays(results)
    count = 2 * sum(value["held"])
    found = bounds.unpacked(value["held"], arrays[:count]) or None
    known = residuals.unpacked(value["residuals"], arrays[count:])
    return bounds.Basis(found, rounds=value["rounds"], residuals=known, flaws=dict(value["flaws"]))


@dataclass
class Watched:
    """The reference in a worker, to be asked about one program beyond its results; it is asked for bounds once.

    `program` and `inputs` are files, beside which it leaves its own; each question takes `timeout_s` at most.
    """

    worker: Asked
    program: Path
    inputs: Path
    folder: Path
    timeout_s: float
    known: bounds.Basis | None = None

    def basis(self, expected: Sequence[Array]) -> bounds.Basis:
        """Bounds of the results by the reference in wide mode, in the watched process."""
        if self.known is None:
            files = self._files(expected=expected) | {"results": str(self.folder / "bounds")}
            outcome = self.worker.run("xlabench.jobs:bound", files, timeout_s=self.timeout_s)
            self.known = basis_of(outcome, Path(files["results"]))
        return self.known

    def excuse(
        self, expected: Sequence[Array], actual: Sequence[Array], basis: bounds.Basis, standard: Standard
    ) -> Answer:
        """Whether other legal runs of the reference differ as much, by trials in the watched process.

        Args:
            expected: the reference's results.
            actual: the engine's.
            basis: the bounds, and whence they come.
            standard: tolerances and liberties.
        """
        held, pairs = bounds.packed(basis.bounds or ())
        arguments: dict[str, Any] = dict(self._files(expected=expected, actual=actual, bounds=pairs))
        arguments["standard"] = asdict(standard) | {"liberties": sorted(standard.liberties)}
        arguments |= {"rounds": basis.rounds, "held": held, "flaws": list(basis.flaws.items())}
        outcome = self.worker.run("xlabench.jobs:excuse", arguments, timeout_s=self.timeout_s)
        if outcome.ending != "answered":
            return Answer(trouble=outcome.message or outcome.ending)
        return Answer(**outcome.value)

    def _files(self, **arrays: Sequence[Array]) -> dict[str, str]:
        """The names of files by what is in them, of which those of arrays are written."""
        for name, some in arrays.items():
            write_arrays(self.folder / f"judged-{name}", some)
        files = {name: str(self.folder / f"judged-{name}") for name in arrays}
        return {"program": str(self.program), "inputs": str(self.inputs), **files}


def standard_of(subject: str, reference: str, policy: TolerancePolicy, *, wide: bool = True) -> Standard:
    """What the results of an engine are held to, when another is believed.

    Args:
        subject: the engine's spec.
        reference: the believed one's.
        policy: tolerances.
        wide: whether the reference's bounds are asked for.
    """
    return Standard(policy, wide, split_spec(reference)[0] == "reference", liberties(subject))


def time_engines(arguments: dict[str, Any], on_stage: OnStage) -> dict[str, Any]:
    """Time engines on one program, and the canaries, all interleaved in this process.

    Clock and canaries are named `module:function`, as the factory is.  The answer has the `series` of the engines, the
    `canaries`, each with its samples in seconds per call, and `doubts`.
    """
    on_stage("load")
    source, made = _load(arguments)
    engines = {}
    for spec in arguments["engines"]:
        on_stage(f"compile {spec}")
        engines[spec] = _bind(engine_of(arguments["factory"], spec).compile(source), made)
    canaries = {f"{_CANARY}{name}": call for name, call in resolve_name(arguments.get("canaries", CANARIES))().items()}
    on_stage("measure")
    busy, own, begin = measure.busy_s(), time.process_time(), time.perf_counter()
    plan, clock = measure.Plan(**arguments["plan"]), resolve_name(arguments.get("clock", CLOCK))
    measured = measure.interleave(engines | canaries, plan=plan, seed=arguments["seed"], clock=clock)
    others_s = measure.busy_s() - busy - (time.process_time() - own)
    others = others_s / (time.perf_counter() - begin)
    doubts = [asdict(doubt) for doubt in measured.doubts if doubt.subject not in canaries]
    if others > _BUSY:
        message = f"other processes kept {others:.1f} CPUs busy meanwhile"
        doubts.append({"kind": "busy-machine", "subject": "", "message": message})
    series = [asdict(one) for one in measured.series]
    return {
        "series": [one for one in series if one["name"] in engines],
        "canaries": [
            {**one, "name": one["name"].removeprefix(_CANARY)} for one in series if one["name"] not in engines
        ],
        "doubts": doubts,
    }


def write_arrays(path: Path, arrays: Sequence[Array]) -> None:
    """Write arrays of any element type: a line of JSON with types and shapes, then the bytes."""
    header = [{"dtype": array.dtype.name, "shape": array.shape} for array in arrays]
    with path.open("wb") as file:
        file.write(json.dumps(header).encode() + b"\n")
        for array in arrays:
            file.write(np.ascontiguousarray(array).tobytes())


def read_arrays(path: Path) -> list[Array]:
    """Read what `write_arrays` wrote."""
    dtypes = {dtype.name: dtype for dtype in inputs.DTYPES.values()}
    arrays = []
    with path.open("rb") as file:
        for entry in json.loads(file.readline()):
            dtype, shape = dtypes[entry["dtype"]], tuple(entry["shape"])
            data = file.read(dtype.itemsize * int(np.prod(shape, dtype=np.int64)))
            arrays.append(np.frombuffer(data, dtype).reshape(shape))
    return arrays


def write_program(path: Path, source: compiler.Module | str) -> None:
    """Write a program for a job: text to the letter, a module as text with its long arrays beside it, as bytes."""
    text, arrays = (source, {}) if isinstance(source, str) else compiler.edit.separate_constants(source)
    path.write_bytes(programs.encoded(text))
    beside = path.with_name(path.name + _CONSTANTS)
    beside.unlink(missing_ok=True)
    if arrays:
        write_arrays(beside, [np.array(list(arrays), np.int64), *arrays.values()])


def read_program(path: Path) -> compiler.Module | str:
    """What `write_program` wrote, or any other program: text to the letter, or a module where arrays are not text."""
    source = programs.as_it_stands(path)
    beside = path.with_name(path.name + _CONSTANTS)
    if not isinstance(source, str) or not beside.exists():
        return source
    numbers, *arrays = read_arrays(beside)
    return compiler.edit.parse_separated(source, dict(zip(numbers.tolist(), arrays, strict=True)))


def module_of(source: compiler.Module | str) -> compiler.Module:
    """The module that a program is."""
    return compiler.parse(source) if isinstance(source, str) else source


def _load(arguments: dict[str, Any]) -> tuple[compiler.Module | str, list[Array]]:
    source = read_program(Path(arguments["program"]))
    return source, [inputs.aligned(array) for array in read_arrays(Path(arguments["inputs"]))]


def engine_of(factory: str, spec: str, **options: str) -> Any:
    """The engine that a factory, named `module:function`, makes of a spec.

    Args:
        factory: a function, as `module:function`.
        spec: of the engine.
        options: that are given to it by name.
    """
    return resolve_name(factory)(spec, **options)


def _bind(program: Program, made: Sequence[Array]) -> measure.Subject:
    return lambda: program(*made)
