"""Every planted bug is looked for by a campaign, as `xlabench fuzz` runs it, with one worker.  Run by `tox -e mutants`.

    python tests/mutants/campaigns.py --out DIR [--jobs 2] [NAME...]

leaves `DIR/NAME.json` for each mutant as soon as it is measured (one that is there is not measured again) and makes
`mutants.json` and `README.md` of all that are there.

Each batch of a campaign runs in a process that is forked here, where everything is loaded, and damages itself as it
makes its engines (`searching.search` has the rest).  What an engine does not support is found out once beforehand.
"""

import argparse
import json
import os
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "xlabench"))

import summary
from mutants import ALL
from searching.forked import TIMEOUT_S, forked, read
from searching.search import CPU_LIMIT_S, Search, support_of, use_forked_workers

import compiler
from xlabench.diagnosis import probe
from xlabench.engines import build, engine, execute
from xlabench.fuzzing.config import Config
from xlabench.fuzzing.fuzz import Generated
from xlabench.judging.judge import judge

SEED, PROFILE = 1, "discovery"
HOW = f"""\
Profile `{PROFILE}`, seed {SEED}.  Seconds are the CPU time of the campaign's processes until the finding is known,
without loading Python, {CPU_LIMIT_S:g} at most (60 s on two cores); made by `tests/mutants/campaigns.py`."""


class Planted(Search):
    """A campaign on engines with one planted bug."""

    def __init__(self, name, folder, scratch):
        self.mutant = ALL[name]
        config = Config(tuple(self.mutant.engines.split()), seed=SEED, factory=f"mutants:{name}")
        drawing = Generated(PROFILE).drawing(config, support_of(self.mutant.engines, folder, PROFILE))
        super().__init__(config, drawing, scratch, folder / ".begun" / f"{name}.json", self._is_right_without)

    def _is_right_without(self, raw):
        """Whether a case is right in a process that makes an engine without the bug."""
        answer = self.scratch / "genuine"
        answer.unlink(missing_ok=True)
        module = compiler.parse(raw.module_text)

        def run(say):
            say("run")
            subject = engine(raw.engine)
            actual = execute(subject, build(subject, module), raw.inputs).results
            answer.write_text(judge(module, raw.inputs, raw.expected, actual).verdict, encoding="utf-8")

        ending, _, _ = forked(run, self.scratch / "stage")
        return ending == "answered" and read(answer) not in probe.FAILURES


def measure(name, folder, limit_s, *, reducing=True):
    """Look for one mutant; returns its row, None where a lower limit than the whole is reached."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        search = Planted(name, folder, Path(scratch))
        raw = search.first(limit_s)
        if raw is None and limit_s < CPU_LIMIT_S:
            return None
        row = {"blamed_should": search.mutant.blamed, "engines": search.mutant.engines, "limit_s": CPU_LIMIT_S}
        row |= search.row(raw)
        if raw is None or not reducing:
            return row
        timeout_s = getattr(search.mutant, "timeout_s", TIMEOUT_S)
        return row | search.triaged(raw, lambda cause: is_right(cause, search.mutant.blamed), timeout_s)


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
        support_of(engines, given.out, PROFILE)
    os.environ["PYTHONPATH"] = os.pathsep.join([*sys.path[:3], os.environ.get("PYTHONPATH", "")])
    use_forked_workers({spec for name in left for spec in ALL[name].engines.split()})
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
        sys.stdout.write(f"{name} {read(given.out / f'{name}.json') or read(given.out / f'{name}.log') or 'later'}\n")
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
