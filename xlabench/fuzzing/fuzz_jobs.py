"""What a campaign's worker is asked to do: run a batch of drawn programs on all engines, or probe what one supports.

Each case leaves a line in a file for each thing that becomes known of it, and says what it is about to do before it
does it; so when an engine takes the process along, all that was known is kept and the guilty one is known too.  What
goes wrong is left in a folder of its own with everything that a bundle needs.  Of engines every exception is an answer;
any other is of our own, and the stage tells in which step of which case.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import compiler
from xlabench import atomic
from xlabench.engines import Engine, build, execute
from xlabench.engines.spec import split_spec
from xlabench.errors import verdict_of
from xlabench.fuzzing import generate
from xlabench.fuzzing.generate import Case
from xlabench.fuzzing.own_failures import kept_in
from xlabench.jobs import differing, engine_of, flakiness, same_bytes, standard_of, write_arrays
from xlabench.judging.differ import Agreement, compare
from xlabench.judging.judge import judge
from xlabench.judging.tolerance import EXACTLY, Array, TolerancePolicy
from xlabench.survival import US
from xlabench.worker import Say

FINE = frozenset({"bitwise", "within", "undecided", "unsupported"})
_LONGEST_KEY = 80
_TRACED_EVERY = 8  # the passes run once more for their rewrites only


@dataclass(slots=True)
class Answer:
    """One engine's verdict on one case."""

    verdict: str
    message: str = ""
    key: str = ""
    actual: Sequence[Array] = field(default_factory=list)


def batch(arguments: dict[str, Any], say: Say) -> dict[str, Any]:
    """Run cases by number; their records go to `records.jsonl` in the folder that is given."""
    draw = drawer_of(arguments["drawing"])
    baseline = _Baseline()
    engines = [engine_of(arguments["factory"], spec) for spec in arguments["engines"]]
    folder = Path(arguments["folder"])
    with (folder / "records.jsonl").open("a", encoding="utf-8") as records:
        if records.tell():  # behind what another process may not have come to the end of
            records.write("\n")
        for number in arguments["numbers"]:
            say(f"{number}  generate")
            begin = time.perf_counter()
            case = draw(number)
            drawing_s = time.perf_counter() - begin
            for part in chain([_described(case, drawing_s)], _run_case(case, engines, folder, baseline, say)):
                line = json.dumps({"number": number, **part}) + "\n"
                with kept_in(folder):
                    records.write(line)
                    records.flush()
    return {}


def drawer_of(drawing: Mapping[str, Any]) -> Callable[[int], Case]:
    """What draws cases by number; `drawer` names the function that makes it of the rest."""
    made: Callable[[int], Case] = resolve_name(drawing["drawer"])(drawing)
    return made


def probe(arguments: dict[str, Any], say: Say) -> dict[str, Any]:
    """Which of the pairs of one opcode and an element type an engine does not support.

    The stage says the pair at hand, and the types that were found unsupported before it.
    """
    subject = engine_of(arguments["factory"], arguments["engine"])
    unsupported: list[list[str]] = []
    for opcode, kind in arguments["pairs"]:
        say(" ".join([opcode, kind, *(other for _, other in unsupported)]))
        module = generate.probe_module(opcode, kind)
        if module is None or not _supports(subject, module):
            unsupported.append([opcode, kind])
    return {"unsupported": unsupported}


def _supports(subject: Engine, module: Any) -> bool:
    try:
        build(subject, module)
    except Exception as error:  # noqa: BLE001 - every other failure is the campaign's to find, not the probe's
        return verdict_of(error) != "unsupported"
    return True


class _Baseline:
    """What the original of the cases at hand gives on each engine, evaluated once while cases share an original."""

    def __init__(self) -> None:
        self._original: Any = None
        self._results: dict[str, Sequence[Array] | None] = {}

    def expected(self, case: Case) -> Sequence[Array]:
        """What the reference says, of the original where there is one."""
        if case.original is None:
            return compiler.interpret(case.module, *case.inputs)
        known = self._of(case)
        if "" not in known:
            known[""] = compiler.interpret(case.original, *case.inputs)
        found = known[""]
        assert found is not None, "the reference evaluates what is drawn"
        return found

    def is_met(self, case: Case, subject: Engine, actual: Sequence[Array]) -> bool:
        """Whether results are those of the original on the same engine, bit for bit."""
        if case.original is None:
            return False
        known = self._of(case)
        if subject.spec not in known:
            try:
                known[subject.spec] = execute(subject, build(subject, case.original), case.inputs).results
            except Exception:  # noqa: BLE001 - the original is a case of its own, where this is found
                known[subject.spec] = None
        before = known[subject.spec]
        return before is not None and compare(before, actual).agreement is Agreement.BITWISE

    def _of(self, case: Case) -> dict[str, Sequence[Array] | None]:
        if self._original is not case.original:
            self._original, self._results = case.original, {}
        return self._results


def _described(case: Case, drawing_s: float) -> dict[str, Any]:
    """What is known of a case before it is run."""
    return {
        "instructions": sum(len(c.instructions) for c in case.module.computations),
        "pairs": sorted({f"{i.opcode} {kind}" for i in case.module.instructions() for kind in _types(i)}),
        "changes": list(case.changes),
        "seconds": {"drawing": drawing_s},
    }


def _run_case(
    case: Case, engines: Sequence[Engine], folder: Path, baseline: _Baseline, say: Say
) -> Iterator[dict[str, Any]]:
    """Parts of the record of a case, as they become known."""
    say(f"{case.number} reference run")
    begin = time.perf_counter()
    expected = baseline.expected(case)
    yield {"seconds": {"reference": time.perf_counter() - begin}}
    for subject in engines:
        begin = time.perf_counter()
        answer = _answer(case, subject, expected, baseline, say)
        spent_s = time.perf_counter() - begin
        verdict = [answer.verdict, answer.message.partition("\n")[0], answer.key]
        yield {"verdicts": {subject.spec: verdict}, "seconds": {subject.spec: spent_s}}
        if answer.verdict not in FINE:
            say(f"{case.number} {US} keep")
            _keep(case, subject.spec, expected, answer, folder)
    say(f"{case.number} {US} trace")
    yield {"rules": _rules(case)}


def _types(instruction: Any) -> list[str]:
    """The element types of what an instruction works on, or yields where it has no operands."""
    shapes = [o.shape for o in instruction.operands] or [instruction.shape]
    return [shape.element_type.name for shape in shapes if hasattr(shape, "element_type")]


def _rules(case: Case) -> list[str]:
    if case.number % _TRACED_EVERY:
        return []
    rewrites = compiler.trace(case.module, compiler.CompileOptions()).rewrites
    return sorted({f"{rewrite.pass_name}: {rewrite.rule}" for rewrite in rewrites})


def _answer(case: Case, subject: Engine, expected: Sequence[Array], baseline: _Baseline, say: Say) -> Answer:
    say(f"{case.number} {subject.spec} compile")
    try:
        program = build(subject, case.module)
        say(f"{case.number} {subject.spec} run")
        called = execute(subject, program, case.inputs)
    except Exception as error:  # noqa: BLE001 - whatever an engine raises is a finding about it
        return _raised(error)
    actual = called.results
    if called.changed:
        return Answer("wrong", "changed its inputs", "inputs", actual)
    if baseline.is_met(case, subject, actual):
        return Answer("bitwise", actual=actual)
    say(f"{case.number} reference judge")
    if split_spec(subject.spec)[0] == "reference":
        comparison = compare(expected, actual, policy=EXACTLY)
        is_equal = comparison.agreement is Agreement.BITWISE
        return Answer("bitwise" if is_equal else "wrong", comparison.describe(), "", actual)
    standard = standard_of(subject.spec, "reference", TolerancePolicy())
    judgement = judge(case.module, case.inputs, expected, actual, standard)
    if judgement.verdict == "wrong":
        say(f"{case.number} {subject.spec} run")
        if later := _otherwise(lambda: execute(subject, program, case.inputs).results, actual):
            return later
    return Answer(judgement.verdict, judgement.message, ",".join(map(str, judgement.wrong_results)), actual)


def _otherwise(again: Callable[[], Sequence[Array]], actual: Sequence[Array]) -> Answer | None:
    """What it says of an engine that another call gives other results, or raises something; None where it does not."""
    try:
        if same_bytes(actual, again()):
            return None
        rate = flakiness(differing(actual, again))
    except Exception as error:  # noqa: BLE001 - as of the first call
        return _raised(error)
    return Answer("flaky", f"answered the same question differently: {rate}", "", actual)


def _raised(error: Exception) -> Answer:
    """What it says of an engine that it raised something."""
    return Answer(verdict_of(error) or "compile-error", f"{type(error).__name__}: {error}", _key(error))


def _key(error: BaseException) -> str:
    """What of an error stays the same from case to case: where it was raised, and what it says but for names."""
    while error.__cause__ is not None:
        error = error.__cause__
    place, trace = "", error.__traceback__
    while trace is not None:
        place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_frame.f_code.co_name}"
        trace = trace.tb_next
    words = re.sub(r"\S*[\d%\[{]\S*", "#", str(error).partition("\n")[0])
    return f"{type(error).__name__} in {place}: {words[:_LONGEST_KEY]}"


def _keep(case: Case, spec: str, expected: Sequence[Array], answer: Answer, folder: Path) -> None:
    """Leave a finding; its last file says that it is whole."""
    place = folder / f"{case.number}-{spec.translate(str.maketrans(':,=', '---'))}"
    text = compiler.to_text(case.module)
    entry = {
        "number": case.number,
        "engine": spec,
        "verdict": answer.verdict,
        "message": answer.message,
        "key": answer.key,
        "note": case.note,
    }
    with kept_in(place):
        place.mkdir(exist_ok=True)
        (place / "module.hlo").write_text(text, encoding="utf-8")
        for name, arrays in (("inputs", case.inputs), ("expected", expected), ("actual", answer.actual)):
            write_arrays(place / name, arrays)
        atomic.write(place / "finding.json", json.dumps(entry).encode())
