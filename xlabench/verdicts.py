"""What came of an engine in a watched worker, as a verdict: of an answer by comparison, of none by how it ended."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xlabench.cases.suite import Variant
from xlabench.jobs import of_calls, without_results
from xlabench.judging.judge import Judgement
from xlabench.results import Verdict
from xlabench.worker import Outcome

_SAID = frozenset({"CompilerError", "BenchError"})  # whose message is all there is to know; others are bugs of ours
_SHOWN_WORST = 3


def of_answer(engine: str, variant: Variant, outcome: Outcome, judgement: Judgement) -> Verdict:
    """What an answer is worth: the judgement, unless the engine did what no engine may.

    Args:
        engine: its spec.
        variant: which program, or form of it, was run.
        outcome: how the process ended.
        judgement: what was said of its results.
    """
    value, comparison = outcome.value, judgement.comparison
    message = "\n".join(filter(None, [_describe(judgement), value["ran"]]))
    verdict, message = of_calls(value["changed_inputs"], value["flaky"], judgement.verdict, message)
    return Verdict(
        engine,
        verdict,
        message,
        reduced=variant.reduced,
        elements=comparison.elements,
        mismatches=comparison.mismatches,
        max_ulp=comparison.max_ulps,
        max_abs=_largest([result.max_abs for result in comparison.results]),
        max_rel=_largest([result.max_rel for result in comparison.results]),
        compile_s=value["compile_s"],
        run_s=value["run_s"],
    )


def _describe(judgement: Judgement) -> str:
    """The sentence, and the worst elements of every result that is wrong."""
    lines = [judgement.message]
    for result in judgement.comparison.results:
        for element in result.worst[:_SHOWN_WORST]:
            ulps = f", {element.ulps:,} ULP apart" if element.ulps is not None else ""
            index = ",".join(map(str, element.index))
            lines.append(f"result {result.index}[{index}]: expected {element.expected}, got {element.actual}{ulps}")
    return "\n".join(lines)


def _largest(values: Sequence[float]) -> float | None:
    """The maximum; None when there is none that is a number, which JSON could not say."""
    finite = [value for value in values if math.isfinite(value)]
    return max(finite) if values and len(finite) == len(values) else None


def of_no_results(engine: str, variant: Variant, outcome: Outcome) -> Verdict:
    """The verdict on an `engine` without results on a `variant`, from its `outcome`; to assemble may be all it does."""
    verdict = without_results(outcome)
    if verdict == "assembled":
        value = outcome.value
        return Verdict(engine, verdict, value["proven"], reduced=variant.reduced, compile_s=value["compile_s"])
    detail = "" if _SAID & set(outcome.error.split()) else outcome.output.strip()
    message = "\n".join(filter(None, [outcome.message, detail]))
    return Verdict(engine, verdict, message, outcome.stage, variant.reduced)
