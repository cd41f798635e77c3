"""What a campaign's worker is asked to do: run a batch of drawn programs on all engines, or probe what one supports.

Each case leaves a line in a file for each thing that becomes known of it, and says what it is about to do before it
does it; so when an engine takes the process along, all that was known is kept and the guilty one is known too.  What
goes wrong is left in a folder of its own with everything that a bundle needs.  Of engines every exception is an answer;
any other is of our own, and the stage tells in which step of which case.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np

import compiler
from xlabench import atomic
from xlabench.engines import Engine, Program, build, execute, is_simulated
from xlabench.engines.spec import split_spec
from xlabench.errors import verdict_of
from xlabench.fuzzing import described, generate, patients
from xlabench.fuzzing.generate import Case
from xlabench.fuzzing.own_failures import kept_in
from xlabench.fuzzing.reached import Keeper, keys_of
from xlabench.jobs import differing, engine_of, flakiness, same_bytes, standard_of, write_arrays
from xlabench.judging.differ import Agreement, compare
from xlabench.judging.judge import judge
from xlabench.judging.tolerance import EXACTLY, Array, TolerancePolicy
from xlabench.survival import US
from xlabench.worker import Say

_LEAST = ("bitwise", "within", "undecided", "unsupported")
FINE = frozenset(_LEAST)
_LONGEST_KEY = 80
_CALLS_IN_SIMULATOR = 2  # one of which takes longer than all that a processor makes
_ON = "@"
_REPEATED_EVERY = 6
_TRACED_EVERY = 8  # the passes run once more for their rewrites only


@dataclass(slots=True)
class Answer:
    """One engine's verdict on one case; `kind` is that of the inputs with which it came.

    `held` are the engine's own arrays, of which `actual` may be a copy.
    """

    verdict: str
    message: str = ""
    key: str = ""
    actual: Sequence[Array] = field(default_factory=list)
    kind: str = ""
    held: Sequence[Array] = field(default_factory=list)


def batch(arguments: dict[str, Any], say: Say) -> dict[str, Any]:
    """Run cases by number; their records go to `records.jsonl` in the folder that is given."""
    draw = drawer_of(arguments["drawing"])
    baseline, corpus = _Baseline(), arguments["drawing"].get("corpus")
    keeper = Keeper(Path(corpus["folder"])) if corpus else None
    made = cache(partial(engine_of, arguments["factory"]))
    folder = Path(arguments["folder"])
    with (folder / "records.jsonl").open("a", encoding="utf-8") as records:
        if records.tell():  # behind what another process may not have come to the end of
            records.write("\n")
        for number in arguments["numbers"]:
            say(f"{number}  generate")
            begin = time.perf_counter()
            case = draw(number)
            drawing_s = time.perf_counter() - begin
            engines = {spec: made(case.on(spec)) for spec in arguments["engines"]}
            run = _run_case(case, engines, folder, baseline, say, keeper)
            for part in chain([described.made_of(case, drawing_s)], run):
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
        self._results: dict[tuple[str, str], Sequence[Array] | None] = {}

    def expected(self, case: Case, kind: str) -> Sequence[Array]:
        """What the reference says of the inputs of a kind, of the original where there is one."""
        inputs = case.given(kind)
        if case.original is None:
            return compiler.interpret(case.module, *inputs)
        known = self._of(case)
        if ("", kind) not in known:
            known["", kind] = compiler.interpret(case.original, *inputs)
        found = known["", kind]
        assert found is not None, "the reference evaluates what is drawn"
        return found

    def is_met(self, case: Case, kind: str, subject: Engine, actual: Sequence[Array]) -> bool:
        """Whether results are those of the original on the same engine, bit for bit."""
        if case.original is None:
            return False
        known = self._of(case)
        if (subject.spec, kind) not in known:
            try:
                program = build(subject, case.original)
                known[subject.spec, kind] = execute(subject, program, case.given(kind)).results
            except Exception:  # noqa: BLE001 - the original is a case of its own, where this is found
                known[subject.spec, kind] = None
        before = known[subject.spec, kind]
        return before is not None and compare(before, actual).agreement is Agreement.BITWISE

    def _of(self, case: Case) -> dict[tuple[str, str], Sequence[Array] | None]:
        if self._original is not case.original:
            self._original, self._results = case.original, {}
        return self._results


def _run_case(
    case: Case, engines: Mapping[str, Engine], folder: Path, baseline: _Baseline, say: Say, keeper: Keeper | None
) -> Iterator[dict[str, Any]]:
    """Parts of the record of a case, as they become known; engines by the specs that their variants are of."""
    spent: dict[str, float] = {}
    expected = {}
    with _timed(spent, "reference"):
        for kind, _ in case.calls:
            say(f"{case.number} reference {phase_of('run', kind)}")
            expected[kind] = baseline.expected(case, kind)
    decided = compiler.generate.Decisions()
    for spec, subject in engines.items():
        answer = _Asking(case, spec, subject, expected, baseline, say, spent, decided).answer()
        verdict = [answer.verdict, answer.message.partition("\n")[0], answer.key]
        yield {"verdicts": {spec: verdict}, "seconds": _taken(spent)}
        if answer.verdict not in FINE:
            say(f"{case.number} {US} keep")
            _keep(case, subject.spec, expected[answer.kind], answer, folder)
    say(f"{case.number} {US} judge")
    with _timed(spent, "judging"):
        patients.examine(case)
    say(f"{case.number} {US} telling")
    with _timed(spent, "telling"):
        found = described.told(case, decided)
    yield {**described.shares(found), "tellingly": described.tellingly(decided, found), "seconds": _taken(spent)}
    say(f"{case.number} {US} trace")
    with _timed(spent, "tracing"):
        rules = _rules(case, decided)
    yield {"rules": rules, "ways": sorted(decided.ways), "seconds": _taken(spent)}
    if keeper is not None:
        say(f"{case.number} {US} keep")
        with _timed(spent, "keeping"):
            keeper.look()
            keeper.take(case.module, keys_of(decided), partial(_reaches, list(engines.values())))
        yield {"seconds": _taken(spent)}


def _reaches(engines: Sequence[Engine], module: Any) -> set[str]:
    """What a program comes to on engines; nothing of one that cannot be compiled."""
    with compiler.generate.watching() as decided:
        for subject in engines:
            try:
                build(subject, module)
            except Exception:  # noqa: BLE001 - the case that it is a part of was compiled, and is what is kept then
                return set()
    return keys_of(decided)


def calls_on(spec: str, case: Case) -> list[tuple[str, list[Array]]]:
    """The calls of a program on an engine."""
    return case.calls[: _CALLS_IN_SIMULATOR if is_simulated(spec) else None]


@contextmanager
def _timed(spent: dict[str, float], stage: str) -> Iterator[None]:
    """Add the seconds that something takes to those of a stage."""
    begin = time.perf_counter()
    try:
        yield
    finally:
        spent[stage] = spent.get(stage, 0.0) + time.perf_counter() - begin


def _taken(spent: dict[str, float]) -> dict[str, float]:
    """The seconds by stage since they were taken before."""
    taken = dict(spent)
    spent.clear()
    return taken


def phase_of(phase: str, kind: str) -> str:
    """A phase of the work on a call, in one word, with the kind of its inputs."""
    return f"{phase}{_ON}{kind}" if kind else phase


def kind_in(phase: str) -> tuple[str, str]:
    """The phase without the kind of inputs, and that kind."""
    bare, _, kind = phase.partition(_ON)
    return bare, kind


def _rules(case: Case, decided: compiler.generate.Decisions) -> list[str]:
    """The rules by which engines of ours rewrote a case; now and then those of ours where no engine is."""
    if decided.rules or case.number % _TRACED_EVERY:
        return sorted(decided.rules)
    rewrites = compiler.trace(case.module, compiler.CompileOptions()).rewrites
    return sorted({f"{rewrite.pass_name}: {rewrite.rule}" for rewrite in rewrites})


@dataclass(slots=True)
class _Asking:
    """One engine is asked about one case: it compiles once, and is called with inputs of several kinds.

    `spec` is what the campaign calls the engine, of which `subject` is the variant for the case.
    """

    case: Case
    spec: str
    subject: Engine
    expected: Mapping[str, Sequence[Array]]
    baseline: _Baseline
    say: Say
    spent: dict[str, float]
    decided: compiler.generate.Decisions

    def answer(self) -> Answer:
        """What is wrong first, or the least that can be said of all calls."""
        case, spec = self.case, self.spec
        self.say(f"{case.number} {spec} compile")
        try:
            with _timed(self.spent, f"{spec} compile"), compiler.generate.watching() as decided:
                program = build(self.subject, case.module)
            self.decided.add(decided)
        except Exception as error:  # noqa: BLE001 - whatever an engine raises is a finding about it
            return _raised(error)
        least, answers = Answer("bitwise"), list[Answer]()
        for kind, inputs in calls_on(spec, case):
            found = self._called(program, kind, inputs)
            found.kind = kind
            if found.verdict not in FINE:
                return found
            answers.append(replace(found, actual=[np.array(array) for array in found.actual]))
            answers[-1].held = found.actual
            least = max(least, found, key=lambda one: _LEAST.index(one.verdict))
        return self._repeated(program, answers) or least

    def _repeated(self, program: Program, answers: Sequence[Answer]) -> Answer | None:
        """What it says of an engine that results change while other calls run, or when the first call is made again."""
        for answer in answers:
            if not same_bytes(answer.actual, answer.held):
                return replace(answer, verdict="wrong", message="results changed while another call ran", key="held")
        if not answers or (is_simulated(self.spec) and self.case.number % _REPEATED_EVERY):
            return None
        first = answers[0]
        self.say(f"{self.case.number} {self.spec} {phase_of('run', first.kind)}")
        inputs = self.case.given(first.kind)
        with _timed(self.spent, f"{self.spec} run"):
            found = _otherwise(lambda: execute(self.subject, program, inputs).results, first.actual)
        return replace(found, kind=first.kind) if found else None

    def _called(self, program: Program, kind: str, inputs: list[Array]) -> Answer:
        case, subject, spec, say = self.case, self.subject, self.spec, self.say
        say(f"{case.number} {spec} {phase_of('run', kind)}")
        try:
            with _timed(self.spent, f"{spec} run"):
                called = execute(subject, program, inputs)
        except Exception as error:  # noqa: BLE001 - as of compiling
            return _raised(error)
        if called.changed:
            return Answer("wrong", "changed its inputs", "inputs", called.results)
        if self.baseline.is_met(case, kind, subject, called.results):
            return Answer("bitwise", actual=called.results)
        say(f"{case.number} reference {phase_of('judge', kind)}")
        with _timed(self.spent, "judging"):
            answer = self._judged(kind, inputs, called.results)
        if answer.verdict == "wrong" and split_spec(spec)[0] != "reference":
            say(f"{case.number} {spec} {phase_of('run', kind)}")
            return _otherwise(lambda: execute(subject, program, inputs).results, called.results) or answer
        return answer

    def _judged(self, kind: str, inputs: list[Array], actual: Sequence[Array]) -> Answer:
        expected = self.expected[kind]
        if split_spec(self.subject.spec)[0] == "reference":
            comparison = compare(expected, actual, policy=EXACTLY)
            is_equal = comparison.agreement is Agreement.BITWISE
            return Answer("bitwise" if is_equal else "wrong", comparison.describe(), "", actual)
        standard = standard_of(self.subject.spec, "reference", TolerancePolicy())
        judgement = judge(self.case.module, inputs, expected, actual, standard)
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


def _name_of(number: int, spec: str) -> str:
    """A folder's name for what an engine did to a case; of a spec that says much, its beginning and its hash."""
    name = spec.translate(str.maketrans(":,=/", "----"))
    if len(name) > _LONGEST_KEY:
        name = f"{name[:_LONGEST_KEY]}-{hashlib.sha256(spec.encode()).hexdigest()[:16]}"
    return f"{number}-{name}"


def _keep(case: Case, spec: str, expected: Sequence[Array], answer: Answer, folder: Path) -> None:
    """Leave a finding; its last file says that it is whole."""
    place = folder / _name_of(case.number, spec)
    text = compiler.to_text(case.module)
    entry = {
        "number": case.number,
        "engine": spec,
        "verdict": answer.verdict,
        "message": answer.message,
        "key": answer.key,
        "note": case.noted(answer.kind),
    }
    with kept_in(place):
        place.mkdir(exist_ok=True)
        (place / "module.hlo").write_text(text, encoding="utf-8")
        for name, arrays in (("inputs", case.given(answer.kind)), ("expected", expected), ("actual", answer.actual)):
            write_arrays(place / name, arrays)
        atomic.write(place / "finding.json", json.dumps(entry).encode())
