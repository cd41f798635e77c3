"""From a case that went wrong to the smallest program that does, and who is to blame for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import compiler
from xlabench.diagnosis import blame
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.checks import settle
from xlabench.diagnosis.probe import Prober, Setup
from xlabench.diagnosis.reduce import reduce
from xlabench.judging.tolerance import Array


@dataclass(frozen=True, slots=True)
class Triaged:
    """A reduced case with what its engine, maybe with its checks on, made of it; `cause` is the blame's signature."""

    engine: str
    verdict: str
    module_text: str
    inputs: Sequence[Array]
    expected: Sequence[Array]
    actual: Sequence[Array]
    message: str
    cause: str
    probes: int


def triage(setup: Setup, module_text: str, inputs: Sequence[Array], *, max_probes: int) -> Triaged | None:
    """Reduce a case for as long as it fails alike for the same reason; None where it does not fail here.

    It may fail otherwise here than where it was found: what reads or writes where it must not depends on what is there.
    """
    case = Case(compiler.parse(module_text), tuple(inputs))
    with Prober(setup) as prober:
        judgement = settle([prober], case)
        if not judgement.is_failure:
            return None
        found = blame.find(prober, case, judgement, in_detail=False)
        done = reduce(
            case,
            lambda candidate: blame.same_cause(prober, candidate, found),
            prober.record,
            max_probes=max_probes,
            focus=[found.place],
        )
        final = prober.judge(done.case)
        if final.is_failure and found.stage in blame.DETAILED:  # of a kernel less is left than was blamed at first
            found = blame.find(prober, done.case, final)
        return Triaged(
            prober.setup.engine,
            judgement.verdict,
            done.case.text(),
            done.case.inputs,
            final.expected,
            final.actual,
            final.message,
            found.signature,
            done.probes,
        )
