"""One campaign on a compiler with one bug, as `xlabench fuzz` runs it with one worker, until it finds the bug.

The programs, what is done with them and how a finding is reduced, blamed and told from others is a campaign's, batch by
batch; the processes are not (`searching.forked`): whoever searches is the damaged process, or has a factory of engines
that damage theirs.  Limits are CPU seconds, 120 for a minute of two cores.  What fails without the bug too is none of
it.  After the first finding the campaign goes on for a batch or longer, to see whether what else it finds is told to be
the same.
"""

import json
import tempfile
import time
from pathlib import Path

from searching.forked import TIMEOUT_S, Forked, forked, read

import compiler
from xlabench.bundles import bundle, saving
from xlabench.diagnosis import probe
from xlabench.diagnosis.moves import instruction_count
from xlabench.engines import engine
from xlabench.fuzzing import asking, fuzz_jobs, packs
from xlabench.fuzzing.attribution import attribute_crash
from xlabench.fuzzing.blocks import Todo
from xlabench.fuzzing.case_failure import CaseFailure, left_in
from xlabench.fuzzing.config import Config
from xlabench.fuzzing.findings import Findings
from xlabench.fuzzing.fuzz import Generated
from xlabench.fuzzing.own_failures import OwnFailure
from xlabench.fuzzing.signature import raised_in
from xlabench.fuzzing.support_probe import SupportProbe
from xlabench.fuzzing.worker_pool import Ended
from xlabench.survival import ERROR, US, Bug

CPU_LIMIT_S = 120.0
BATCH = 20
MOST_PROBES = 200
MOST_BUNDLES = 4
MOST_FAILURES = 8
_ANSWER = ("reference", "run")
"""Who may raise, and when, as an answer: what engines raise has been caught, and all else is a failure of our own."""


def use_forked_workers(engines):
    """Load engines, and have whatever reduces, blames and bundles in this process ask workers forked from it."""
    for spec in engines:
        engine(spec)
    probe.Worker = bundle.Worker = Forked
    saving._verify = lambda *_: "nothing is planted in a fresh process"


def support_of(engines, folder, profile):
    """What engines do not support, found out once."""
    stored = folder / ".support" / f"{profile}-{engines.replace(' ', '+').translate(str.maketrans(':,=', '---'))}.json"
    if not stored.exists():
        stored.parent.mkdir(parents=True, exist_ok=True)
        config = Config(tuple(engines.split()))
        support_probe = SupportProbe(config.workers, None, (), lambda *_: None)
        stored.write_text(json.dumps(Generated(profile).support(config, support_probe)), encoding="utf-8")
    return json.loads(stored.read_text(encoding="utf-8"))


class Search:
    """A campaign; `kept` is a file that says how far it came, `is_planted` whether it is the bug that a case shows."""

    def __init__(self, config, drawing, scratch, kept, is_planted):
        self.config, self.drawing, self.scratch, self.kept = config, drawing, scratch, kept
        self._is_planted = is_planted
        begun = json.loads(read(kept) or '{"batch": 0, "spent_s": 0.0, "genuine": 0}')
        self.next_batch, self.spent_s, self.genuine = begun["batch"], begun["spent_s"], begun["genuine"]

    def batch(self, number):
        """What goes wrong in a batch, as a campaign's workers leave it: packs together, and what they end alone."""
        folder = self.scratch / str(number)
        folder.mkdir()
        todo = Todo.of(range(BATCH * number, BATCH * (number + 1)), is_packed=bool(self.drawing.get("packed")))
        raws = []
        while todo.cases:
            ended = self._run(self.config.engines, todo, folder)
            if ended and ended.members:
                todo.broken.append(ended)
            elif ended:
                todo.ending.add(ended.number)
                raws.append(self._behind(ended, todo.cases))
            todo.go_on(ended)
        raws += [self._behind(ended, list(ended.members)) for ended in todo.unexplained()]
        return sorted([*raws, *left_in(folder)], key=lambda failure: failure.number)

    def _behind(self, ended, cases):
        """What is behind the end of a process."""
        found = ended.found
        if found.verdict == ERROR or found.is_about_reference:
            return found
        return attribute_crash(found, self.config.engines, cases, self._again)

    def _run(self, engines, todo, folder):
        """Run cases until one ends the process, or a pack does; returns the finding about that."""
        arguments = {"factory": self.config.factory, "engines": engines, "drawing": self.drawing}
        arguments |= {"folder": str(folder), "numbers": todo.cases, "packs": todo.packs}
        ending, stage, cpu_s = forked(lambda say: fuzz_jobs.batch(arguments, say), folder / "stage")
        self.spent_s += cpu_s
        if ending == "answered":
            return None
        label, spec, stage = stage.split(" ")
        case, *others = map(int, label.split("+"))
        members = (case, *others) if others else ()
        phase = asking.phase_in(stage)
        if ending == "raised" and (spec, phase.bare) != _ANSWER:
            said = read(folder / "stage.log")
            own = CaseFailure(case, US, ERROR, raised_in(said), said, self._text(case, phase.bare), (), (), ())
            return Ended(case, {}, own)
        spec = self.config.engines[-1] if spec == US else spec  # the passes ended it while they were traced
        verdict = "timeout" if ending == "timeout" else "crash"
        return Ended(case, {}, self._ended(case, members, spec, phase, verdict), members)

    def _again(self, engines, cases):
        """What goes wrong in a new process, up to the case that ends it."""
        folder = Path(tempfile.mkdtemp(dir=self.scratch))
        ended = self._run(engines, Todo(list(cases)), folder)
        return [*left_in(folder), *([ended.found] if ended else [])]

    def _text(self, case, phase):
        """A program's text, where it was drawn."""
        return "" if phase == "generate" else compiler.to_text(fuzz_jobs.drawer_of(self.drawing)(case).module)

    def _ended(self, case, members, spec, at, verdict):
        phase, kind, layout = at
        draw = fuzz_jobs.drawer_of(self.drawing)
        drawn = packs.pack(list(map(draw, members))) if members else draw(case)
        inputs, text = drawn.given(kind), compiler.to_text(drawn.module)
        expected = () if spec == "reference" else compiler.interpret(drawn.module, *inputs)
        said, note = f"{verdict} in {phase}", drawn.noted(kind)
        return CaseFailure(case, drawn.on(spec), verdict, said, phase, text, inputs, expected, [], note, layout)

    def is_planted(self, failure):
        """Whether a case is right without the bug; those that are not are counted."""
        is_planted = self._is_planted(failure)
        self.genuine += not is_planted
        return is_planted

    def first(self, limit_s):
        """The first finding that the bug brings about, None where the time is up; what is done is done once."""
        while self.spent_s < limit_s:
            for failure in self.batch(self.next_batch):
                if self.is_planted(failure):
                    return failure
            self.next_batch += 1
            begun = {"batch": self.next_batch, "spent_s": self.spent_s, "genuine": self.genuine}
            self.kept.parent.mkdir(exist_ok=True)
            self.kept.write_text(json.dumps(begun), encoding="utf-8")
        return None

    def row(self, failure):
        """What is known of a search, with the first finding or none."""
        row = {"genuine_bugs_on_the_way": self.genuine, "found": failure is not None, "cpu_s": round(self.spent_s, 1)}
        if failure is None:
            return row | {"programs": BATCH * self.next_batch}
        return row | {
            "programs": failure.number + 1,
            "verdict": failure.verdict,
            "message": failure.message.partition("\n")[0],
        }

    def triaged(self, failure, is_right, timeout_s=TIMEOUT_S, *, follow_up_s=0.0):
        """Reduce and blame a finding, then see how many kinds those that follow, a batch at least, are told to be."""
        begin, place = time.perf_counter(), self.scratch / "campaign"
        findings = Findings(
            place / "findings", max_probes=MOST_PROBES, timeout_s=timeout_s, factory=self.config.factory
        )
        self._add(findings, failure)
        first = findings.all[0]
        blamed = first.cause or first.traceback
        row = {"blamed": blamed, "right": is_right(blamed)}
        if first.verdict != ERROR:
            row |= {
                "before": instruction_count(compiler.parse(failure.module_text)),
                "instructions": first.instructions,
                "probes": first.probes,
                "triage_s": round(time.perf_counter() - begin, 1),
            }
        failures = 0
        for other in self._following(failure.number // BATCH + 1, follow_up_s):
            failures += 1
            self._add(findings, other)
            if len(findings.all) >= MOST_BUNDLES:
                break
        texts = [read(place / finding.bundle / "module.hlo") for finding in findings.all]
        kinds = [{"cause": f.cause, "verdict": f.verdict, "text": t} for f, t in zip(findings.all, texts, strict=True)]
        return row | {"failures_after": failures, "bundles": len(findings.all), "kinds": kinds}

    def _add(self, findings, failure):
        """Keep a finding as a campaign does, one of our own too."""
        if failure.verdict != ERROR:
            findings.add(failure)
            return
        own = OwnFailure(failure.number, "", Bug(failure.message, failure.key), failure.module_text)
        findings.add_own(own, self.drawing)

    def _following(self, number, follow_up_s):
        """What the bug brings about in the batch of that number, and in more of them for so many CPU seconds."""
        end_s, shown = self.spent_s + follow_up_s, 0
        while True:
            for failure in self.batch(number):
                if self.is_planted(failure):
                    shown += 1
                    yield failure
                if shown == MOST_FAILURES:
                    return
            number += 1
            if self.spent_s >= end_s:
                return
