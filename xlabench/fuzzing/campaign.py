"""A campaign: batches of drawn programs in worker processes, and what they found, in one folder.

    campaign.json   what is run: the source of the programs, engines, seed; a campaign is resumed only as it was begun
    support.json    what the source found out beforehand, such as what some engine does not support
    progress.json   cases done, counts, coverage; written after each batch
    findings/       one bundle per distinct finding, and findings.json that lists them
    results.json    the summary (`--json` prints the same)

Where programs come from is a `Source`: they are made up (`xlabench.fuzzing.fuzz`), or made of others
(`xlabench.fuzzing.mutate`).

A batch counts as done only when its findings are bundled, so a campaign that is killed loses none and repeats at most
the batches that were running.  Case N of a seed is the same program whatever the batches and workers.

Drawing, running and following up share the time of a call.  What is found and not followed up by then is kept as it is,
and is the first thing that the next call takes up (`Findings.cut_short`); so is a batch that takes longer still.

What fails of our own in one program is a finding too (`own_failures`), and the campaign goes on with the next.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from xlabench import atomic
from xlabench.diagnosis.budget import Budget
from xlabench.errors import BenchError
from xlabench.fuzzing.case_failure import CaseFailure
from xlabench.fuzzing.config import Config
from xlabench.fuzzing.deadline import Deadline
from xlabench.fuzzing.finding import Finding
from xlabench.fuzzing.findings import Findings
from xlabench.fuzzing.own_failures import OwnFailure, attempt, is_full
from xlabench.fuzzing.progress import BATCH, Progress
from xlabench.fuzzing.support_probe import SupportProbe
from xlabench.fuzzing.worker_pool import PRELOAD, Done, WorkerPool

_IDENTITY = "campaign.json"


class Source(Protocol):
    """Where a campaign's programs come from."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """What makes two campaigns with the same engines and seed different ones."""

    def support(self, config: Config, support_probe: SupportProbe) -> Any:
        """What is to be known before anything is drawn, as JSON; watched workers may be asked."""

    def beforehand(self, config: Config, support: Any) -> Iterable[CaseFailure | OwnFailure]:
        """What went wrong before anything was drawn."""

    def size(self, support: Any) -> int | None:
        """How many programs can be drawn, None where there is always another one."""

    def drawing(self, config: Config, support: Any) -> dict[str, Any]:
        """What a worker draws by: `drawer`, a function as `module:function`, and what that takes."""

    def narrowed(self, config: Config, support: Any, unreduced: CaseFailure, budget: Budget) -> CaseFailure:
        """A finding, yet `unreduced`, with less of what is known, by `config` and `support`, not to matter.

        Raises:
            OutOfTime: that takes longer than the `budget` allows.
        """

    def coverage(self, progress: Progress, support: Any) -> dict[str, Any]:
        """What was reached of what can be."""


Observe = Callable[[Progress, Sequence[Finding], Mapping[str, Any]], None]
Narrowing = Callable[[CaseFailure, Budget], CaseFailure]
Interruptible = Callable[[], AbstractContextManager[Callable[[], bool]]]
"""Within it programs are drawn, until what it gives says that an end is wanted."""


def _unobserved(_answered: int, _questions: int) -> None:
    pass


def _uninterrupted() -> AbstractContextManager[Callable[[], bool]]:
    return nullcontext(lambda: False)


def run(
    config: Config,
    source: Source,
    folder: Path,
    *,
    observe: Observe,
    asked: Callable[[int, int], None] = _unobserved,
    interruptible: Interruptible = _uninterrupted,
) -> dict[str, Any]:
    """Run or resume a campaign; returns the summary, and raises BenchError where its folder cannot be written.

    Args:
        config: what it runs.
        source: where its programs come from.
        folder: of a campaign that is to go on, or a new one.
        observe: is told what is done, found and reached, after each batch.
        asked: is told how many of how many questions are answered that come before the first program.
        interruptible: may ask for an end after the batches at hand; a `KeyboardInterrupt` gives those up.
    """
    _make(folder)
    try:
        with atomic.alone_in(folder):
            begun = _begin(config, source, folder, asked)
            is_interrupted = _draw(begun, observe, interruptible)
            return _summary(begun, is_interrupted=is_interrupted)
    except OSError as error:
        if not is_full(error):
            raise
        raise BenchError(f"{folder}: the campaign cannot go on: {error}; make room, and run it again") from error


def _make(folder: Path) -> None:
    """Make the folder where it is not there, and know before anything runs that it is one for a campaign."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        atomic.require_writable(folder / _IDENTITY)
    except OSError as error:
        reason = "there is a file" if isinstance(error, FileExistsError) else error.strerror
        message = f"{folder}: no place for a campaign: {reason}; give a new folder, where you may write"
        raise BenchError(message) from error
    if not (folder / _IDENTITY).exists() and any(file.name != atomic.LOCK for file in folder.iterdir()):
        raise BenchError(f"{folder}: holds something else; give a new folder for the campaign")


@dataclass(slots=True)
class _Campaign:
    """What is run, what is known beforehand, and what came of it so far."""

    config: Config
    source: Source
    folder: Path
    support: Any
    progress: Progress
    found: Findings


def _begin(config: Config, source: Source, folder: Path, asked: Callable[[int, int], None]) -> _Campaign:
    progress = _open(config, source, folder)
    found = Findings(
        folder / "findings",
        max_probes=config.max_probes,
        timeout_s=config.timeout_s,
        factory=config.factory,
        memory_bytes=config.memory_bytes,
    )
    support = _support(config, source, folder, asked)
    for left in (*folder.glob(".batches-*"), *folder.glob("findings/.bundle-*")):  # by a run that was killed
        shutil.rmtree(left, ignore_errors=True)
    return _Campaign(config, source, folder, support, progress, found)


def _draw(begun: _Campaign, observe: Observe, interruptible: Interruptible) -> bool:
    """Run what is not done; returns whether it was interrupted, of which what is stored then is the result."""
    with interruptible() as wants_an_end:
        deadline = begun.found.deadline = Deadline.after(begun.config.budget_s, wants_an_end)
        try:
            if begun.source.size(begun.support) != 0:
                _run(begun, observe, deadline)
            else:
                _take_up(begun)
        except KeyboardInterrupt:
            begun.progress = _progress(begun.folder)
            return True
        return wants_an_end()


def _take_up(begun: _Campaign) -> None:
    """Follow up what an earlier call had no time for, and what went wrong beforehand; workers draw meanwhile."""
    for cut_short in begun.found.cut_short:
        if begun.found.deadline.is_over:
            break
        with begun.found.reopened(cut_short) as left:
            _take(begun, Done((), begun.folder, unreduced=[left]), narrow=_narrowing(begun))
    known = {number for finding in begun.found.all for number in finding.cases}
    for one in begun.source.beforehand(begun.config, begun.support):
        if one.number in known:
            continue
        early = Done((), begun.folder)
        early.add(one)
        _take(begun, early, narrow=_as_it_is)


def _narrowing(begun: _Campaign) -> Narrowing:
    return partial(begun.source.narrowed, begun.config, begun.support)


def _run(begun: _Campaign, observe: Observe, deadline: Deadline) -> None:
    config, source, support, progress, found = begun.config, begun.source, begun.support, begun.progress, begun.found
    begin, before = time.monotonic(), progress.elapsed_s
    observe(progress, found.all, source.coverage(progress, support))
    with (
        tempfile.TemporaryDirectory(prefix=".batches-", dir=begun.folder) as scratch,
        WorkerPool(config, source.drawing(config, support), scratch) as worker_pool,
    ):
        worker_pool.start(_pending(config, source.size(support), progress, deadline))
        _take_up(begun)
        for done in worker_pool.batches(deadline):
            _take(begun, done, narrow=_narrowing(begun))
            progress.finish(done.cases)
            progress.elapsed_s = before + time.monotonic() - begin
            _write(begun.folder / "progress.json", progress.to_json())
            shutil.rmtree(done.folder)
            observe(progress, found.all, source.coverage(progress, support))


def _take(begun: _Campaign, done: Done, narrow: Narrowing) -> None:
    """Follow up what went wrong, keep it as findings, and count the cases.

    Where following it up fails, that is a finding, and the case is kept as it is.
    """
    found = begun.found
    for unreduced in done.unreduced:
        for narrowing in (narrow, None):
            step = f"{'following up' if narrowing else 'keeping'} the verdict {unreduced.verdict} of {unreduced.engine}"
            added = attempt(
                partial(found.add, unreduced, narrow=narrowing), unreduced.number, step, unreduced.module_text
            )
            if not isinstance(added, OwnFailure):
                break
            done.own.append(added)
    for failure in done.own:
        found.add_own(failure, begun.source.drawing(begun.config, begun.support))
    done.count_own()
    for record in done.records.values():
        begun.progress.add(record)


def _summary(begun: _Campaign, *, is_interrupted: bool) -> dict[str, Any]:
    progress = begun.progress
    summary = {
        "config": {**asdict(begun.config), **begun.source.identity},
        "interrupted": is_interrupted,
        "cases": progress.cases,
        "instructions_per_case": progress.instructions / progress.cases if progress.cases else 0.0,
        "elapsed_s": progress.elapsed_s,
        "cases_per_s": progress.cases / progress.elapsed_s if progress.elapsed_s else 0.0,
        "cases_per_s_and_core": progress.rate_per_core(),
        "seconds": dict(progress.seconds),
        "cases_per_s_by_stage": {
            stage: progress.cases / spent for stage, spent in progress.seconds.items() if spent > 0
        },
        "verdicts": dict(progress.verdicts),
        "variants": dict(progress.variants),
        "telling": progress.telling(),
        "coverage": {**progress.reach(), **begun.source.coverage(progress, begun.support)},
        "findings": [asdict(finding) for finding in begun.found.all],
    }
    _write(begun.folder / "results.json", summary)
    return summary


def _open(config: Config, source: Source, folder: Path) -> Progress:
    """The campaign of a folder, begun where there is none."""
    identity = {"engines": list(config.engines), "seed": config.seed, **source.identity}
    stored = folder / _IDENTITY
    if not stored.exists():
        _write(stored, identity)
        return Progress()
    known = atomic.stored(stored, _as_it_is, "give a new folder")
    if known != identity:
        raise BenchError(f"{folder}: holds another campaign, {known}; give a new folder, or resume that one")
    return _progress(folder)


def _progress(folder: Path) -> Progress:
    stored = folder / "progress.json"
    if not stored.exists():
        return Progress()
    return atomic.stored(stored, Progress.from_json, "remove it, and all its cases are run again")


def _pending(
    config: Config, size: int | None, progress: Progress, deadline: Deadline
) -> Iterator[tuple[int, list[int]]]:
    """What is not done of batches, until the count is reached or all are, the time is up or somebody wants an end."""
    counts = [count for count in (config.count, size) if count is not None]
    most = min(counts) if counts else None
    batch = 0
    while most is None or batch * BATCH < most:
        if deadline.is_over:
            return
        last = (batch + 1) * BATCH if most is None else min((batch + 1) * BATCH, most)
        cases = list(range(batch * BATCH + progress.done.get(batch, 0), last))
        if cases:
            yield batch, cases
        batch += 1


def _support(config: Config, source: Source, folder: Path, observe: Callable[[int, int], None]) -> Any:
    """What the source wants to know beforehand, found out once per campaign."""
    stored = folder / "support.json"
    if not stored.exists():
        support_probe = SupportProbe(config.workers, config.memory_bytes, PRELOAD, observe)
        _write(stored, source.support(config, support_probe))

    def used(support: Any) -> Any:
        source.drawing(config, support)
        source.coverage(Progress(), support)
        return support

    return atomic.stored(stored, used, "remove it, and it is found out again")


def _as_it_is(content: Any, _budget: Budget | None = None) -> Any:
    return content


def _write(path: Path, content: Any) -> None:
    atomic.write(path, (json.dumps(content, indent=1, sort_keys=True) + "\n").encode())
