"""What a campaign's worker is asked to do: run a batch of drawn programs on all engines, or probe what one supports.

Small programs are compiled together (`xlabench.fuzzing.packs`), and alone where anything is not right then.

Each case leaves a line in a file for each thing that becomes known of it, and says what it is about to do before it
does it; so when an engine takes the process along, all that was known is kept and the guilty one is known too.  What
goes wrong is left in a folder of its own with everything that a bundle needs.  Of engines every exception is an answer;
any other is of our own, and the stage tells in which step of which case.
"""

from __future__ import annotations

import gc
import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from pkgutil import resolve_name
from typing import IO, Any

import compiler
from compiler.generate import Decisions
from xlabench import atomic
from xlabench.engines import Engine, build, calls_functions, is_foreign, is_simulated
from xlabench.errors import verdict_of
from xlabench.fuzzing import blocks, described, generate, packs, patients, seed_order
from xlabench.fuzzing.asking import FINE, Answer, Asking, Baseline, Unsound, call_numbers_on, phase_of, timed
from xlabench.fuzzing.case import Case
from xlabench.fuzzing.graphs.asked import asked as graphs_asked
from xlabench.fuzzing.own_failures import kept_in
from xlabench.fuzzing.packs import Expected
from xlabench.fuzzing.reached import Keeper, keys_of
from xlabench.jobs import engine_of, write_arrays
from xlabench.judging.tolerance import Array
from xlabench.survival import US
from xlabench.worker import OnStage

_LONGEST_KEY = 80
_COLLECTING = 100_000, 5, 5
"""How many objects more there are before cycles are looked for among the new, and how often among the older."""
_TRACED_EVERY = 8  # the passes run once more for their rewrites only


def batch(arguments: dict[str, Any], on_stage: OnStage) -> dict[str, Any]:
    """Run cases by number; their records go to `records.jsonl` in the folder that is given.

    `packs` are numbers in a row that are compiled together, none where that is not said.  Where another process runs
    the same cases on other engines, `is_examined` says which of them asks what has nothing to do with engines.
    """
    corpus = arguments["drawing"].get("corpus")
    folder = Path(arguments["folder"])
    with seldom_collecting(), (folder / "records.jsonl").open("a", encoding="utf-8") as records:
        if records.tell():  # behind what another process may not have come to the end of
            records.write("\n")
        work = _Work(
            drawer_of(arguments["drawing"]),
            arguments["engines"],
            cache(partial(engine_of, arguments["factory"])),
            Keeper(Path(corpus["folder"])) if corpus else None,
            folder,
            records,
            on_stage,
            is_endless=bool(arguments["drawing"].get("packed")),
            is_examined=arguments.get("is_examined", True),
        )
        first_of = {pack[0]: pack for pack in arguments.get("packs", ())}
        done: set[int] = set()
        for number in arguments["numbers"]:
            if number not in done:
                numbers = first_of.get(number, [number])
                done.update(numbers)
                work.unit(numbers)
    return {}


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """Within it cycles of objects are looked for seldom, and not among those that were there before.

    A compiler makes many objects and few cycles; among all modules that are loaded, looking takes a sixth of the time.
    In the end they are looked for once, since what is left then counts as there before from the next batch on.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*_COLLECTING)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.collect()
        gc.unfreeze()


def drawer_of(drawing: Mapping[str, Any]) -> Callable[[int], Case]:
    """What draws cases by number; `drawer` names the function that makes it of the rest."""
    made: Callable[[int], Case] = resolve_name(drawing["drawer"])(drawing)
    return made


def probe(arguments: dict[str, Any], on_stage: OnStage) -> dict[str, Any]:
    """Which of the pairs of one opcode and an element type an engine does not support.

    The stage says the pair at hand, and the types that were found unsupported before it.
    """
    subject = engine_of(arguments["factory"], arguments["engine"])
    unsupported: list[list[str]] = []
    for opcode, kind in arguments["pairs"]:
        on_stage(" ".join([opcode, kind, *(other for _, other in unsupported)]))
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


@dataclass
class _Work:
    """The cases of a batch, and where what is known of them goes.

    Of programs of which there is always another one not all are run by every engine.
    """

    draw: Callable[[int], Case]
    specs: Sequence[str]
    made: Callable[[str], Engine]
    keeper: Keeper | None
    folder: Path
    records: IO[str]
    on_stage: OnStage
    baseline: Baseline = field(default_factory=Baseline)
    spent: dict[str, float] = field(default_factory=dict)
    unsound: dict[int, Unsound] = field(default_factory=dict)
    is_endless: bool = field(default=False, kw_only=True)
    is_examined: bool = field(default=True, kw_only=True)

    def _asked(self, case: Case) -> Sequence[str]:
        if case.ops:
            return graphs_asked(self.specs, case.number)
        if compiler.edit.calls_functions(case.module):
            return [spec for spec in self.specs if calls_functions(spec)]
        if not self.is_endless:
            return self.specs
        every, first = blocks.SIMULATED_EVERY, 0
        if packs.has_many_updates(case) if case.is_apart else packs.is_dear(case):
            every, first = blocks.DEAR_SIMULATED_EVERY, blocks.DEAR_SIMULATED_FROM
        elif case.is_apart:
            every, first = blocks.KERNELS_SIMULATED_EVERY, 0
        if seed_order.is_seed(case.number) and seed_order.is_first(case.number):
            every, first = 1, 0  # a third of the seeds is there for what simulators run
        asked = blocks.asked(self.specs, case.number, simulated_every=every, simulated_from=first)
        if case.is_apart and seed_order.calls_routines(case.module):
            return [spec for spec in asked if not is_simulated(spec)] or asked
        return asked

    def unit(self, numbers: Sequence[int]) -> None:
        """Run cases: one, or those of a pack, and behind it those that are not fit for one."""
        cases = [self._drawn(number) for number in numbers]
        is_foreign_only = all(map(is_foreign, self.specs))
        fit = [case for case in cases if packs.is_fit(case, is_foreign=is_foreign_only)] if len(cases) > 1 else []
        if len(fit) > 1:
            self._run_pack(fit)
        for case in cases:
            if len(fit) < 2 or case not in fit:
                self._run(case)

    def _drawn(self, number: int) -> Case:
        self.on_stage(f"{number}  generate")
        begin = time.process_time()
        case = self.draw(number)
        self._record(case, described.made_of(case, time.process_time() - begin))
        return case

    def _record(self, case: Case, known: Mapping[str, Any]) -> None:
        """Write down what is known of a case, and the seconds since that was done before."""
        seconds = {**known.get("seconds", {}), **self.spent}
        self.spent.clear()
        line = json.dumps({"number": case.number, **known, "seconds": seconds}) + "\n"
        with kept_in(self.folder):
            self.records.write(line)
            self.records.flush()

    def _expected(self, case: Case) -> dict[str, Sequence[Array]]:
        expected = {}
        with timed(self.spent, "reference"):
            for kind, _ in case.calls:
                self.on_stage(f"{case.number} reference {phase_of('run', kind)}")
                expected[kind] = self.baseline.expected(case, kind)
        return expected

    def _asking(
        self, case: Case, spec: str, expected: Expected, decided: Decisions, call_numbers: Sequence[int] | None = None
    ) -> Asking:
        subject = self.made(case.on(spec))
        asked = call_numbers_on(spec, case) if call_numbers is None else call_numbers
        return Asking(case, spec, subject, expected, self.baseline, self.on_stage, self.spent, decided, asked)

    def _take(self, asking: Asking, answer: Answer) -> None:
        """Record the verdict on an engine, and keep what it is about where that is bad."""
        case = asking.case
        if asking.unsound is not None:
            self.unsound[case.number] = asking.unsound
        verdict = [answer.verdict, answer.message.partition("\n")[0], answer.key]
        self._record(case, {"verdicts": {asking.spec: verdict}})
        if answer.verdict not in FINE:
            self.on_stage(f"{case.label} {US} keep")
            _keep(case, asking.subject.spec, asking.expected[answer.kind], answer, self.folder)

    def _run(self, case: Case) -> None:
        """Run a case alone."""
        decided, expected = Decisions(), self._expected(case)
        for spec in self._asked(case):
            asking = self._asking(case, spec, expected, decided)
            self._take(asking, asking.answer())
        self._require_soundness(case)
        if self.is_examined:
            self._examine(case)
            self._describe(case, decided)
            self._keep_new([case], decided)

    def _run_pack(self, cases: Sequence[Case]) -> None:
        """Run cases together, and on engines on which any of them is not right then, each alone."""
        decided = Decisions()
        pack = packs.Pack(packs.pack(cases), cases, [self._expected(case) for case in cases])
        asked = [self._asked(case) for case in cases]
        for spec in self.specs:
            of_spec = [case for case, specs in zip(cases, asked, strict=True) if spec in specs]
            if of_spec:
                less = pack if len(of_spec) == len(cases) else pack.of(of_spec)
                self._ask_pack(less, spec, decided, call_numbers_on(spec, less.case), frozenset())
        for case in cases:
            self._require_soundness(case)
        if not self.is_examined:
            return
        self._record(cases[0], {"rules": sorted(decided.rules), "ways": sorted(decided.ways)})
        for case in cases:
            self._examine(case)
        self._keep_new(cases, decided)

    def _ask_pack(
        self, pack: packs.Pack, spec: str, decided: Decisions, call_numbers: Sequence[int], beside: frozenset[str]
    ) -> frozenset[str]:
        """Ask an engine about a pack, and of one that fails about its halves; returns the verdicts.

        What is wrong in a pack but in no part of it, nor is known of what is `beside` it, is a finding about the pack.
        """
        whole = self._asking(pack.case, spec, pack.whole(), decided, call_numbers)
        calls, verdicts = whole.results(), frozenset[str]()
        if calls is None and (halves := pack.halves()):
            for half in halves:
                verdicts |= self._ask_pack(half, spec, decided, call_numbers, beside | verdicts)
            is_explained = not verdicts <= FINE
        else:
            verdicts, is_explained = self._ask_members(pack, whole, calls)
        if not (is_explained or whole.raised in beside | verdicts):
            asking, answer = self._fewest(pack, whole, decided)
            if answer.verdict not in FINE:
                verdicts |= {answer.verdict}
                self._take(asking, answer)
        return verdicts

    def _ask_members(
        self, pack: packs.Pack, whole: Asking, calls: Sequence[Sequence[Array]] | None
    ) -> tuple[frozenset[str], bool]:
        """The verdicts on the members by the results of the pack, or alone; whether they explain what fails in it."""
        answers = pack.results_of_members(calls) if calls is not None else [None] * len(pack.members)
        verdicts, alone = set[str](), set[str]()
        for case, expected, results in zip(pack.members, pack.expected, answers, strict=True):
            asking = self._asking(case, whole.spec, expected, whole.decided, whole.call_numbers)
            answer = asking.of_results(results) if results is not None else None
            if answer is None:
                answer = asking.answer()
                alone.add(answer.verdict)
            verdicts.add(answer.verdict)
            self._take(asking, answer)
        return frozenset(verdicts), (calls is not None and not alone) or not alone <= FINE

    def _fewest(self, pack: packs.Pack, whole: Asking, decided: Decisions) -> tuple[Asking, Answer]:
        """A pack that fails, without the members that have nothing to do with it, and what it fails by."""
        asking, answer = whole, whole.answer()
        if answer.verdict in FINE:
            return asking, answer
        for member in pack.members:
            less = pack.without(member)
            if less is not None:
                other = self._asking(less.case, whole.spec, less.whole(), decided, whole.call_numbers)
                found = other.answer()
                if found.verdict == answer.verdict:
                    pack, asking, answer = less, other, found
        return asking, answer

    def _require_soundness(self, case: Case) -> None:
        """A failure of our own, once engines have their verdicts: the reference breaks what they were judged by."""
        found = self.unsound.pop(case.number, None)
        if found is not None:
            self.on_stage(f"{case.number} {US} judge")
            patients.require_soundness(case, found.kind, found.basis)

    def _examine(self, case: Case) -> None:
        """Try the judge."""
        self.on_stage(f"{case.number} {US} judge")
        with timed(self.spent, "trying the judge"):
            patients.examine(case)
        self._record(case, {})

    def _describe(self, case: Case, decided: Decisions) -> None:
        self.on_stage(f"{case.number} {US} telling")
        with timed(self.spent, "telling"):
            found = described.told(case, decided)
        self._record(case, {**described.shares(found), "tellingly": described.tellingly(decided, found)})
        self.on_stage(f"{case.number} {US} trace")
        with timed(self.spent, "tracing"):
            rules = _rules(case, decided)
        self._record(case, {"rules": rules, "ways": sorted(decided.ways)})

    def _keep_new(self, cases: Sequence[Case], decided: Decisions) -> None:
        """Keep in the corpus what came to something new; of a pack the program that did is looked for."""
        if self.keeper is None:
            return
        self.on_stage(f"{cases[0].number} {US} keep")
        with timed(self.spent, "keeping"):
            self.keeper.look()
            if len(cases) == 1 or self.keeper.is_new(keys_of(decided)):
                for case in cases:
                    reaches = partial(_reaches, [self.made(case.on(spec)) for spec in self._asked(case)])
                    reached = keys_of(decided) if len(cases) == 1 else reaches(case.module)
                    self.keeper.take(case.module, reached, reaches)
        self._record(cases[0], {})


def _reaches(engines: Sequence[Engine], module: Any) -> set[str]:
    """What a program comes to on engines; nothing of one that cannot be compiled."""
    with compiler.generate.watching() as decided:
        for subject in engines:
            try:
                build(subject, module)
            except Exception:  # noqa: BLE001 - the case that it is a part of was compiled, and is what is kept then
                return set()
    return keys_of(decided)


def _rules(case: Case, decided: Decisions) -> list[str]:
    """The rules by which engines of ours rewrote a case; now and then those of ours where no engine is."""
    if decided.rules or case.number % _TRACED_EVERY:
        return sorted(decided.rules)
    rewrites = compiler.trace(case.module, compiler.CompileOptions()).rewrites
    return sorted({f"{rewrite.pass_name}: {rewrite.rule}" for rewrite in rewrites})


def _name_of(number: int | str, spec: str) -> str:
    """A folder's name for what an engine did to a case; of a spec that says much, its beginning and its hash."""
    name = spec.translate(str.maketrans(":,=/", "----"))
    if len(name) > _LONGEST_KEY:
        name = f"{name[:_LONGEST_KEY]}-{hashlib.sha256(spec.encode()).hexdigest()[:16]}"
    return f"{number}-{name}"


def _keep(case: Case, spec: str, expected: Sequence[Array], answer: Answer, folder: Path) -> None:
    """Leave a finding; its last file says that it is whole."""
    target = folder / _name_of(f"{case.number}-pack" if case.members else case.number, spec)
    text = compiler.to_text(case.module)
    entry = {
        "number": case.number,
        "engine": spec,
        "verdict": answer.verdict,
        "message": answer.message,
        "key": answer.key,
        "note": case.noted(answer.kind),
        "layout": answer.layout,
    }
    with kept_in(target):
        target.mkdir(exist_ok=True)
        (target / "module.hlo").write_text(text, encoding="utf-8")
        for name, arrays in (("inputs", case.given(answer.kind)), ("expected", expected), ("actual", answer.actual)):
            write_arrays(target / name, arrays)
        atomic.write(target / "finding.json", json.dumps(entry).encode())
