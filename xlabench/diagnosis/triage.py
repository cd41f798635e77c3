"""From a case that went wrong to the smallest program that does, and who is to blame for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import compiler
from compiler import aot
from xlabench.diagnosis import blame, graph_blame, graph_reduce, witness
from xlabench.diagnosis.blame import Blame
from xlabench.diagnosis.budget import Budget, OutOfTime
from xlabench.diagnosis.case import Case, Recorded
from xlabench.diagnosis.checks import confirm
from xlabench.diagnosis.probe import Judgement, Prober, Setup
from xlabench.diagnosis.reduce import NOBODY, Reduction, Watcher, reduce
from xlabench.graphs.case import GraphCase
from xlabench.judging.tolerance import Array
from xlabench.survival import told_about

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Triaged:
    """A reduced case with what its engine, maybe with its checks on, made of it.

    `cause` is the blame's signature, `source` the lines of the user's files that it comes from, "" where none is known.
    What is `unfinished` is as small as it became before its time was up.
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
    unfinished: bool = False


def triage(
    setup: Setup,
    module_text: str,
    inputs: Sequence[Array],
    *,
    max_probes: int,
    is_known: Callable[[Blame], bool] = lambda _: False,
    budget: Budget | None = None,
) -> Triaged | None:
    """Reduce a case for as long as it fails alike for the same reason; None where it does not fail here.

    It may fail otherwise here than where it was found: what reads or writes where it must not depends on what is there.

    Args:
        setup: the engines, time and memory.
        module_text: the program.
        inputs: its inputs.
        max_probes: questions at most.
        is_known: whether who is to blame has been seen in a case that is as small as they get; this one stays as it is.
        budget: how long engines are asked; that of one finding unless it is given.

    Raises:
        OutOfTime: its time was up before anybody was to blame for it.
    """
    budget = budget or Budget.of_a_finding(setup.timeout_s)
    case = Case(compiler.parse(module_text), tuple(inputs))
    if graph_blame.is_of_graphs(setup.engine):
        return _of_graph(Prober(setup, budget), case, max_probes, is_known)
    case = Case(aot.without_graph(case.module), case.inputs)
    with Prober(setup, budget) as prober:
        judgement = confirm([prober], case)
        if not judgement.is_failure:
            return _of_reference(prober, case, max_probes)
        found = blame.find(prober, case, judgement, in_detail=False)
        small = (
            _as_it_is(case, judgement, found)
            if is_known(found)
            else shrink([prober], case, judgement, found, max_probes=max_probes, watcher=_in_time(budget))
        )
        assert small.found
        done, final, cause = small.reduction, small.final, small.found.signature
        with suppress(OutOfTime):
            cause = witness.cause(prober, done.case, final, small.found, prober.setup.engine)
        return Triaged(
            prober.setup.engine,
            judgement.verdict,
            done.case.text(),
            done.case.inputs,
            final.expected,
            final.actual,
            final.message,
            cause,
            done.probes,
            small.found.source,
            budget.is_spent,
        )


def _in_time(budget: Budget) -> Watcher:
    return Watcher(wants_an_end=lambda: budget.is_spent)


def _if_in_time(ask: Callable[[Asked], Answer], otherwise: Answer) -> Callable[[Asked], Answer]:
    """A question about a smaller case with what counts as its answer where there is no time left to ask.

    Of a predicate that is no: the case at hand is kept.

    Args:
        ask: the question.
        otherwise: that answer.
    """

    def asked(case: Asked) -> Answer:
        try:
            return ask(case)
        except OutOfTime:
            return otherwise

    return asked


def _recorded_in_time(prober: Prober) -> Callable[[Case], Recorded]:
    return _if_in_time(prober.record, Recorded({}, {}, str(OutOfTime())))


def _final(prober: Prober, case: Case, done: Reduction, judgement: Judgement) -> Judgement:
    """What a reduction's result shows, however late it is; what the case did where nothing became smaller.

    Args:
        prober: asks the engine.
        case: what was to be reduced.
        done: the reduction.
        judgement: on the case.
    """
    if done.case is case and done.interrupted:
        return judgement
    with prober.budget.for_the_last():
        return prober.judge(done.case)


def _of_reference(prober: Prober, case: Case, max_probes: int) -> Triaged | None:
    """Of what the reference breaks down with, and with it whoever verifies programs or folds constants by it."""
    bug = prober.bug_of_reference(case)
    if not bug:
        return _of_refused(prober, case)
    budget, predicate = prober.budget, _if_in_time(partial(_has_bug, prober, bug), otherwise=False)
    questions = max_probes if _is_verified(case) else 0
    with budget.for_smaller("compile-error"):
        done = reduce(case, predicate, _recorded_in_time(prober), max_probes=questions, watcher=_in_time(budget))
    with budget.for_the_last():
        judgement = prober.judge(done.case)
    return Triaged(
        prober.setup.engine,
        "compile-error",
        done.case.text(),
        done.case.inputs,
        judgement.expected,
        judgement.actual,
        f"the reference ends with {bug}",
        f"{witness.REFERENCE}/{told_about(bug) or bug}",
        done.probes,
        unfinished=done.interrupted,
    )


def _of_refused(prober: Prober, case: Case) -> Triaged | None:
    """Of a program that was drawn by the rules of its opcodes, and is refused by one: that opcode's is wrong.

    It stays as it is: what is smaller may be refused rightly.
    """
    said, opcode = _refused(case)
    if not opcode and prober.setup.engine == prober.setup.reference:
        said, opcode = prober.refusal_of_reference(case)
    given, cause = (case.text(), case.inputs, (), ()), f"{witness.REFERENCE}/{opcode}"
    return Triaged(prober.setup.engine, "compile-error", *given, said, cause, 0) if opcode else None


def _refused(case: Case) -> tuple[str, str]:
    """The first rule of the language that a program breaks, and the opcode of the instruction; nothing of one."""
    try:
        compiler.verify(case.module)
    except compiler.VerifyError as error:
        opcodes = {"/".join(compiler.edit.id_of(i)): i.opcode for i in case.module.instructions()}
        return next(((one.render(), opcodes[one.where]) for one in error.findings if one.where in opcodes), ("", ""))
    return "", ""


def _has_bug(prober: Prober, bug: str, case: Case) -> bool:
    return prober.bug_of_reference(case) == bug


def _is_verified(case: Case) -> bool:
    """Whether programs can be verified: where that is broken, no candidate of a reduction is known to be one."""
    try:
        compiler.verify(case.module)
    except Exception:  # noqa: BLE001 - whatever it is, the bug that is looked into
        return False
    return True


def _of_graph(asked: Prober, case: Case, max_probes: int, is_known: Callable[[Blame], bool]) -> Triaged | None:
    """Of what a graph shows op by op or in clusters: the graph where it is to blame, else what of it fails alone."""
    with asked as prober:
        setup, budget = prober.setup, prober.budget
        judgement = prober.judge(case)
        if not judgement.is_failure:
            return None
        found = graph_blame.find(prober, case, judgement, in_detail=False)
        if found.is_about_graph:
            small = (
                _as_it_is(case, judgement, found.blame)
                if is_known(found.blame)
                else shrink_graph(prober, case, judgement, found.blame, max_probes=max_probes, watcher=_in_time(budget))
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
                unfinished=budget.is_spent,
            )
    inner = replace(setup, engine=found.engine)
    return triage(inner, found.case.text(), found.case.inputs, max_probes=max_probes, is_known=is_known, budget=budget)


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

    values: Callable[[GraphCase], Mapping[str, Array]] = _if_in_time(partial(graph_blame.values_in, prober), {})
    with prober.budget.for_smaller(judgement.verdict):
        done = graph_reduce.reduce(
            case, _if_in_time(is_bad, otherwise=False), values, max_probes=max_probes, watcher=watcher
        )
    return Shrunk(done, _final(prober, case, done, judgement), found)


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
    predicates = [_if_in_time(partial(is_bad, prober), otherwise=False) for prober in probers]
    values = _recorded_in_time(prober)
    with prober.budget.for_smaller(judgement.verdict):
        done = reduce(case, predicates, values, max_probes=max_probes, focus=focus, watcher=watcher)
    final = _final(prober, case, done, judgement)
    if found and final.is_failure and found.stage in blame.DETAILED:
        # Of a kernel less is left than was blamed at first.
        with suppress(OutOfTime):
            again = blame.find(prober, done.case, final)
            found = replace(again, sources=again.sources or found.sources)  # notes go with a reduction
    return Shrunk(done, final, found)
