"""`xlabench run`: one program, two engines, one verdict; as XLA's `run_hlo_module` does."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import compiler
from xlabench import bundle, inputs, programs
from xlabench.differ import Comparison, ResultDiff, compare
from xlabench.engines import Array, Engine, build, engine, execute
from xlabench.errors import VERDICT_EXIT_CODES, BenchError, ExitCode, verdict_of
from xlabench.tolerance import TolerancePolicy

_DEFAULT_SEED = 0
_FILE_COLUMNS = 140
_HLO_NAMES = {dtype.name: name for name, dtype in inputs.DTYPES.items()}


@dataclass(frozen=True, slots=True)
class Request:
    """The options of the command, as given."""

    file: Path
    engine: str
    reference: str
    seed: int | None
    inputs: Path | None
    rtol: float | None
    atol: float | None
    as_json: bool
    dump_to: Path | None
    bundle: Path | None


@dataclass(frozen=True, slots=True)
class Case:
    """A program with the inputs to run it on; `seed` is None where they come from a file."""

    module: compiler.Module
    arrays: list[Array]
    seed: int | None
    source: str
    policy: TolerancePolicy


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of it; there is a comparison unless an engine failed."""

    verdict: str
    message: str
    expected: list[Array]
    actual: list[Array]
    comparison: Comparison | None = None

    @property
    def exit_code(self) -> ExitCode:
        """The exit code that says the verdict."""
        return VERDICT_EXIT_CODES[self.verdict]


def _number(_context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """Refuse NaN, which no comparison of a range does."""
    if value is not None and math.isnan(value):
        raise click.BadParameter("nan is no bound; give a number from 0 on", param=parameter)
    return value


@click.command(short_help="Run an HLO file on two engines and compare.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--engine", default="cpu", show_default=True, metavar="SPEC", help="The engine under test.")
@click.option("--reference", default="reference", show_default=True, metavar="SPEC", help="The engine that is right.")
@click.option("--seed", type=click.IntRange(0), help="Seed of the inputs.  [default: the recipe's, else 0]")
@click.option("--inputs", type=click.Path(path_type=Path), help="Take the inputs from an .npz file.")
@click.option(
    "--rtol", type=click.FloatRange(0), callback=_number, help="Relative bound.  [default: the recipe's, else by type]"
)
@click.option(
    "--atol", type=click.FloatRange(0), callback=_number, help="Absolute bound.  [default: the recipe's, else by type]"
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option("--dump-to", type=click.Path(path_type=Path), help="Folder for the engine's intermediate forms.")
@click.option("--bundle", type=click.Path(path_type=Path), help="Keep a failure as a repro bundle in this folder.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Run FILE on an engine and on a reference, on the same inputs, and compare the results.

    The inputs come from --inputs, from the recipe FILE.json beside FILE.hlo, or from the seed.
    """
    request = Request(**options)
    subject = engine(request.engine, dump_to=_writable(request.dump_to))
    reference = engine(request.reference)
    case = _prepare(request)
    judgement = _judge(case, subject, reference)
    saved = _save(request, case, judgement, (subject, reference))
    if request.as_json:
        print(json.dumps(_to_json(request, case, judgement, (subject, reference), saved), allow_nan=False))
    else:
        _show(_console(), case, judgement, (subject, reference), saved)
    sys.stdout.flush()
    ctx.exit(judgement.exit_code)


def _writable(folder: Path | None) -> str:
    if folder is None:
        return ""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BenchError(f"{folder}: cannot be made: {error.strerror}; give another folder to dump to") from error
    return str(folder)


def _prepare(request: Request) -> Case:
    """Read the program and make its inputs."""
    module = programs.read(request.file)
    recipe = inputs.recipe_beside(request.file)
    policy = TolerancePolicy(request.rtol, request.atol)
    if recipe is not None and policy == TolerancePolicy():
        policy = recipe.policy(module)
    if request.inputs is not None:
        return Case(module, inputs.load_npz(request.inputs, module), None, str(request.inputs), policy)
    if recipe is not None:
        source = str(request.file.with_suffix(".json"))
        arrays = recipe.make(request.seed)
        inputs.check(arrays, module, source=source)
        return Case(module, arrays, recipe.seed if request.seed is None else request.seed, source, policy)
    seed = _DEFAULT_SEED if request.seed is None else request.seed
    return Case(module, inputs.generate(module, seed), seed, "generated", policy)


def _judge(case: Case, subject: Engine, reference: Engine) -> Judgement:
    """Run both; an engine that fails is a verdict, an input that is bad is not."""
    expected: list[Array] = []
    actual: list[Array] = []
    try:
        expected = execute(reference, build(reference, case.module), case.arrays)
        actual = execute(subject, build(subject, case.module), case.arrays)
    except Exception as error:
        verdict = verdict_of(error)
        if verdict is None:
            raise
        return Judgement(verdict, str(error), expected, actual)
    comparison = compare(expected, actual, policy=case.policy)
    return Judgement(str(comparison.agreement), comparison.describe(), expected, actual, comparison)


def _save(request: Request, case: Case, judgement: Judgement, engines: tuple[Engine, Engine]) -> bundle.Saved | None:
    """Keep a failure, if that was asked for."""
    if request.bundle is None or judgement.exit_code in (ExitCode.FINE, ExitCode.UNDECIDABLE):
        return None
    subject, reference = engines
    failure = bundle.Failure(
        module_text=compiler.to_text(case.module),
        inputs=case.arrays,
        expected=judgement.expected,
        actual=judgement.actual,
        engine=subject.spec,
        reference=reference.spec,
        seed=case.seed,
        verdict=judgement.verdict,
        message=judgement.message,
        policy=case.policy,
    )
    return bundle.save(failure, request.bundle)


def _to_json(
    request: Request, case: Case, judgement: Judgement, engines: tuple[Engine, Engine], saved: bundle.Saved | None
) -> dict[str, Any]:
    comparison = judgement.comparison
    return {
        "file": str(request.file),
        "module": case.module.name,
        "engine": engines[0].spec,
        "reference": engines[1].spec,
        "inputs": case.source,
        "seed": case.seed,
        "rtol": case.policy.rtol,
        "atol": case.policy.atol,
        "verdict": judgement.verdict,
        "exit_code": int(judgement.exit_code),
        "message": judgement.message,
        "elements": comparison.elements if comparison else None,
        "mismatches": comparison.mismatches if comparison else None,
        "results": [_result_json(result) for result in comparison.results] if comparison else [],
        "bundle": {"path": str(saved.path), "verified": saved.verified} if saved else None,
    }


def _result_json(result: ResultDiff) -> dict[str, Any]:
    """Every field, with numbers that JSON does not have as text."""
    fields = {**asdict(result), "agreement": str(result.agreement), "share": result.share}
    fields["worst"] = [{**element, "error": _json_float(element["error"])} for element in fields["worst"]]
    return {key: _json_float(value) if isinstance(value, float) else value for key, value in fields.items()}


def _json_float(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _console() -> Console:
    """A terminal as wide as it is; a file wide enough that no table is folded."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _FILE_COLUMNS)


def _show(
    console: Console, case: Case, judgement: Judgement, engines: tuple[Engine, Engine], saved: bundle.Saved | None
) -> None:
    seed = "" if case.seed is None else f", seed {case.seed}"
    console.print(f"{case.module.name}: {engines[0].spec} against {engines[1].spec}", markup=False)
    console.print(f"inputs: {case.source}{seed}", markup=False, soft_wrap=True)
    if judgement.comparison is not None:
        console.print(_results_table(judgement.comparison))
        for result in judgement.comparison.results:
            if result.worst:
                console.print(_worst_table(result))
    console.print(f"{judgement.verdict}: {judgement.message}", markup=False, soft_wrap=True)
    if saved is not None:
        state = "verified by a replay" if saved.verified else f"not verified: {saved.message}"
        console.print(f"bundle: {saved.path} ({state})", markup=False, soft_wrap=True)


def _results_table(comparison: Comparison) -> Table:
    table = Table("result", "type", "verdict", "wrong", "share", "max abs", "max rel", "max ULP", box=box.SIMPLE_HEAD)
    for result in comparison.results:
        table.add_row(
            str(result.index),
            escape(f"{_HLO_NAMES.get(result.dtype, result.dtype)}[{','.join(map(str, result.shape))}]"),
            str(result.agreement),
            f"{result.mismatches:,} of {result.size:,}",
            f"{result.share:.3%}",
            f"{result.max_abs:.3g}",
            f"{result.max_rel:.3g}",
            "-" if result.max_ulps is None else f"{result.max_ulps:,}",
        )
    return table


def _worst_table(result: ResultDiff) -> Table:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in result.kinds.items())
    table = Table("index", "expected", "actual", "ULP", "kind", box=box.SIMPLE_HEAD, title_justify="left")
    table.title = f"worst of result {result.index} ({kinds})"
    for element in result.worst:
        index = ",".join(map(str, element.index)) or "scalar"
        ulps = "-" if element.ulps is None or element.kind == "nan" else f"{element.ulps:,}"
        table.add_row(index, element.expected, element.actual, ulps, element.kind)
    return table
