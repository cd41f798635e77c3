"""From a case that went wrong to the smallest program that does, and who is to blame for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import compiler
from compiler import aot
from xlabench.diagnosis import blame, graph_blame, graph_reduce, witness
from xlabench.diagnosis.blame import Blame
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.checks import confirm
from xlabench.diagnosis.probe import Judgement, Prober, Setup
from xlabench.diagnosis.reduce import NOBODY, Reduction, Watcher, reduce
from xlabench.judging.tolerance import Array

_REDUCING_S = 180.0
"""Seconds after which a case stays as small as it has become: of hundreds of kernels the simulator takes a minute a
question, and a campaign goes on only behind the last."""


@dataclass(frozen=True, slots=True)
class Triaged:
    """A reduced case with what its engine, maybe with its checks on, made of it.

    `cause` is the blame's signature, `source` the lines of the user's files that it comes from, "" where none is known.
    """

    engine: str
    verdict: str
    module_text: str
    inputs: Sequence[Array]
    expected: Sequence[Array]
    actual: Sequence[Array]
    message: str
    cause: str
    probes: int
    source: str = ""


def triage(
    setup: Setup,
    module_text: str,
    inputs: Sequence[Array],
    *,
    max_probes: int,
    is_known: Callable[[Blame], bool] = lambda _: False,
) -> Triaged | None:
    """Reduce a case for as long as it fails alike for the same reason; None where it does not fail here.

    It may fail otherwise here than where it was found: what reads or writes where it must not depends on what is there.

    Args:
        setup: the engines, time and memory.
        module_text: the program.
        inputs: its inputs.
        max_probes: questions at most.
        is_known: whether who is to blame has been seen in a case that is as small as they get; this one stays as it is.
    """
    case = Case(compiler.parse(module_text), tuple(inputs))
    if graph_blame.is_of_graphs(setup.engine):
        return _of_graph(setup, case, max_probes, is_known)
    case = Case(aot.without_graph(case.module), case.inputs)
    with Prober(setup) as prober:
        judgement = confirm([prober], case)
        if not judgement.is_failure:
            return _of_reference(prober, case, max_probes)
        found = blame.find(prober, case, judgement, in_detail=False)
        small = (
            _as_it_is(case, judgement, found)
            if is_known(found)
            else shrink([prober], case, judgement, found, max_probes=max_probes, watcher=_for_a_while())
        )
        assert small.found
        done, final = small.reduction, small.final
        return Triaged(
            prober.setup.engine,
            judgement.verdict,
            done.case.text(),
            done.case.inputs,
            final.expected,
            final.actual,
            final.message,
            witness.cause(prober, done.case, final, small.found, prober.setup.engine),
            done.probes,
            small.found.source,
        )


def _for_a_while() -> Watcher:
    end = time.monotonic() + _REDUCING_S
    return Watcher(wants_an_end=lambda: time.monotonic() > end)


def _of_reference(prober: Prober, case: Case, max_probes: int) -> Triaged | None:
    """Of what the reference breaks down with, and with it whoever verifies programs or folds constants by it."""
    bug = prober.bug_of_reference(case)
    if not bug:
        return None
    predicate = partial(_has_bug, prober, bug)
    questions = max_probes if _is_verified(case) else 0
    done = reduce(case, predicate, prober.record, max_probes=questions, watcher=_for_a_while())
    judgement = prober.judge(done.case)
    return Triaged(
        prober.setup.engine,
        "compile-error",
        done.case.text(),
        done.case.inputs,
        judgement.expected,
        judgement.actual,
        f"the reference ends with {bug}",
        f"reference/{bug}",
        done.probes,
    )


def _has_bug(prober: Prober, bug: str, case: Case) -> bool:
    return prober.bug_of_reference(case) == bug


def _is_verified(case: Case) -> bool:
    """Whether programs can be verified: where that is broken, no candidate of a reduction is known to be one."""
    try:
        compiler.verify(case.module)
    except Exception:  # noqa: BLE001 - whatever it is, the bug that is looked into
        return False
    return True


def _of_graph(setup: Setup, case: Case, max_probes: int, is_known: Callable[[Blame], bool]) -> Triaged | None:
    """Of what a graph shows op by op or in clusters: the graph where it is to blame, else what of it fails alone."""
    with Prober(setup) as prober:
        judgement = prober.judge(case)
        if not judgement.is_failure:
            return None
        found = graph_blame.find(prober, case, judgement, in_detail=False)
        if found.is_about_graph:
            small = (
                _as_it_is(case, judgement, found.blame)
                if is_known(found.blame)
                else shrink_graph(prober, case, judgement, found.blame, max_probes=max_probes, watcher=_for_a_while())
            )
            done, final = small.reduction, small.final
            return Triaged(
                setup.engine,
                final.verdict,
                done.case.text(),
                done.case.inputs,
                final.expected,
                final.actual,
                final.message,
                found.blame.signature,
                done.probes,
            )
    inner = replace(setup, engine=found.engine)
    return triage(inner, found.case.text(), found.case.inputs, max_probes=max_probes, is_known=is_known)


def shrink_graph(
    prober: Prober, case: Case, judgement: Judgement, found: Blame, *, max_probes: int, watcher: Watcher = NOBODY
) -> Shrunk:
    """Reduce a graph for as long as it fails alike for the same reason, or where nobody is blamed, with the verdict.

    Args:
        prober: asks engines about programs.
        case: the program that carries the graph.
        judgement: what it shows.
        found: who is to blame for it.
        max_probes: questions at most.
        watcher: hears of each smaller one.
    """

    def is_bad(candidate: Case) -> bool:
        if found.stage == "engine":
            return prober.judge(candidate).verdict == judgement.verdict
        return graph_blame.same_cause(prober, candidate, found)

    done = graph_reduce.reduce(
        case, is_bad, partial(graph_blame.values_in, prober), max_probes=max_probes, watcher=watcher
    )
    return Shrunk(done, prober.judge(done.case), found)


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A reduction, what the engine made of its result, and who is to blame for that."""

    reduction: Reduction
    final: Judgement
    found: Blame | None


def _as_it_is(case: Case, judgement: Judgement, found: Blame) -> Shrunk:
    return Shrunk(Reduction(case, probes=0, exhausted=False, history=()), judgement, found)


def shrink(
    probers: Sequence[Prober],
    case: Case,
    judgement: Judgement,
    found: Blame | None,
    *,
    max_probes: int,
    watcher: Watcher = NOBODY,
) -> Shrunk:
    """Reduce a case for as long as it fails alike for the same reason, or where nobody is blamed, with the verdict.

    Args:
        probers: ask the engine, at the same time.
        case: what fails.
        judgement: on the case.
        found: who is to blame, None where nobody is.
        max_probes: questions, at most.
        watcher: is told of progress.
    """
    prober = probers[0]

    def is_bad(prober: Prober, candidate: Case) -> bool:
        if found is None:
            return prober.judge(candidate).verdict == judgement.verdict
        return blame.same_cause(prober, candidate, found)

    focus = [found.instruction_id] if found else []
    predicates = [partial(is_bad, prober) for prober in probers]
    done = reduce(case, predicates, prober.record, max_probes=max_probes, focus=focus, watcher=watcher)
    final = prober.judge(done.case)
    if found and final.is_failure and found.stage in blame.DETAILED:
        # Of a kernel less is left than was blamed at first.
        again = blame.find(prober, done.case, final)
        return Shrunk(done, final, replace(again, sources=again.sources or found.sources))  # notes go with a reduction
    return Shrunk(done, final, found)
