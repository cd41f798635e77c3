"""Every planted bug is looked for by a campaign, as `xlabench fuzz` runs it, with one worker.  Run by `tox -e mutants`.

    python tests/mutants/campaigns.py --out DIR [--jobs 2] [NAME...]

leaves `DIR/NAME.json` for each mutant as soon as it is measured (one that is there is not measured again) and makes
`mutants.json` and `README.md` of all that are there.

The programs, what is done with them and how a finding is reduced, blamed and told from others is a campaign's, batch by
batch; the processes are not: each batch runs in one that is forked here, where everything is loaded, and damages
itself.  Loading would take longer than most searches, and a busy machine must not count, so time is the CPU time of
those processes: the limit of 60 s on two cores is 120 s of it.  A program that hangs is told by its CPU time as well.
What an engine does not support is found out once beforehand, and what fails without the planted bug is none of it.
After the first finding the campaign goes on for a batch, to see whether what else it finds is told to be the same.
"""

import argparse
import contextlib
import ctypes
import faulthandler
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1] / "xlabench"))

import summary
from mutants import ALL

import compiler
from xlabench import worker
from xlabench.bundles import bundle
from xlabench.diagnosis import probe
from xlabench.diagnosis.moves import instruction_count
from xlabench.engines import build, engine, execute
from xlabench.fuzzing import fuzz_jobs
from xlabench.fuzzing.config import Config
from xlabench.fuzzing.crew import culprit
from xlabench.fuzzing.findings import Findings, Raw, left_in
from xlabench.fuzzing.fuzz import Generated
from xlabench.fuzzing.inquiry import Inquiry
from xlabench.judging.judge import judge
from xlabench.survival import US
from xlabench.worker import Worker

SEED, PROFILE = 1, "discovery"
CPU_LIMIT_S = 120.0
BATCH = 20
MOST_PROBES = 200
MOST_BUNDLES = 2
MOST_FAILURES = 4
TIMEOUT_S = 20.0
LONGEST_S = 1200  # a batch on a machine that is very busy
HOW = f"""\
Profile `{PROFILE}`, seed {SEED}.  Seconds are the CPU time of the campaign's processes until the finding is known,
without loading Python, {CPU_LIMIT_S:g} at most (60 s on two cores); made by `tests/mutants/campaigns.py`."""


def forked(work, say_to):
    """Run something in a process of its own; returns how it ended, the last stage it said, and its CPU time."""
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            _alone(work, say_to)
        os._exit(1)
    _, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    late = code in (-signal.SIGXCPU, -signal.SIGALRM)
    return "answered" if not code else "timeout" if late else "died", _read(say_to), usage.ru_utime + usage.ru_stime


def _alone(work, say_to):
    """What the process does that `forked` made."""
    os.setsid()
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(os.open(say_to.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    signal.alarm(LONGEST_S)
    stages = os.open(say_to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def say(stage):
        os.pwrite(stages, stage.ljust(100).encode(), 0)
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + TIMEOUT_S) + 1, most))

    try:
        work(say)
    except Exception:
        traceback.print_exc()
        raise
    os._exit(0)


class Ended:
    """A forked process, as far as `Worker` looks at one."""

    def __init__(self, pid, stdin):
        self.pid, self.stdin, self.code = pid, stdin, None

    def poll(self, flags=os.WNOHANG):
        if self.code is None:
            ended, status = os.waitpid(self.pid, flags)
            self.code = os.waitstatus_to_exitcode(status) if ended else None
        return self.code

    def wait(self, timeout=None):
        until = time.monotonic() + (timeout or 0)
        while timeout and self.poll() is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired("worker", timeout)
            time.sleep(0.01)
        return self.poll(0)

    def send_signal(self, number):
        os.kill(self.pid, number)


class Forked(Worker):
    """A worker that has everything loaded from the start."""

    def start(self):
        if self._process is None:
            self._is_ready, self._pending = False, b""
            self._output = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
            self._answers, theirs = os.pipe()
            questions, ours = os.pipe()
            child = os.fork()
            if not child:
                with contextlib.suppress(BaseException):
                    self._serve(questions, theirs)
                os._exit(1)
            os.close(theirs)
            os.close(questions)
            self._process = Ended(child, os.fdopen(ours, "wb"))
        return self._process

    def _serve(self, questions, answers):
        os.setsid()
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # it dies with its parent
        for number in (1, 2):
            os.dup2(self._output.fileno(), number)
        faulthandler.enable()
        sys.stdin = os.fdopen(questions)
        with os.fdopen(answers, "w", encoding="utf-8") as stream:
            stream.write("{}\n")
            stream.flush()
            worker._serve(stream)


def _read(path):
    return path.read_text(encoding="utf-8").strip() if path.exists() else ""


def support_of(engines, folder):
    """What engines do not support, found out once."""
    stored = folder / ".support" / f"{engines.replace(' ', '+').translate(str.maketrans(':,=', '---'))}.json"
    if not stored.exists():
        stored.parent.mkdir(parents=True, exist_ok=True)
        config = Config(tuple(engines.split()))
        inquiry = Inquiry(config.workers, None, (), lambda *_: None)
        stored.write_text(json.dumps(Generated(PROFILE).support(config, inquiry)), encoding="utf-8")
    return json.loads(stored.read_text(encoding="utf-8"))


class Search:
    """A campaign on engines with one bug."""

    def __init__(self, name, folder, scratch):
        self.mutant, self.scratch = ALL[name], scratch
        self.config = Config(tuple(self.mutant.engines.split()), seed=SEED, factory=f"mutants:{name}")
        self.drawing = Generated(PROFILE).drawing(self.config, support_of(self.mutant.engines, folder))
        self.kept = folder / ".begun" / f"{name}.json"
        begun = json.loads(_read(self.kept) or '{"batch": 0, "spent_s": 0.0, "genuine": 0}')
        self.next_batch, self.spent_s, self.genuine = begun["batch"], begun["spent_s"], begun["genuine"]

    def batch(self, number):
        """What goes wrong in a batch, as a campaign's workers leave it."""
        folder = self.scratch / str(number)
        folder.mkdir()
        left, raws = list(range(BATCH * number, BATCH * (number + 1))), []
        while left:
            ended = self._run(self.config.engines, left, folder)
            if ended:
                raws.append(culprit(ended, self.config.engines, left, self._again))
            left = [number for number in left if ended and number > ended.number]
        return sorted([*raws, *left_in(folder)], key=lambda raw: raw.number)

    def _run(self, engines, cases, folder):
        """Run cases until one ends the process; returns the finding about that."""
        arguments = {"factory": self.config.factory, "engines": engines, "drawing": self.drawing}
        arguments |= {"folder": str(folder), "numbers": cases}
        ending, stage, cpu_s = forked(lambda say: fuzz_jobs.batch(arguments, say), folder / "stage")
        self.spent_s += cpu_s
        if ending == "answered":
            return None
        case, spec, phase = stage.split(" ")
        spec = self.config.engines[-1] if spec == US else spec  # the passes ended it while they were traced
        return self._ended(int(case), spec, phase, "timeout" if ending == "timeout" else "crash")

    def _again(self, engines, cases):
        """What goes wrong in a new process, up to the case that ends it."""
        folder = Path(tempfile.mkdtemp(dir=self.scratch))
        ended = self._run(engines, cases, folder)
        return [*left_in(folder), *([ended] if ended else [])]

    def _ended(self, case, spec, phase, verdict):
        drawn = fuzz_jobs.drawer_of(self.drawing)(case)
        expected, text = compiler.interpret(drawn.module, *drawn.inputs), compiler.to_text(drawn.module)
        return Raw(case, spec, verdict, f"{verdict} in {phase}", phase, text, drawn.inputs, expected, [])

    def is_planted(self, raw):
        """Whether a case is right without the bug."""
        answer = self.scratch / "genuine"
        answer.unlink(missing_ok=True)
        module = compiler.parse(raw.module_text)

        def run(say):
            say("run")
            subject = engine(raw.engine)
            actual = execute(subject, build(subject, module), raw.inputs).results
            answer.write_text(judge(module, raw.inputs, raw.expected, actual).verdict, encoding="utf-8")

        ending, _, _ = forked(run, self.scratch / "stage")
        is_genuine = ending != "answered" or _read(answer) in probe.FAILURES
        self.genuine += is_genuine
        return not is_genuine

    def first(self, limit_s):
        """The first finding that the bug brings about, None where the time is up; what is done is done once."""
        while self.spent_s < limit_s:
            for raw in self.batch(self.next_batch):
                if self.is_planted(raw):
                    return raw
            self.next_batch += 1
            begun = {"batch": self.next_batch, "spent_s": self.spent_s, "genuine": self.genuine}
            self.kept.parent.mkdir(exist_ok=True)
            self.kept.write_text(json.dumps(begun), encoding="utf-8")
        return None


def measure(name, folder, limit_s, *, reducing=True):
    """Look for one mutant; returns its row, None where a lower limit than the whole is reached."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        search = Search(name, folder, Path(scratch))
        raw = search.first(limit_s)
        if raw is None and limit_s < CPU_LIMIT_S:
            return None
        row = {"blamed_should": search.mutant.blamed, "engines": search.mutant.engines, "limit_s": CPU_LIMIT_S}
        row |= {"genuine_bugs_on_the_way": search.genuine, "found": raw is not None}
        row["cpu_s"] = round(search.spent_s, 1)
        if raw is None:
            return row | {"programs": BATCH * search.next_batch}
        row |= {"programs": raw.number + 1, "verdict": raw.verdict}
        return row | (_triaged(search, raw) if reducing else {})


def _triaged(search, raw):
    """Reduce and blame the first finding, then see how many kinds those that follow are told to be."""
    begin, place = time.perf_counter(), search.scratch / "campaign"
    timeout_s = getattr(search.mutant, "timeout_s", TIMEOUT_S)
    findings = Findings(place / "findings", max_probes=MOST_PROBES, timeout_s=timeout_s, factory=search.config.factory)
    findings.add(raw)
    first = findings.all[0]
    row = {
        "blamed": first.cause,
        "right": is_right(first.cause, search.mutant.blamed),
        "before": instruction_count(compiler.parse(raw.module_text)),
        "instructions": first.instructions,
        "probes": first.probes,
        "triage_s": round(time.perf_counter() - begin, 1),
    }
    again = [other for other in search.batch(raw.number // BATCH + 1) if search.is_planted(other)][:MOST_FAILURES]
    for other in again:
        findings.add(other)
        if len(findings.all) >= MOST_BUNDLES:
            break
    texts = [(place / finding.bundle / "module.hlo").read_text(encoding="utf-8") for finding in findings.all]
    kinds = [{"cause": f.cause, "verdict": f.verdict, "text": t} for f, t in zip(findings.all, texts, strict=True)]
    return row | {"failures_after": len(again), "bundles": len(findings.all), "kinds": kinds}


def is_right(cause, wanted):
    """Whether the step is a planted one; of a kernel, whether one of the opcodes stands in it."""
    return any(_is_right(cause, step) for step in wanted.split("|"))


def _is_right(cause, wanted):
    stage, _, step = wanted.partition("/")
    if stage != "kernel" or not step:
        return cause.startswith(wanted)
    opcodes, named = (set(text.replace("any ", "").split("+")) for text in (step, cause.removeprefix("kernel/")))
    return cause.startswith("kernel/") and bool(opcodes & named)


def main():
    """Measure what is not measured yet, each mutant in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--out", type=Path, default=Path("mutants"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=CPU_LIMIT_S, help="CPU seconds; below the default, go on later")
    parser.add_argument("--table", action="store_true", help="measure nothing, only write what all rows come to")
    parser.add_argument("--find-only", action="store_true", help="reduce and blame nothing")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    left = [name for name in given.names or ALL if not given.table and not (given.out / f"{name}.json").exists()]
    for engines in {ALL[name].engines for name in left}:
        support_of(engines, given.out)
    os.environ["PYTHONPATH"] = os.pathsep.join([*sys.path[:2], os.environ.get("PYTHONPATH", "")])
    probe.Worker = bundle.Worker = Forked
    bundle._verify = lambda *_: "nothing is planted in a fresh process"
    running = {}
    while left or running:
        if left and len(running) < given.jobs:
            name = left.pop(0)
            child = os.fork()
            if not child:
                os._exit(_one(name, given))
            running[child] = name
            continue
        child, _ = os.wait()
        name = running.pop(child)
        sys.stdout.write(f"{name} {_read(given.out / f'{name}.json') or _read(given.out / f'{name}.log') or 'later'}\n")
        sys.stdout.flush()
    sys.stdout.write(json.dumps(summary.write(given.out, len(ALL), HOW), indent=1) + "\n")


def _one(name, given):
    """Measure one mutant; returns an exit status."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = measure(name, given.out, given.limit, reducing=not given.find_only)
    except Exception:  # noqa: BLE001 - the next mutant is measured all the same
        (given.out / f"{name}.log").write_text(traceback.format_exc(), encoding="utf-8")
        return 1
    if row is not None:
        (given.out / f"{name}.json").write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    main()
