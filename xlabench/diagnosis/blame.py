"""Who is to blame: the first program on the way from HLO to machine code that no longer means the same.

That leaving out a pass makes a failure go away proves nothing, since the pass may only bring a later bug to light.  So
every module between passes is run on the reference.  The first that is wrong names the pass; withholding its rewrites
by fuel, one half after the other, names the rewrite.  If all are right the back end is to blame: then each kernel is
run alone on right operands, and what is wrong in the first wrong one is named (`xlabench.diagnosis.kernels`); if none
is, or any with as many results is wrong like it, what joins them is at fault (memory, barriers, control flow).  If the
code is right without LLVM's optimiser, that is to blame, by the number of its pass.

A crash is judged the same way: by the first invalid or wrong module, and if there is none, by the kernel that crashes.
Of a pass that raises it is the first rewrite with which it does.

XLA's own dumps are judged like our modules; those with operations that the reference does not know are passed over, and
named beside the culprit where they stand right before it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import compiler
from compiler import edit
from xlabench.diagnosis import kernels, probe
from xlabench.diagnosis.bisection import nearest
from xlabench.diagnosis.case import Case, derive
from xlabench.diagnosis.checks import checked, is_by_chance, is_right_apart
from xlabench.diagnosis.isolate import Row, examine
from xlabench.diagnosis.probe import FAILURES, Judgement, Passes, PassStep, Prober, require_failure, with_options
from xlabench.judging.wrongness import kind_of

DETAILED = frozenset({"kernel", "llvm"})
"""The stages of which more is known where it is looked for in detail."""
BY_LAYOUT = "input layout"
"""The step that is to blame where only inputs that lie otherwise in memory than a program takes them go wrong."""

_ALL = 2**31 - 1  # more passes than any program has
_SHOWN = 4
_BAD = ("wrong", "invalid")
_KINDS = {"rounding": "near", "reassociation": "near", "special": "special", "zero": "zero"}  # any other is far


@dataclass(frozen=True, slots=True)
class Evidence:
    """One witness: a program or an engine, and its verdict."""

    witness: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Blame:
    """Who is to blame for a failure.

    Attributes:
        stage: `pass`, `kernel`, `program` (what joins kernels), `llvm`, of graphs also `graph_blame`'s, else `engine`.
        step: the pass, or the opcodes of the kernel.
        guilty: of a kernel what in it is to blame, where that was looked into.
        rule: the rule of the rewrite; "" where there is none.
        where: the instruction that the rewrite looked at, or the kernel.
        rewrite: the number of the rewrite in the compilation, 0 where there is none.
        last_good: an engine (or passes with less fuel) that is right.
        first_bad: the nearest one that is wrong.
        diff: what the guilty step changed.
        before: the last module that is right on the reference, where a pass is to blame.
        after: the first that is not.
        evidence: what was asked on the way.
        sources: the lines of the user's files that the guilty instructions come from, as far as the program says them.
        kind: what kind of wrong the results are (`xlabench.judging.wrongness`), where they are; or `probe.REFUSED`.
    """

    stage: str
    step: str
    verdict: str
    rule: str = ""
    where: str = ""
    rewrite: int = 0
    last_good: str = ""
    first_bad: str = ""
    diff: str = ""
    evidence: tuple[Evidence, ...] = field(default=())
    kind: str = ""
    guilty: str = ""
    before: str = ""
    after: str = ""
    sources: tuple[str, ...] = ()

    @property
    def signature(self) -> str:
        """Equal for failures with the same cause."""
        return "/".join(filter(None, [self.stage, self.guilty or self.step, self.rule]))

    @property
    def source(self) -> str:
        """The lines of the user's files for a report, the first few where a step changed what many gave."""
        more = f" and {len(self.sources) - _SHOWN} more" if len(self.sources) > _SHOWN else ""
        return f"{', '.join(self.sources[:_SHOWN])}{more}"

    @property
    def summary(self) -> str:
        """The signature with the lines of the user's files, where they are known."""
        return f"{self.signature} from {self.source}" if self.sources else self.signature

    @property
    def instruction_id(self) -> tuple[str, str]:
        """The instruction of the program that is to blame: its computation and its name."""
        computation, _, name = self.where.partition("/")
        return computation, name


def find(
    prober: Prober,
    case: Case,
    judgement: Judgement | None = None,
    *,
    in_detail: bool = True,
    report: Callable[[Evidence], None] = lambda _: None,
) -> Blame:
    """Find who is to blame for what a `case` shows on a `prober`'s engine, of which the `judgement` may be known.

    `in_detail`: by which of LLVM's passes, a process for each try, or what of a kernel; to `report` goes evidence.
    """
    judgement = judgement or prober.judge(case)
    require_failure(judgement)
    kind = kind_of(judgement.expected, judgement.actual) if judgement.verdict == "wrong" else ""
    kind = probe.REFUSED if judgement.is_refusal else kind
    if prober.is_by_layout(case, judgement):
        return Blame("program", BY_LAYOUT, judgement.verdict, kind=kind)
    passes = prober.passes(case)
    if passes is None:
        return Blame("engine", prober.setup.engine, judgement.verdict, kind=kind)
    search = _Search(prober, case, judgement, in_detail, report, passes)
    found = search.blame()
    sources = _changed(found, search.last_text()) if found.stage == "pass" else found.sources
    return replace(found, evidence=tuple(search.evidence), kind=kind, sources=sources)


@dataclass
class Search:
    """A search for who is to blame for what a case shows.

    Attributes:
        prober: asks engines about programs.
        case: the program and its inputs.
        judgement: what it shows.
        in_detail: whether it is asked what of a pass or a kernel.
        report: hears evidence as it comes.
        evidence: what has come so far.
    """

    prober: Prober
    case: Case
    judgement: Judgement
    in_detail: bool
    report: Callable[[Evidence], None]
    evidence: list[Evidence] = field(default_factory=list, kw_only=True)

    def note(self, witness: str, verdict: str) -> None:
        """Keep what a witness says, and report it."""
        self.evidence.append(Evidence(witness, verdict))
        self.report(self.evidence[-1])


@dataclass
class _Search(Search):
    passes: Passes

    def blame(self) -> Blame:
        """The stages in order."""
        before, unknown = self.case.text(), list[str]()
        for step in self.passes.steps:
            verdict = self._verdict(step.text)
            self.note(f"after {step.name} (pass run {step.number})", verdict)
            if verdict in _BAD:
                found = self._in_pass(before, step)
                return replace(found, where=f"or {', '.join(unknown)}") if unknown and not found.where else found
            if verdict == "right":
                before, unknown = step.text, []
            else:
                unknown.append(step.name)
        if self.passes.broken_pass:
            return self._in_broken_pass()
        if self.passes.is_foreign:
            return Blame("engine", f"{self.prober.setup.engine} behind its passes", self.judgement.verdict, diff=before)
        return self._in_back_end(before)

    def last_text(self) -> str:
        """The last module that a pass left, whether or not the next one raised."""
        return self.passes.steps[-1].text if self.passes.steps else self.case.text()

    def _verdict(self, text: str) -> str:
        """What the reference says of a module between passes."""
        try:
            compiler.verify(compiler.parse(text))
        except compiler.VerifyError:
            return "invalid"
        except compiler.CompilerError:
            return "unknown"
        actual = self.prober.expected_of(text, self.case.inputs)
        if actual is None:
            return "unknown"
        return "right" if self.prober.agrees(self.case, self.judgement.expected, actual) else "wrong"

    def _in_pass(self, before: str, step: PassStep) -> Blame:
        """Find the first rewrite of a pass after which its result is wrong."""
        rewrites = [r for r in self.passes.rewrites if r.pass_name == step.name and r.number <= step.rewrites]
        earlier = [s.rewrites for s in self.passes.steps if s.number < step.number]
        good, bad = max(earlier, default=0), step.rewrites
        found = _between(Blame("pass", step.name, self.judgement.verdict), before, step.text)
        if not rewrites or good >= bad:
            return found
        required = self._wrong_with(good, step)
        if required and self._wrong_with(good, step, required=True):
            return found
        good, bad = nearest(good, bad, lambda fuel: self._wrong_with(fuel, step, required=required))
        texts = [self._text_with(fuel, step, required=required) for fuel in (good, bad)]
        found = _between(self._by_rewrite(found, good, bad), texts[0], texts[1])
        return replace(found, last_good="") if required else found  # an engine has to do what is required

    def _in_broken_pass(self) -> Blame:
        """Find the first rewrite with which a pass raises; what it raised, where it does so without any."""
        name, error = self.passes.broken_pass, self.passes.error
        found = Blame("pass", name, self.judgement.verdict, error.partition(":")[0], diff=error)
        good, bad = max((step.rewrites for step in self.passes.steps), default=0), len(self.passes.rewrites)
        if good >= bad or self._breaks_with(good):
            return found
        return self._by_rewrite(found, *nearest(good, bad, self._breaks_with))

    def _by_rewrite(self, found: Blame, good: int, bad: int) -> Blame:
        guilty = self.passes.rewrites[bad - 1]
        last_good, first_bad = (with_options(self.prober.setup.engine, {"fuel": fuel}) for fuel in (good, bad))
        return replace(
            found, rule=guilty.rule, where=guilty.where, rewrite=bad, last_good=last_good, first_bad=first_bad
        )

    def _breaks_with(self, fuel: int) -> bool:
        passes = self.prober.passes(self.case, engine=with_options(self.prober.setup.engine, {"fuel": fuel}))
        return passes is None or bool(passes.broken_pass)

    def _text_with(self, fuel: int, step: PassStep, *, required: bool = False) -> str:
        """The module after a pass; without fuel even required rewrites are withheld where that is `required`."""
        engine = with_options(self.prober.setup.engine, {"fuel": fuel})
        passes = self.prober.passes(self.case, engine=engine, withhold_required=required)
        return (passes and passes.after(step.number)) or self.case.text()

    def _wrong_with(self, fuel: int, step: PassStep, *, required: bool = False) -> bool:
        return self._verdict(self._text_with(fuel, step, required=required)) in _BAD

    def _in_back_end(self, lowered: str) -> Blame:
        """All modules are right: LLVM, one kernel, or what joins the kernels."""
        spec = self.prober.setup.engine
        plain = checked(with_options(spec, {"opt": "0"}))
        if plain != spec and not self._fails(plain) and not is_by_chance(self.prober, self.case, self.judgement, plain):
            return self._in_llvm(plain)
        final = Case(compiler.parse(lowered), self.case.inputs)
        for row in examine(self.prober, final):
            if row.judgement.is_failure:
                self.note(f"kernel {'/'.join(row.instruction_id)} alone", row.judgement.verdict)
                if is_right_apart(self.prober, row.case, row.judgement, self.note):
                    break
                opened = self._opened(row)
                wrong = self._wrong_inside(opened)
                if self._is_right_without_others(row) or (not wrong and self._is_wrong_where_results_lie(row, opened)):
                    break
                return self._in_kernel(row, wrong or row)
        if alone := self._only_generates(final):
            return self._in_kernel(alone, alone)
        return Blame("program", "memory or control flow", self.judgement.verdict, diff=lowered)

    def _only_generates(self, final: Case) -> Row | None:
        """The one kernel of a program that is given nothing: nothing is joined in it, and alone it is the program."""
        root = final.module.entry.root
        if root.operands or len(list(final.module.instructions())) > 1 or not kernels.opcodes(final.module):
            return None
        shape = str(root.shape)
        return Row(edit.id_of(root), root.opcode, shape, edit.source_of(root), self.judgement, final)

    def _is_right_without_others(self, row: Row) -> bool:
        """Whether a kernel that fails beside an iota, which is a kernel as well, is right where it is given that."""
        others = [edit.id_of(i) for i in row.case.module.entry.instructions if i.opcode == "iota" and not i.is_root]
        if not others:
            return False
        given = derive(row.case, edit.to_parameters(row.case.module, others), self.prober.record(row.case).last)
        if given is None:
            return False
        verdict = self.prober.judge(given).verdict
        self.note(f"kernel {'/'.join(row.instruction_id)} on given operands only", verdict)
        return verdict not in FAILURES

    def _in_llvm(self, plain: str) -> Blame:
        """Right without LLVM's optimiser: the first of its passes after which the program is wrong."""
        spec = self.prober.setup.engine
        found = Blame("llvm", "optimiser", self.judgement.verdict, last_good=plain, first_bad=spec)
        if not self.in_detail:
            return found
        judgement, names = self._with_llvm(_ALL)
        good, bad = 0, len(names)
        if not judgement.is_failure or self._with_llvm(good)[0].is_failure:
            return found
        good, bad = nearest(good, bad, lambda limit: self._with_llvm(limit)[0].is_failure)
        name, _, where = names[bad - 1].partition(" on ")
        self.note(f"LLVM pass {bad} of {len(names)}: {names[bad - 1]}", self.judgement.verdict)
        engines = [with_options(spec, {"llvm_limit": limit}) for limit in (good, bad)]
        diff = _diff(*(self.prober.llvm_text(self.case, limit) for limit in (good, bad)))
        return replace(
            found, step=name, where=where, rewrite=bad, last_good=engines[0], first_bad=engines[1], diff=diff
        )

    def _with_llvm(self, limit: int) -> tuple[Judgement, list[str]]:
        return self.prober.judge_llvm(self.case, self.judgement.expected, limit)

    def _opened(self, kernel: Row) -> Case | None:
        """The instructions of a fusion as a program; None where the kernel is none."""
        fusions = {edit.id_of(i): 0 for i in kernel.case.module.entry.instructions if i.opcode == "fusion"}
        return derive(kernel.case, edit.expand(kernel.case.module, fusions), {}) if fusions else None

    def _wrong_inside(self, opened: Case | None) -> Row | None:
        """The first instruction of a kernel that is wrong alone as well."""
        for row in examine(self.prober, opened) if opened else ():
            if row.judgement.is_failure:
                self.note(f"{row.opcode} {row.instruction_id[1]} alone", row.judgement.verdict)
                return row
        return None

    def _is_wrong_where_results_lie(self, kernel: Row, opened: Case | None) -> bool:
        """Whether it is how several results lie in memory that is wrong, not what any kernel computes."""
        found = opened is not None and kernels.is_wrong_where_results_lie(self.prober, opened, kernel.judgement)
        if found:
            self.note("a plain kernel with as many results", kernel.judgement.verdict)
        return found

    def _in_kernel(self, kernel: Row, wrong: Row) -> Blame:
        """A wrong kernel; `wrong` is an instruction of it, or itself."""
        module = wrong.case.module
        guilty = kernels.guilty(self.prober, wrong.case, wrong.judgement, self.note) if self.in_detail else ""
        step, where = kernels.opcodes(module), "/".join(kernel.instruction_id)
        shown = module.clone()
        shown.attributes.pop("stack_frames", None)  # the tables are longer than the kernel
        diff = compiler.to_text(shown)
        sources = (wrong.source,) if wrong.source else edit.sources_of(module.instructions())
        return Blame("kernel", step, self.judgement.verdict, where=where, diff=diff, guilty=guilty, sources=sources)

    def _fails(self, engine: str) -> bool:
        judgement = self.prober.judge(self.case, engine=engine, expected=self.judgement.expected)
        self.note(engine, judgement.verdict)
        return judgement.is_failure


def _between(found: Blame, before: str, after: str) -> Blame:
    return replace(found, before=before, after=after, diff=_diff(before, after))


def _diff(before: str, after: str) -> str:
    """The lines that a step changed, with two lines around."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=2)
    return "\n".join(lines)


def _changed(found: Blame, last_text: str) -> tuple[str, ...]:
    """Whence the instruction comes that a rewrite looked at, or where none is known all that the pass changed."""
    try:
        before = compiler.parse(found.before or last_text)
    except compiler.ParseError:  # what a compiler wrote whose memory was not its own any more
        return ()
    looked_at = [i for i in before.instructions() if edit.id_of(i) == found.instruction_id]
    if sources := edit.sources_of(looked_at):
        return sources
    after = {_spelled(i) for i in compiler.parse(found.after).instructions()} if found.after else None
    return edit.sources_of(i for i in before.instructions() if after is not None and _spelled(i) not in after)


def _spelled(instruction: Any) -> tuple[str, str]:
    return repr(instruction), str(instruction.meaning)


def same_cause(prober: Prober, case: Case, wanted: Blame) -> bool:
    """Whether a `case` fails on the `prober`'s engine in the same way for the same reason as is `wanted`.

    Where no rewrite is named, a failure can slip to another of the same kernel: then what rounds wrongly must go on
    doing so, and what loses a NaN must; and what an engine breaks down with is not what it rightly refuses.
    """
    judgement, is_refused = prober.judge(case), wanted.kind == probe.REFUSED
    if (kernels.class_of(judgement.verdict), judgement.is_refusal) != (kernels.class_of(wanted.verdict), is_refused):
        return False
    if wanted.kind and not wanted.rule and judgement.verdict == "wrong":
        kind = kind_of(judgement.expected, judgement.actual)
        if _KINDS.get(kind, "far") != _KINDS.get(wanted.kind, "far"):
            return False
    return _similar(find(prober, case, judgement, in_detail=False), wanted)


def _similar(left: Blame, right: Blame) -> bool:
    """A kernel may shrink with the program: it is the same if what is left in it was there before."""
    if left.stage == right.stage == "llvm":
        return True
    if left.stage != "kernel" or right.stage != "kernel":
        return left.signature == right.signature
    return set(left.step.split("+")) <= set(right.step.split("+"))
