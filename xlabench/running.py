"""One program on two engines: read it, make its inputs, run both, judge.

Each engine runs in a watched worker, so that one which crashes, hangs or eats memory is a verdict with its last words;
`judge_here` does the same in this process, where a debugger can follow.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import compiler
from xlabench import jobs
from xlabench.bundles import bundle, saving
from xlabench.bundles.bundle import is_bundle
from xlabench.bundles.failure import Failure
from xlabench.cases import inputs, programs
from xlabench.cases.layouts import ALIGNED, LAYOUTS
from xlabench.cases.open_sizes import OpenSizes
from xlabench.engines import Array, Engine, build, engine, execute, info_of
from xlabench.engines.spec import split_spec
from xlabench.errors import VERDICT_EXIT_CODES, BenchError, ExitCode, verdict_of
from xlabench.judging import judge as judging
from xlabench.judging.differ import Comparison
from xlabench.judging.tolerance import TolerancePolicy
from xlabench.repeats import by_layout
from xlabench.worker import Outcome, Worker

_DEFAULT_SEED = 0
_BAD_INPUT = frozenset({"InputError"})
_SAID = frozenset({"CompilerError", "BenchError"})


@dataclass(frozen=True, slots=True)
class Request:
    """The options of the command, as given."""

    file: Path
    engine: str
    reference: str
    module: int | None
    seed: int | None
    inputs: Path | None
    rtol: float | None
    atol: float | None
    fill_elided: int | None
    dump_to: Path | None
    bundle: Path | None
    timeout: float
    wide: bool = True
    twin: bool = False
    signature: str | None = None
    shapes: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """A program with the inputs to run it on; `seed` is None where they come from a file.

    `spelled` is its text where that is known to be read as it stands: an engine may read a number otherwise than we do.
    `layout` names how the engine under test finds its inputs in memory (`xlabench.cases.layouts`).  `notes` say
    what was taken for want of something that was given.
    """

    module: compiler.Module
    arrays: list[Array]
    seed: int | None
    source: str
    policy: TolerancePolicy
    filled: str = ""
    wide: bool = True
    spelled: str = ""
    layout: str = ALIGNED
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """The program as text, which says by itself if values in it are made up."""
        text = self.spelled or compiler.to_text(self.module)
        return f"// {self.filled}\n{text}" if self.filled else text


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of it; there is a comparison unless an engine failed, and then the stage in which it did.

    How the engine `ran` is said by engines that count.
    """

    verdict: str
    message: str
    expected: Sequence[Array] = ()
    actual: Sequence[Array] = ()
    comparison: Comparison | None = None
    stage: str = ""
    ran: str = ""

    @property
    def exit_code(self) -> ExitCode:
        """The exit code that says the verdict."""
        return VERDICT_EXIT_CODES[self.verdict]


@dataclass(frozen=True, slots=True)
class Report:
    """All there is to say: `specs` are those of the engine and the reference, `notes` what was passed over."""

    case: Case
    judgement: Judgement
    specs: tuple[str, str]
    saved: saving.Saved | None
    notes: tuple[str, ...]


def prepare(request: Request) -> Case:
    """Read the program and make its inputs; a bundle brings both."""
    if is_bundle(request.file):
        return _of_bundle(request)
    shapes = OpenSizes.parse(request.shapes)
    module = programs.read(
        request.file, module=request.module, given=request.inputs, signature=request.signature, shapes=shapes
    )
    prepared = _with_inputs(request, module)
    return replace(prepared, notes=shapes.notes)


def _with_inputs(request: Request, module: compiler.Module) -> Case:
    count = compiler.settle_elided(module, request.fill_elided)
    filled = f"{count} elided constants filled from seed {request.fill_elided}" if count else ""
    if request.twin:
        module = compiler.edit.integer_twin(module)
    recipe = None if request.twin else inputs.recipe_beside(request.file)
    policy = TolerancePolicy(request.rtol, request.atol)
    if recipe is not None and policy == TolerancePolicy():
        policy = recipe.policy(module)
    if request.inputs is not None:
        source = f"{request.inputs}{inputs.unused_said(module)}"
        return Case(module, inputs.load_npz(request.inputs, module), None, source, policy, filled)
    if recipe is not None:
        source = str(request.file.with_suffix(".json"))
        arrays = recipe.make(request.seed)
        inputs.check(arrays, module, source=source)
        return Case(module, arrays, recipe.seed if request.seed is None else request.seed, source, policy, filled)
    seed = _DEFAULT_SEED if request.seed is None else request.seed
    return Case(module, inputs.generate(module, seed), seed, "generated", policy, filled)


def _of_bundle(request: Request) -> Case:
    """The bounds are those of the reference that is run now: it may be another."""
    failure = bundle.load(request.file)
    module = compiler.parse(failure.module_text, filename="module.hlo")
    compiler.verify(module)
    policy = TolerancePolicy(request.rtol, request.atol)
    policy = failure.policy if policy == TolerancePolicy() else policy
    arrays, source = list(failure.inputs), str(request.file)
    spelled, layout = failure.module_text, failure.layout
    return Case(module, arrays, failure.seed, source, policy, spelled=spelled, layout=layout)


class SpecInEnvironment(NamedTuple):
    """An engine's spec with what XLA_FLAGS asks for, the folder to dump to ("" for none), and notes."""

    spec: str
    dump_to: str
    notes: tuple[str, ...]


def with_environment(spec: str, environment: Mapping[str, str]) -> SpecInEnvironment:
    """An engine's spec with what XLA_FLAGS asks for.

    The spec says all that changes code, so that a record or a bundle needs no variable to be understood; what it says
    already stays.  XLA reads the variable itself.
    """
    asked = compiler.environment_options(environment)
    name, written = split_spec(spec)
    if name not in ("cpu", "nvptx"):
        return SpecInEnvironment(spec, "", ())
    default = compiler.CompileOptions()
    added = {
        "disable_passes": "+".join(asked.options.disable_passes),
        "opt": "" if asked.options.opt == default.opt else str(asked.options.opt),
        "threads": str(asked.options.threads or "") if name == "cpu" else "",
    }
    merged = {**{key: value for key, value in added.items() if value}, **written}
    items = [f"{key}={value}" if value else key for key, value in merged.items()]
    merged_spec = f"{name}:{','.join(items)}" if items else name
    return SpecInEnvironment(merged_spec, asked.options.dump_to, asked.notes)


def judge_here(case: Case, subject: Engine, reference: Engine) -> Judgement:
    """Run both in this process; an engine that fails is a verdict, an input that is bad is not.

    Args:
        case: the program, its inputs and tolerances.
        subject: the engine that is judged.
        reference: the engine that is believed.
    """
    expected: list[Array] = []
    try:
        expected = execute(reference, build(reference, case.module), case.arrays).results
        program = build(subject, case.spelled or case.module)
        if proven := info_of(program).proven:
            return Judgement("assembled", f"{subject.spec}: {proven}", expected)
        called = execute(subject, program, case.arrays, LAYOUTS[case.layout])
        otherwise = ""
        if case.layout != ALIGNED:
            aligned = execute(subject, program, case.arrays).results
            otherwise = by_layout(case.layout, case.module, called.results, aligned)
    except Exception as error:
        verdict = verdict_of(error)
        if verdict is None:
            raise
        return Judgement(verdict, str(error), expected)
    standard = jobs.standard_of(subject.spec, reference.spec, case.policy, wide=case.wide)
    found = judging.judge(case.module, case.arrays, expected, called.results, standard)
    verdict, message = jobs.of_calls(called.changed, "", found.verdict, found.message, otherwise=otherwise)
    return Judgement(verdict, message, expected, called.results, found.comparison, ran=info_of(program).ran)


def judge_watched(
    case: Case,
    specs: tuple[str, str],
    worker: Worker,
    *,
    timeout_s: float,
    dump_to: str = "",
    factory: str = jobs.ENGINES,
) -> Judgement:
    """Run the reference, then the subject, each for at most so long.

    Args:
        case: the program, its inputs and tolerances.
        specs: the subject's and the reference's.
        worker: the process that runs them.
        timeout_s: seconds for each.
        dump_to: a folder for the subject's dumps, "" for none.
        factory: what makes engines of specs, as module:function.
    """
    subject, reference = specs
    with tempfile.TemporaryDirectory(prefix="xlabench-run-") as folder:
        scratch = Path(folder)
        files = {name: str(scratch / name) for name in ("program", "inputs", "results")}
        jobs.write_program(Path(files["program"]), case.spelled or case.module)
        jobs.write_arrays(Path(files["inputs"]), case.arrays)
        arguments = {**files, "factory": factory, "engine": reference}
        outcome, expected = jobs.evaluated(worker, arguments, timeout_s=timeout_s)
        if expected is None:
            return _without_results(reference, outcome)
        arguments |= {"engine": subject, "dump_to": dump_to, "layout": case.layout}
        outcome, actual = jobs.evaluated(worker, arguments, timeout_s=timeout_s)
        if actual is None:
            return _without_results(subject, outcome, expected)
        asked = jobs.Watched(worker, Path(files["program"]), Path(files["inputs"]), scratch, timeout_s)
        standard = jobs.standard_of(subject, reference, case.policy, wide=case.wide)
        found = judging.judged(expected, actual, standard, asked)
    changed, flaky, otherwise = (outcome.value[name] for name in ("changed_inputs", "flaky", "otherwise"))
    verdict, message = jobs.of_calls(changed, flaky, found.verdict, found.message, otherwise=otherwise)
    return Judgement(verdict, message, expected, actual, found.comparison, ran=outcome.value["ran"])


def _without_results(spec: str, outcome: Outcome, expected: Sequence[Array] = ()) -> Judgement:
    """The verdict on an engine that gave none, with its last words unless its error says all."""
    verdict = jobs.without_results(outcome)
    if verdict == "assembled":
        return Judgement(verdict, f"{spec}: {outcome.value['proven']}", expected)
    names = set(outcome.error.split())
    if names & _BAD_INPUT:
        raise BenchError(f"{spec}: {outcome.message}")
    stage = f" ({outcome.stage})" if outcome.stage else ""
    first = outcome.message or (outcome.error.split() or [outcome.ending])[0]
    last_words = "" if names & _SAID else outcome.output.strip()
    message = "\n".join(filter(None, [f"{spec}{stage}: {first}", last_words]))
    return Judgement(verdict, message, expected, stage=outcome.stage)


def save(request: Request, case: Case, judgement: Judgement, specs: tuple[str, str]) -> saving.Saved | None:
    """Keep a failure, if that was asked for.

    Args:
        request: what was asked for.
        case: the program, its inputs and tolerances.
        judgement: what it shows.
        specs: the subject's and the reference's.
    """
    if request.bundle is None or judgement.exit_code in (ExitCode.FINE, ExitCode.UNDECIDABLE):
        return None
    subject, reference = specs
    failure = Failure(
        module_text=case.text(),
        inputs=case.arrays,
        expected=judgement.expected,
        actual=judgement.actual,
        engine=subject,
        reference=reference,
        seed=case.seed,
        verdict=judgement.verdict,
        message=judgement.message,
        policy=case.policy,
        layout=case.layout,
        is_unanswered=not judgement.expected,
    )
    return saving.save(failure, request.bundle, timeout_s=request.timeout)


def run(request: Request, worker: Worker | None, environment: Mapping[str, str]) -> Report:
    """Run a program on two engines, judge and time it, and bundle a failure; in this process if there is no worker.

    Args:
        request: the command line.
        worker: a watched process; None for this one.
        environment: variables, of which XLA_FLAGS and the like are obeyed.
    """
    spec, dump_to, notes = with_environment(request.engine, environment)
    if request.bundle is not None:
        saving.require_writable(request.bundle)
    dump_to = _writable(Path(dump_to) if request.dump_to is None and dump_to else request.dump_to)
    subject, reference = engine(spec, dump_to=dump_to), engine(request.reference)
    case = replace(prepare(request), wide=request.wide)
    notes = (*notes, *case.notes)
    specs = (subject.spec, reference.spec)
    if worker is None:
        judgement = judge_here(case, subject, reference)
    else:
        judgement = judge_watched(case, specs, worker, timeout_s=request.timeout, dump_to=dump_to)
    try:
        saved = save(request, case, judgement, specs)
    except BenchError as error:  # the verdict is worth more
        return Report(case, judgement, specs, None, (*notes, str(error)))
    return Report(case, judgement, specs, saved, notes)


def _writable(folder: Path | None) -> str:
    if folder is None:
        return ""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BenchError(f"{folder}: cannot be made: {error.strerror}; give another folder to dump to") from error
    return str(folder)
