"""`xlabench nightly`: run a suite on every engine, and leave records, bundles and a report in a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

from reports import changes, report, summary
from reports.report import Report
from xlabench import atomic, nightly
from xlabench.cases.suite import Suite, load_suite
from xlabench.cases.twins import with_twins
from xlabench.commands.engine_lists import FORM, engines_of, engines_option
from xlabench.commands.examples import examples
from xlabench.commands.judging_options import judging_options
from xlabench.commands.progress import bars
from xlabench.database import DATABASE, Records
from xlabench.engines import engine
from xlabench.errors import VERDICT_EXIT_CODES, BenchError, ExitCode, Undecidable
from xlabench.nightly import Config
from xlabench.timing.measure import Plan

_DEFAULT = Config()
_PEER = "xla"
"""The baseline that says most, where it is installed: nobody's change of ours moves it."""
_GRAVEST_FIRST = (
    ExitCode.INTERNAL,
    ExitCode.WRONG,
    ExitCode.CRASH,
    ExitCode.COMPILE_ERROR,
    ExitCode.TIMEOUT,
    ExitCode.BAD_INPUT,
    ExitCode.UNDECIDABLE,
)

_LARGEST_SEED = 2**63 - 1
"""The records keep no larger number."""

_EXAMPLES = """
xlabench nightly --suite smoke --out nightly-out
    the night's run; the next one in this folder says what changed
xlabench nightly --suite smoke --engines "cpu xla" --timed xla cpu --out beside-xla
    our code and XLA's only, with the extra peers
xlabench nightly --suite programs/ --processes 0 --resume --out nightly-out
    a folder of .hlo files, judged only; goes on after a kill
xlabench nightly --suite models/ --engines "cpu ops:on=cpu clusters:on=cpu" --out graphs-out
    a folder with graphs: whole, op by op, in clusters
"""


@click.command(
    short_help="Run a suite on all engines, compare, time, record and report.",
    epilog=examples(_EXAMPLES),
)
@click.option(
    "--suite", "suite_name", required=True, metavar="NAME|DIR", help="A suite by name, or a folder of .hlo and graphs."
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for records, bundles and report.")
@engines_option(note=f"{' '.join(_DEFAULT.engines)}, and {_PEER} where it is installed")
@click.option(
    "--timed",
    nargs=2,
    metavar="BASELINE CANDIDATE",
    help="What the speed-up compares.  "
    f"[default: {' '.join(_DEFAULT.timed)}; where {_PEER} runs too, that is the baseline and the other is also timed]",
)
@click.option(
    "--also-timed",
    multiple=True,
    metavar="SPECS",
    help=f"Engines whose own time is followed too, beside --timed.  {FORM}.",
)
@judging_options(_DEFAULT.timeout_s)
@click.option("--resume", is_flag=True, help="Go on with the run that was interrupted in this folder.")
@click.option("--seed", type=click.IntRange(0, _LARGEST_SEED), help="Seed of the inputs, in place of the recipes' own.")
@click.option(
    "--processes",
    type=click.IntRange(0),
    default=_DEFAULT.processes,
    show_default=True,
    help="Timing processes for each program; 0 times nothing.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=_DEFAULT.plan.rounds,
    show_default=True,
    help="Timing rounds in each process, at most.",
)
@click.option(
    "--twins", is_flag=True, help="Judge also the integer twin of each program, which has to be equal to the bit."
)
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON.")
def command(**options: Any) -> None:
    """Run every program of a suite on every engine: judge, time, record, report.

    Ends with the code of the gravest verdict, and with 1 also where an engine is decidedly slower than in the run of
    the suite before it in the same folder: by its own time, beside canaries that tell how fast the machine is.
    Graphs of TensorFlow's are programs of a suite, too: a GraphDef with NAME.config.pbtxt beside it, or a SavedModel.
    A program that cannot be read is `bad-input`, code 2; the others are run all the same.
    """
    suite = load_suite(options["suite_name"])
    config = _config(options)
    folder: Path = options["out"]
    with atomic.alone_in(atomic.new_folder(folder)), Records(folder / DATABASE) as records:
        if config.twins:
            suite = with_twins(suite, folder / "twins")
        run_id = nightly.begin(records, suite, config, resume=options["resume"])
        with _progress_bar(suite, is_quiet=options["as_json"]) as progress:
            nightly.work(records, run_id, suite, config, folder, progress)
        told = Report.of_run(records, run_id)
        report.write(folder, told.files())
    code = _exit_code(told)
    if options["as_json"]:
        click.echo(json.dumps(_to_json(told, folder, code)))
    else:
        click.echo("\n".join(_to_text(told, folder)))
    click.get_current_context().exit(code)


def _config(options: Mapping[str, Any]) -> Config:
    """The configuration, every engine spec checked and in its normal form."""
    engines = engines_of(options["engines"] or default_engines(), _spec)
    memory = options["memory_limit"]
    return Config(
        engines=engines,
        reference=_spec(options["reference"]),
        timed=timed_of(engines, options["timed"], options["also_timed"]),
        seed=options["seed"],
        timeout_s=options["timeout"],
        processes=options["processes"],
        plan=Plan(rounds=options["rounds"]),
        memory_bytes=memory and memory << 20,
        wide=options["wide"],
        twins=options["twins"],
    )


def default_engines() -> tuple[str, ...]:
    """Ours, and the peer where it is installed."""
    try:
        return (*_DEFAULT.engines, engine(_PEER).spec)
    except Undecidable:
        return _DEFAULT.engines


def timed_of(engines: Sequence[str], asked: Sequence[str] | None, also: Sequence[str]) -> tuple[str, ...]:
    """The baseline, the candidate and what else is timed; the peer is the baseline where nobody asked for another.

    Args:
        engines: those of the night.
        asked: baseline and candidate, None where nobody asked.
        also: what else is timed.

    Raises:
        BenchError: an engine is none of the night's, or its own baseline.
    """
    pair = tuple(map(_spec, asked or ())) or _DEFAULT.timed
    others = list(engines_of(also, _spec, "--also-timed") if also else ())
    if not asked and _PEER in engines:
        pair, others = (_PEER, pair[1]), [*({pair[0]} & set(engines)), *others]
    unknown = [spec for spec in (*pair, *others) if spec not in engines]
    if unknown and (asked or also):
        option = "--timed" if set(unknown) & set(pair) else "--also-timed"
        raise BenchError(f"{option}: {unknown[0]} is none of the engines of this run: {' '.join(engines)}")
    timed = tuple(dict.fromkeys((*pair, *others)))
    if pair[0] == pair[1]:
        raise BenchError(f"--timed {pair[0]} {pair[1]}: an engine is no baseline of itself; give two engines")
    return timed


def _spec(text: str) -> str:
    """The normal form of a spec; an engine that is not installed is found out later, as a verdict."""
    try:
        return engine(text).spec
    except Undecidable:
        return text


@contextmanager
def _progress_bar(suite: Suite, *, is_quiet: bool) -> Iterator[nightly.Progress]:
    """The programs, with the program and step at work; on standard error."""
    columns = (TextColumn("{task.fields[step]:<44}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with bars(*columns, is_quiet=is_quiet) as bar:
        task = bar.add_task("nightly", total=len(suite.programs), step="starting")

        def progress(program: str, step: str) -> None:
            bar.update(task, advance=1 if step == nightly.DONE else 0, step=f"{program}: {step}")

        yield progress


def _exit_code(told: Report) -> ExitCode:
    """The gravest of all verdicts: a wrong result, or a slowdown, before a crash, before what could not be read."""
    codes = {VERDICT_EXIT_CODES[verdict] for verdict in told.summary.counts}
    if told.changes and told.changes.slower:
        codes.add(ExitCode.WRONG)
    return next((code for code in _GRAVEST_FIRST if code in codes), ExitCode.FINE)


def _to_json(told: Report, folder: Path, code: ExitCode) -> dict[str, Any]:
    found = told.summary
    failures = [
        {"program": program.name, **{key: verdict[key] for key in ("engine", "verdict", "message")}}
        for program in found.programs
        for verdict in program.failures
    ]
    return {
        "suite": found.run["suite"],
        "run": found.run["id"],
        "exit_code": int(code),
        **summary.to_json(found),
        "failures": failures,
        "slower": [
            {"program": one.program, "engine": one.engine, "factor": one.factor.estimate}
            for one in (told.changes.slower if told.changes else ())
        ],
        "changes": changes.to_json(told.changes) if told.changes else None,
        "report": str(folder / "index.html"),
        "results": str(folder / "results.json"),
    }


def _to_text(told: Report, folder: Path) -> Iterator[str]:
    found = told.summary
    counts = ", ".join(f"{count} {verdict}" for verdict, count in found.counts.items())
    yield f"{found.run['suite']}: {found.right} of {found.total} verdicts right ({counts})"
    for program in found.programs:
        for verdict in program.failures:
            first = verdict["message"].partition("\n")[0]
            yield f"  {program.name} on {verdict['engine']}: {verdict['verdict']}: {first}"
        yield from (f"  {program.name}: open sizes: {sizes}" for sizes in program.opened.values())
    mean = found.geometric_mean
    if mean:
        count = sum(1 for program in found.programs if program.speedup)
        interval = f"95% interval {mean.low:.2f} to {mean.high:.2f}, {count} programs"
        yield f"speed-up of {found.speedup_of}: geometric mean {mean.estimate:.2f}x ({interval})"
    if told.changes:
        yield f"since run {told.changes.earlier.run['id']}:"
        yield from (f"  {line}" for line in changes.to_text(told.changes))
        if told.changes.slower:
            yield f"{len(told.changes.slower)} of {len(told.changes.times)} times are slower than before"
    yield f"report: {folder / 'index.html'}"
