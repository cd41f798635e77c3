"""How one engine is asked about one program: it compiles once, is called with inputs of several kinds, and is judged.

Of engines every exception is an answer; any other is of our own.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import compiler
from xlabench.cases.inputs import aligned
from xlabench.cases.layouts import ALIGNED, LAYOUTS, Layout
from xlabench.diagnosis.case import Case as Patient
from xlabench.diagnosis.unsound import bounded, told_about
from xlabench.engines import Engine, Program, build, execute, is_complete, is_foreign, is_simulated, may_overlap
from xlabench.engines.spec import split_spec
from xlabench.errors import verdict_of
from xlabench.fuzzing.blocks import BLOCK
from xlabench.fuzzing.case import Call, Case
from xlabench.fuzzing.signature import LAYOUT, key_of, location_of
from xlabench.fuzzing.values import BOUNDARY
from xlabench.jobs import standard_of
from xlabench.judging.bounds import Basis
from xlabench.judging.differ import Agreement, compare
from xlabench.judging.judge import judged
from xlabench.judging.left_open import left_open
from xlabench.judging.needed import Partly, Slices
from xlabench.judging.tolerance import EXACTLY, Array, TolerancePolicy
from xlabench.repeats import differs_at_once, same_bytes, unsteadiness
from xlabench.worker import OnStage

_LEAST = ("bitwise", "within", "undecided", "unsupported")
FINE = frozenset(_LEAST)
_ON, _BLANK = "@", "_"
_REPEATED_EVERY = 6
_NUMBERS_IN_TURN = 3  # those that packs begin with have common factors with the count of calls
_REFERENCE = "reference"
_LAYOUTS = tuple(LAYOUTS)


@dataclass(slots=True)
class Answer:
    """One engine's verdict on one case; `kind` is that of the inputs with which it came, `layout` how these lay.

    `held` are the engine's own arrays, of which `actual` may be a copy.
    """

    verdict: str
    message: str = ""
    key: str = ""
    actual: Sequence[Array] = field(default_factory=list)
    kind: str = ""
    held: Sequence[Array] = field(default_factory=list)
    layout: str = ALIGNED


class _Prepared(NamedTuple):
    """A module, and what evaluates it."""

    module: Any
    run: Callable[..., list[Array]]


class Baseline:
    """What the original of the cases at hand gives on each engine, evaluated once while cases share an original."""

    def __init__(self) -> None:
        self._prepared: _Prepared | None = None
        self._original: Any = None
        self._results: dict[tuple[str, str], Sequence[Array] | None] = {}
        self._slices: dict[int, Slices] = {}

    def slices(self, case: Case) -> Slices:
        """What sets of results are made of; of the cases of a block, which engines are asked about in turn."""
        known = self._slices.get(case.number)
        if known is None or known.whole.module is not case.module:
            if len(self._slices) >= BLOCK:
                self._slices.clear()
            known = self._slices[case.number] = Slices(case.module)
        return known

    def expected(self, case: Case, kind: str) -> Sequence[Array]:
        """What the reference says of the inputs of a kind, of the original where there is one."""
        inputs = case.given(kind)
        if case.original is None:
            if self._prepared is None or self._prepared.module is not case.module:
                self._prepared = _Prepared(case.module, compiler.prepare(case.module))
            return self._prepared.run(*inputs)
        known = self._of(case)
        if ("", kind) not in known:
            known["", kind] = compiler.interpret(case.original, *inputs)
        found = known["", kind]
        assert found is not None, "the reference evaluates what is drawn"
        return found

    def is_met(self, case: Case, kind: str, subject: Engine, actual: Sequence[Array]) -> bool:
        """Whether results are those of the original on the same engine, bit for bit.

        Args:
            case: one that was made by changes to an original.
            kind: of the inputs.
            subject: the engine.
            actual: its results.
        """
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


def call_numbers_on(spec: str, case: Case) -> Sequence[int]:
    """The calls of a program on an engine, by their places: of all of them, or of each in turn.

    One of a simulator takes longer than all that a processor makes, and the reference is what all are held against.
    Kernels that take indices are simulated at the ends of what these are into as well: that is where they differ.
    """
    count = len(case.calls)
    if not (is_simulated(spec) or split_spec(spec)[0] == _REFERENCE):
        return range(count)
    turn = case.number // _NUMBERS_IN_TURN % count
    ends = [n for n, call in enumerate(case.calls) if call.kind == BOUNDARY and case.is_apart and is_simulated(spec)]
    return tuple(dict.fromkeys([turn, *ends]))


@contextmanager
def timed(spent: dict[str, float], stage: str) -> Iterator[None]:
    """Add the seconds of CPU time that something takes to those of a stage."""
    begin = time.process_time()
    try:
        yield
    finally:
        spent[stage] = spent.get(stage, 0.0) + time.process_time() - begin


class Phase(NamedTuple):
    """A phase of the work on a call, with the kind of its inputs, and how these lie in memory."""

    bare: str
    kind: str = ""
    layout: str = ALIGNED


def phase_of(phase: str, kind: str, layout: str = ALIGNED) -> str:
    """A phase of the work on a call, in one word, with the kind of its inputs and their layout."""
    said = [phase, kind, layout.replace(" ", _BLANK)] if layout != ALIGNED else [phase, kind] if kind else [phase]
    return _ON.join(said)


def phase_in(word: str) -> Phase:
    """What the word says for a phase."""
    bare, *more = word.split(_ON)
    kind, layout, *_ = [*more, "", ""]
    return Phase(bare, kind, layout.replace(_BLANK, " ") or ALIGNED)


class Unsound(NamedTuple):
    """That the reference's own results of a call with inputs of a kind break what they are judged by."""

    kind: str
    basis: Basis


@dataclass(slots=True)
class Asking:
    """One engine is asked about one case: it compiles once, and is called with inputs of several kinds.

    `spec` is what the campaign calls the engine, of which `subject` is the variant for the case; `call_numbers` are
    those of the calls that it is asked, by which a case that was part of a pack is asked what the pack was.
    """

    case: Case
    spec: str
    subject: Engine
    expected: Mapping[str, Sequence[Array]]
    baseline: Baseline
    on_stage: OnStage
    spent: dict[str, float]
    decided: compiler.generate.Decisions
    call_numbers: Sequence[int]
    raised: str = ""
    """The verdict on what was raised in the way of results."""
    unsound: Unsound | None = None
    """What results were judged by, where the reference's own break it."""

    @property
    def calls(self) -> list[Call]:
        """The calls that the engine is asked; in place of those that the case does not have stands its last."""
        return [self.case.call(number) for number in self.call_numbers]

    def results(self) -> list[list[Array]] | None:
        """The results of all calls, which nobody has judged; None where anything else comes of one."""
        case, spec = self.case, self.spec
        try:
            program = self._built()
            answers = []
            for kind, inputs in self.calls:
                self.on_stage(f"{case.label} {spec} {phase_of('run', kind)}")
                with timed(self.spent, f"{spec} run"):
                    called = execute(self.subject, program, inputs)
                if called.changed:
                    return None
                answers.append(Answer("", kind=kind, actual=[np.array(array) for array in called.results]))
                answers[-1].held = called.results
        except Exception as error:  # noqa: BLE001 - who asks is told so, and asks again of less
            self.raised = self._raised(error).verdict
            return None
        return None if self._repeated(program, answers) else [list(answer.actual) for answer in answers]

    def _raised(self, error: Exception) -> Answer:
        """What was raised, of an engine that takes all that is generated a refusal, too: that is a hole in it."""
        return raised(error, takes_all=self.case.original is None and is_complete(self.subject.spec))

    def _built(self) -> Program:
        """The program, compiled; what was decided on the way is kept."""
        self.on_stage(f"{self.case.label} {self.spec} compile")
        with timed(self.spent, f"{self.spec} compile"), compiler.generate.watching() as decided:
            program = build(self.subject, self.case.module)
        self.decided.add(decided)
        return program

    def of_results(self, results: Sequence[Sequence[Array]]) -> Answer | None:
        """The least that can be said of results of all calls, however they were come by; None where any is wrong."""
        least = Answer("bitwise")
        for (kind, inputs), actual in zip(self.calls, results, strict=True):
            if _is_equal(self.expected[kind], actual):
                continue
            self.on_stage(f"{self.case.label} reference {phase_of('judge', kind)}")
            with timed(self.spent, "judging"):
                found = self._judged(kind, inputs, actual)
            if found.verdict not in FINE:
                return None
            least = max(least, found, key=lambda one: _LEAST.index(one.verdict))
        return least

    def answer(self) -> Answer:
        """What is wrong first, or the least that can be said of all calls."""
        try:
            program = self._built()
        except Exception as error:  # noqa: BLE001 - whatever an engine raises is a finding about it
            return self._raised(error)
        least, answers = Answer("bitwise"), list[Answer]()
        for kind, inputs in self.calls:
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
        if not answers or (len(self.call_numbers) < len(self.case.calls) and self.case.number % _REPEATED_EVERY):
            return None
        first = answers[0]
        with timed(self.spent, f"{self.spec} run"):
            found = self._made_again(program, first) or self._made_at_once(program, answers)
        return replace(found, kind=first.kind) if found else None

    def _made_at_once(self, program: Program, answers: Sequence[Answer]) -> Answer | None:
        """What it says of an engine that two calls at the same time, mostly of different inputs, disturb each other."""
        if not may_overlap(self.subject.spec):
            return None
        pair = answers[:2] if len(answers) > 1 else [answers[0], answers[0]]
        self.on_stage(f"{self.case.label} {self.spec} {phase_of('run', pair[0].kind)}")
        given = [self.case.given(answer.kind) for answer in pair]
        calls = [partial(self._results_of, program, inputs) for inputs in given]
        try:
            differs = differs_at_once(calls, [answer.actual for answer in pair], left_open(self.case.module))
        except Exception as error:  # noqa: BLE001 - as of the first call
            return self._raised(error)
        said = "answers otherwise while another thread calls it"
        return Answer("flaky", said, "", pair[0].actual) if differs else None

    def _results_of(self, program: Program, inputs: list[Array]) -> Sequence[Array]:
        return execute(self.subject, program, inputs).results

    def _made_again(self, program: Program, first: Answer) -> Answer | None:
        """What it says of an engine that a call gives other results on the same arrays, or where they lie otherwise."""
        inputs = self.case.given(first.kind)

        def again(laid_out: Layout) -> Answer | None:
            return self._otherwise(lambda: execute(self.subject, program, inputs, laid_out).results, first.actual)

        name = ALIGNED if is_foreign(self.subject.spec) else _LAYOUTS[self.case.number % len(_LAYOUTS)]
        self.on_stage(f"{self.case.label} {self.spec} {phase_of('run', first.kind, name)}")
        found = again(LAYOUTS[name])
        if found is None or name == ALIGNED or again(aligned):
            return found
        verdict = "wrong" if found.verdict == "flaky" else found.verdict
        message = f"answers otherwise where its arrays are {name}"
        if verdict != "wrong":
            message = f"{message}: {found.message}"
        return replace(found, verdict=verdict, message=message, key=LAYOUT, layout=name)

    def _called(self, program: Program, kind: str, inputs: list[Array]) -> Answer:
        case, subject, spec, on_stage = self.case, self.subject, self.spec, self.on_stage
        on_stage(f"{case.label} {spec} {phase_of('run', kind)}")
        try:
            with timed(self.spent, f"{spec} run"):
                called = execute(subject, program, inputs)
        except Exception as error:  # noqa: BLE001 - as of compiling
            return self._raised(error)
        if called.changed:
            return Answer("wrong", "changed its inputs", "inputs", called.results)
        if self.baseline.is_met(case, kind, subject, called.results):
            return Answer("bitwise", actual=called.results)
        on_stage(f"{case.label} reference {phase_of('judge', kind)}")
        with timed(self.spent, "judging"):
            answer = self._judged(kind, inputs, called.results)
        if answer.verdict == "wrong" and split_spec(spec)[0] != _REFERENCE:
            on_stage(f"{case.label} {spec} {phase_of('run', kind)}")
            return self._otherwise(lambda: execute(subject, program, inputs).results, called.results) or answer
        return answer

    def _otherwise(self, again: Callable[[], Sequence[Array]], actual: Sequence[Array]) -> Answer | None:
        """What it says of an engine that another call gives other results, or raises; None where it does not."""
        try:
            if same_bytes(actual, again()):
                return None
            rate = unsteadiness(self.case.module, actual, again)
        except Exception as error:  # noqa: BLE001 - as of the first call
            return self._raised(error)
        return Answer("flaky", f"answered the same question differently: {rate}", "", actual) if rate else None

    def _judged(self, kind: str, inputs: list[Array], actual: Sequence[Array]) -> Answer:
        """The verdict on results by the bounds of those that differ, and in one call of each case, of all of them.

        Where all have bounds the reference is held to its own, whether an engine gave anything else or not.
        """
        expected = self.expected[kind]
        if split_spec(self.subject.spec)[0] == _REFERENCE:
            comparison = compare(expected, actual, policy=EXACTLY)
            is_equal = comparison.agreement is Agreement.BITWISE
            return Answer("bitwise" if is_equal else "wrong", comparison.describe(), "", actual)
        standard, needed = standard_of(self.subject.spec, "reference", TolerancePolicy()), frozenset[int]()
        if kind != self.case.call(self.case.number % len(self.case.calls)).kind:
            needed = _different(expected, actual)
        reference = Partly(self.case.module, inputs, needed=needed, slices=self.baseline.slices(self.case))
        with told_about(Patient(self.case.module, tuple(inputs)), bounded):
            judgement = judged(expected, actual, standard, reference)
            if needed and judgement.verdict not in FINE:  # what a finding says rests on everything that is known
                judgement = judged(expected, actual, standard, replace(reference, needed=()))
        if judgement.comparison.basis.flaws:
            self.unsound = Unsound(kind, judgement.comparison.basis)
        return Answer(judgement.verdict, judgement.message, ",".join(map(str, judgement.wrong_results)), actual)


def _is_equal(expected: Sequence[Array], actual: Sequence[Array]) -> bool:
    """Whether results are what was expected to the bit, of which there is nothing to judge."""
    return [one.dtype for one in expected] == [one.dtype for one in actual] and same_bytes(expected, actual)


def _different(expected: Sequence[Array], actual: Sequence[Array]) -> frozenset[int]:
    """The results of which some bit is another than expected; none where they cannot be compared."""
    pairs = list(enumerate(zip(expected, actual, strict=False)))
    if len(expected) != len(actual) or any((e.shape, e.dtype) != (a.shape, a.dtype) for _, (e, a) in pairs):
        return frozenset()
    return frozenset(number for number, (one, other) in pairs if not same_bytes([one], [other]))


def raised(error: Exception, *, takes_all: bool = False) -> Answer:
    """What it says of an engine, which may be one that `takes_all`, that it raised something."""
    verdict = verdict_of(error, takes_all=takes_all) or "compile-error"
    return Answer(verdict, f"{type(error).__name__}: {error}", _key(error))


def _key(error: BaseException) -> str:
    """What of an error stays the same from case to case: where it was raised, and what it says but for names."""
    while error.__cause__ is not None:
        error = error.__cause__
    codes = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    location = location_of([(code.co_filename, code.co_name) for code in codes])
    return key_of(type(error).__name__, location, str(error))
