"""`xlabench reduce`: the smallest program with the same failure."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from compiler.tf import Graph
from xlabench import atomic
from xlabench.bundles import saving
from xlabench.bundles.failure import Failure, Original
from xlabench.commands.examples import examples
from xlabench.commands.interruption import interruptible
from xlabench.commands.target import Target, load, target_options
from xlabench.diagnosis import blame, graph_blame
from xlabench.diagnosis.blame import Blame
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.checks import confirm
from xlabench.diagnosis.moves import instruction_count
from xlabench.diagnosis.probe import Judgement, Prober, require_failure
from xlabench.diagnosis.reduce import Progress, Reduction, Watcher, reduce
from xlabench.diagnosis.script import Script, script
from xlabench.diagnosis.triage import shrink, shrink_graph
from xlabench.errors import BenchError, ExitCode
from xlabench.graphs.case import GraphCase


@dataclass(frozen=True, slots=True)
class Result:
    """A reduction, and what it kept: the failure and who is to blame, or the exit status of a command.

    The `failure` is that of an engine; of what a command says the program is all there is.
    """

    reduction: Reduction
    kept: str
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """Where the result lies, maybe as a bundle."""

    path: Path
    saved: saving.Saved | None = None


_EXAMPLES = """
xlabench reduce failure.zip --workers 2
    the same verdict with the same culprit, by fewer instructions
xlabench reduce model.pb --engine clusters:on=cpu
    a graph, by fewer nodes
xlabench reduce big.hlo --script 'timeout 60 ./crashes'
    for any other compiler: smallest program with which this ends alike
"""


@click.command(
    name="reduce",
    short_help="Make a failing program as small as it can be.",
    epilog=examples(_EXAMPLES),
)
@target_options
@click.option("--script", metavar="CMD", help="What fails: a command that takes a file of HLO text as last argument.")
@click.option("--any-cause", is_flag=True, help="Keep the verdict only, not who is to blame for it.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the result.  [default: TARGET.reduced]")
@click.option("--max-probes", default=400, show_default=True, type=click.IntRange(1), help="How often to try.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Programs tried at once.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Find the smallest program that fails as FILE or BUNDLE does, with the same culprit.

    FILE may be a graph of TensorFlow's.  On the engines `ops` and `clusters` it is reduced by nodes for as long as the
    graph is to blame, else what of it fails alone, as a program.
    With --script anything that takes HLO text can be reduced for: a program is kept if CMD ends with the same exit
    status, not 0, as it does on FILE.  Ctrl-C ends the search and keeps what it has found (exit code 130); a second one
    ends the command.
    """
    asked = None if options["script"] is None else script(options["script"], options["timeout"])
    target = load(options, is_engine_asked=asked is None)
    out = options["out"] or _beside(target.path)
    (saving.require_writable if asked is None else atomic.require_folder)(out)
    with ExitStack() as stack:
        # The script is asked elsewhere; then one prober records values.
        count = options["workers"] if asked is None else 1
        probers = [stack.enter_context(Prober(target.setup)) for _ in range(count)]
        if asked is None:
            result = _by_engine(target, probers, options, stack)
        else:
            result = _by_script(asked, target, probers[0], options, stack)
        written = _keep(result, out, options)
    if options["as_json"]:
        click.echo(json.dumps(_to_json(target, result, written)))
    else:
        click.echo(f"{_text(result)}\n{_summary(result, written)}")
    ctx.exit(ExitCode.INTERRUPTED if result.reduction.interrupted else ExitCode.FINE)


def _beside(path: Path) -> Path:
    """The folder for the result if none is given; "." and ".." have names only where they lie."""
    named = path if path.stem.strip(".") else path.resolve()
    return named.with_name(f"{named.stem}.reduced")


def _keep(result: Result, out: Path, options: dict[str, Any]) -> Written:
    """Write the result where it was asked for, or where that fails after all elsewhere: it took long to find."""
    try:
        return _write(result, out, options["timeout"])
    except BenchError as error:
        try:
            elsewhere = Path(tempfile.mkdtemp(prefix="xlabench-reduced-")) / out.name
            written = _write(result, elsewhere, options["timeout"])
        except (BenchError, OSError):
            click.echo(result.reduction.case.text(), err=options["as_json"])
            raise error from None
        click.echo(f"xlabench: {error}; it is in {elsewhere}", err=True)
        return written


def _write(result: Result, out: Path, timeout_s: float) -> Written:
    if result.failure is not None:
        return Written(out, saving.save(result.failure, out, timeout_s=timeout_s))
    atomic.write(atomic.new_folder(out) / "reduced.hlo", result.reduction.case.text().encode())
    return Written(out)


def _graph(result: Result) -> Graph | None:
    """The graph that was reduced, where it is one that an engine runs."""
    if result.failure is None or not graph_blame.is_of_graphs(result.failure.engine):
        return None
    found = GraphCase.of(result.reduction.case.module, result.reduction.case.inputs)
    return found.graph if found else None


def _text(result: Result) -> str:
    """The result for people."""
    graph = _graph(result)
    return result.reduction.case.text() if graph is None else f"{graph}\n"


def _summary(result: Result, written: Written) -> str:
    reduction, saved = result.reduction, written.saved
    state = "" if saved is None else f" ({'verified' if saved.verified else saved.message})"
    stopped = "; stopped for want of probes, see --max-probes" if reduction.exhausted else ""
    stopped = "; interrupted" if reduction.interrupted else stopped
    graph = _graph(result)
    size = f"{len(graph.nodes)} nodes" if graph else f"{instruction_count(reduction.case.module)} instructions"
    found = f"{size} after {reduction.probes} probes{stopped}"
    return f"{found}; keeps {result.kept}; written to {written.path}{state}"


def _watcher(options: dict[str, Any], stack: ExitStack, counted: str = "instructions") -> Watcher:
    """Shows successes and what is left; Ctrl-C ends the search with what it has, and pressed again the command."""
    says = "stopping after the probe at hand; Ctrl-C again loses what was found"
    return Watcher(
        _silent if options["as_json"] else partial(_report, counted), stack.enter_context(interruptible(says))
    )


def _silent(_: Progress) -> None:
    pass


def _report(counted: str, progress: Progress) -> None:
    click.echo(f"{progress.probes:4} {progress.move}: {progress.instructions} {counted}", err=True)


def _by_engine(
    target: Target,
    probers: Sequence[Prober],
    options: dict[str, Any],
    stack: ExitStack,
) -> Result:
    judgement, prober = confirm(probers, target.case), probers[0]
    require_failure(judgement)
    if graph_blame.is_of_graphs(prober.setup.engine):
        who = graph_blame.find(prober, target.case, judgement, in_detail=False)
        if who.is_about_graph:
            most, watcher = options["max_probes"], _watcher(options, stack, "nodes")
            small = shrink_graph(prober, target.case, judgement, who.blame, max_probes=most, watcher=watcher)
            settled = replace(target, setup=prober.setup)
            return Result(
                small.reduction, who.blame.signature, _failure(settled, small.reduction.case, small.final, who.blame)
            )
        target = replace(target, case=who.case)
        for one in probers:
            one.setup = replace(one.setup, engine=who.engine)
        judgement = confirm(probers, target.case)
    found = None if options["any_cause"] else blame.find(prober, target.case, judgement, in_detail=False)
    watcher = _watcher(options, stack)
    small = shrink(probers, target.case, judgement, found, max_probes=options["max_probes"], watcher=watcher)
    kept = small.found.signature if small.found else judgement.verdict
    settled = replace(target, setup=prober.setup)
    return Result(small.reduction, kept, _failure(settled, small.reduction.case, small.final, small.found))


def _failure(target: Target, case: Case, judgement: Judgement, found: Blame | None) -> Failure:
    cause = f"; {found.summary}" if found else ""
    return Failure(
        module_text=case.text(),
        inputs=case.inputs,
        expected=judgement.expected,
        actual=judgement.actual,
        engine=target.setup.engine,
        reference=target.setup.reference,
        seed=None,
        verdict=judgement.verdict,
        message=f"{judgement.message}{cause}",
        policy=target.setup.policy,
        original=None if case is target.case else Original(target.case.text(), target.case.inputs),
        layout=target.setup.layout,
        takes_all=target.setup.takes_all,
    )


def _by_script(
    asked: Script,
    target: Target,
    prober: Prober,
    options: dict[str, Any],
    stack: ExitStack,
) -> Result:
    with tempfile.TemporaryDirectory(prefix="xlabench-reduce-") as folder:
        files = [Path(folder) / f"candidate-{number}.hlo" for number in range(options["workers"])]
        wanted = asked.status(target.case, files[0])
        if wanted == 0:
            raise BenchError(
                f"--script: {options['script']!r} ends with 0 on {target.path}: there is no failure to keep"
            )

        def is_bad(file: Path, case: Case) -> bool:
            return asked.status(case, file) == wanted

        predicates = [partial(is_bad, file) for file in files]
        watcher = _watcher(options, stack)
        done = reduce(target.case, predicates, prober.record, max_probes=options["max_probes"], watcher=watcher)
    return Result(done, "the time-out" if wanted is None else f"exit status {wanted}")


def _to_json(target: Target, result: Result, written: Written) -> dict[str, Any]:
    reduction = result.reduction
    return {
        "file": str(target.path),
        "out": str(written.path),
        "kept": result.kept,
        "instructions": instruction_count(reduction.case.module),
        "probes": reduction.probes,
        "exhausted": reduction.exhausted,
        "interrupted": reduction.interrupted,
        "verified": written.saved.verified if written.saved else None,
        "text": reduction.case.text(),
        "history": [[step.move, step.probes, step.instructions] for step in reduction.history],
    }
