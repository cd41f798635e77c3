"""`xlabench reduce`: the smallest program with the same failure."""

from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from xlabench import atomic
from xlabench.bundles import bundle
from xlabench.commands.examples import examples
from xlabench.commands.target import Target, load, new_folder, target_options
from xlabench.diagnosis import blame
from xlabench.diagnosis.blame import Blame
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.checks import settle
from xlabench.diagnosis.moves import instruction_count
from xlabench.diagnosis.probe import Judgement, Prober, require_failure
from xlabench.diagnosis.reduce import Progress, Reduction, reduce
from xlabench.diagnosis.triage import shrink
from xlabench.errors import BenchError


@dataclass(frozen=True, slots=True)
class Result:
    """A reduction, and what it kept: the failure and who is to blame, or the exit status of a command."""

    reduction: Reduction
    kept: str
    saved: bundle.Saved | None = None


_EXAMPLES = """
xlabench reduce failure.zip --workers 2
    the same verdict with the same culprit, by fewer instructions
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
def command(**options: Any) -> None:
    """Find the smallest program that fails as FILE or BUNDLE does, with the same culprit.

    With --script anything that takes HLO text can be reduced for: a program is kept if CMD ends with the same exit
    status, not 0, as it does on FILE.
    """
    target = load(options)
    out = options["out"] or target.path.with_name(f"{target.path.stem}.reduced")
    report = (lambda _: None) if options["as_json"] else _report
    with ExitStack() as stack:
        # The script is asked elsewhere; then one prober records values.
        count = 1 if options["script"] else options["workers"]
        probers = [stack.enter_context(Prober(target.setup)) for _ in range(count)]
        if options["script"]:
            result = _by_script(target, probers[0], options, report)
        else:
            result = _by_engine(target, probers, options, report, out)
    case = result.reduction.case
    if result.saved is None:
        atomic.write(new_folder(out) / "reduced.hlo", case.text().encode())
    if options["as_json"]:
        click.echo(json.dumps(_to_json(target, result, out)))
        return
    click.echo(case.text())
    state = "" if result.saved is None else f" ({'verified' if result.saved.verified else result.saved.message})"
    stopped = "; stopped for want of probes, see --max-probes" if result.reduction.exhausted else ""
    count, probes = instruction_count(case.module), result.reduction.probes
    click.echo(f"{count} instructions after {probes} probes{stopped}; keeps {result.kept}; written to {out}{state}")


def _report(progress: Progress) -> None:
    click.echo(f"{progress.probes:4} {progress.move}: {progress.instructions} instructions", err=True)


def _by_engine(target: Target, probers: Sequence[Prober], options: dict[str, Any], report: Any, out: Path) -> Result:
    judgement, prober = settle(probers, target.case), probers[0]
    require_failure(judgement)
    found = None if options["any_cause"] else blame.find(prober, target.case, judgement, in_detail=False)
    small = shrink(probers, target.case, judgement, found, max_probes=options["max_probes"], report=report)
    kept = small.found.signature if small.found else judgement.verdict
    settled = replace(target, setup=prober.setup)
    return Result(small.reduction, kept, _save(settled, small.reduction.case, small.final, small.found, out))


def _save(target: Target, case: Case, judgement: Judgement, found: Blame | None, out: Path) -> bundle.Saved:
    cause = f"; {found.signature}" if found else ""
    failure = bundle.Failure(
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
        original=None if case is target.case else bundle.Original(target.case.text(), target.case.inputs),
    )
    return bundle.save(failure, out, timeout_s=target.setup.timeout_s)


def _by_script(target: Target, prober: Prober, options: dict[str, Any], report: Any) -> Result:
    with tempfile.TemporaryDirectory(prefix="xlabench-reduce-") as folder:
        files = [Path(folder) / f"candidate-{number}.hlo" for number in range(options["workers"])]
        wanted = _status(target.case, files[0], options)
        if wanted == 0:
            raise BenchError(
                f"--script: {options['script']!r} ends with 0 on {target.path}: there is no failure to keep"
            )

        def is_bad(file: Path, case: Case) -> bool:
            return _status(case, file, options) == wanted

        predicates = [partial(is_bad, file) for file in files]
        done = reduce(target.case, predicates, prober.record, max_probes=options["max_probes"], report=report)
    return Result(done, "the time-out" if wanted is None else f"exit status {wanted}")


def _status(case: Case, file: Path, options: dict[str, Any]) -> int | None:
    """How the script ends on a program; None if it does not end."""
    file.write_text(case.text(), encoding="utf-8")
    arguments = [*shlex.split(options["script"]), str(file)]
    try:
        done = subprocess.run(arguments, capture_output=True, timeout=options["timeout"], check=False)
    except subprocess.TimeoutExpired:
        return None
    except OSError as error:
        raise BenchError(f"--script {options['script']!r}: cannot be run: {error.strerror}") from error
    return done.returncode


def _to_json(target: Target, result: Result, out: Path) -> dict[str, Any]:
    reduction = result.reduction
    return {
        "file": str(target.path),
        "out": str(out),
        "kept": result.kept,
        "instructions": instruction_count(reduction.case.module),
        "probes": reduction.probes,
        "exhausted": reduction.exhausted,
        "verified": result.saved.verified if result.saved else None,
        "text": reduction.case.text(),
        "history": [[step.move, step.probes, step.instructions] for step in reduction.history],
    }
