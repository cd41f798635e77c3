"""Every planted bug is looked for by a campaign, as `xlabench fuzz` runs it, with one worker.  Run by `tox -e mutants`.

    python tests/mutants/campaigns.py --out DIR [--jobs 2] [NAME...]

leaves `DIR/NAME.json` for each mutant as soon as it is measured (one that is there is not measured again) and makes
`mutants.json` and `README.md` of all that are there.  Time is the workers' own CPU time, so that a busy machine does
not count: the limit of 60 s on two cores is 120 s of it.  What an engine does not support is found out once beforehand
and not counted, nor is the time for reducing.  After the first finding the campaign goes on for a few batches, to see
whether what else it finds is told to be the same.  What fails without the planted bug as well is none of it.
"""

import argparse
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1] / "xlabench"))

from mutants import ALL

import compiler
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.probe import Prober, Setup
from xlabench.fuzzing import campaign
from xlabench.fuzzing.findings import Findings, left_in
from xlabench.fuzzing.fuzz import Generated
from xlabench.worker import Worker

SEED, PROFILE = 1, "discovery"
CPU_LIMIT_S = 120.0
MOST_PROBES = 200
MORE_PROGRAMS = 20
MOST_BUNDLES = 2
MOST_FAILURES = 4
TIMEOUT_S = 20.0


class _Found(Exception):
    """The campaign has what it was looking for."""


@dataclass(frozen=True)
class _Watched(Generated):
    """Programs of a profile, until the first of them goes wrong or the time is up."""

    banned: object = None
    limit_s: float = CPU_LIMIT_S
    found: list = field(default_factory=list)
    genuine: list = field(default_factory=list)

    def support(self, config, worker):
        return super().support(config, worker) if self.banned is None else self.banned

    def narrowed(self, config, support, raw):
        at, case = cpu_s(), Case(compiler.parse(raw.module_text), tuple(raw.inputs))
        with Prober(Setup(raw.engine, timeout_s=TIMEOUT_S)) as without:
            is_genuine = without.judge(case).is_failure
        if is_genuine:
            self.genuine.append(raw.number)
            return raw
        self.found.append((raw, at))
        raise _Found

    def observe(self, progress, found):
        if cpu_s() > self.limit_s:
            raise _Found


def cpu_s():
    """CPU time of all processes that this one started, ended ones included."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks = 0
    for task in Path("/proc/self/task").iterdir():
        for child in (task / "children").read_text(encoding="utf-8").split():
            try:
                fields = Path(f"/proc/{child}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            except OSError:
                continue
            ticks += int(fields[11]) + int(fields[12])
    return ended.ru_utime + ended.ru_stime + ticks / os.sysconf("SC_CLK_TCK")


def support_of(engines, folder):
    """What engines do not support, found out once."""
    stored = folder / ".support" / f"{engines.replace(' ', '+').translate(str.maketrans(':,=', '---'))}.json"
    if not stored.exists():
        stored.parent.mkdir(parents=True, exist_ok=True)
        config = campaign.Config(tuple(engines.split()))
        with Worker() as worker:
            stored.write_text(json.dumps(Generated(PROFILE).support(config, worker)), encoding="utf-8")
    return json.loads(stored.read_text(encoding="utf-8"))


def measure(name, folder, *, reducing=True):
    """Look for one mutant; returns its row."""
    mutant, banned = ALL[name], support_of(ALL[name].engines, folder)
    config = campaign.Config(  # the time is watched here
        tuple(mutant.engines.split()), seed=SEED, budget_s=3600.0, max_probes=0, factory=f"mutants:{name}"
    )
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "campaign"
        begin, source = cpu_s(), _Watched(PROFILE, banned)
        source = _Watched(PROFILE, banned, begin + CPU_LIMIT_S)
        with contextlib.suppress(_Found):
            campaign.run(config, source, place, observe=source.observe)
        row = {"blamed_should": mutant.blamed, "engines": mutant.engines, "limit_s": CPU_LIMIT_S}
        row["genuine_bugs_on_the_way"] = len(source.genuine)
        if not source.found:
            progress = json.loads((place / "progress.json").read_text(encoding="utf-8"))
            return row | {"found": False, "cpu_s": round(cpu_s() - begin, 1), "programs": progress["cases"]}
        raw, at = source.found[0]
        row |= {"found": True, "cpu_s": round(at - begin, 1), "programs": raw.number + 1, "verdict": raw.verdict}
        return row | (_triaged(config, place, raw, banned, mutant) if reducing else {})


def _triaged(config, place, raw, banned, mutant):
    """Reduce and blame the first finding, then see how many kinds the programs that follow are told to be."""
    begin = time.perf_counter()
    findings = Findings(place / "findings", max_probes=MOST_PROBES, timeout_s=TIMEOUT_S, factory=config.factory)
    findings.add(raw)
    first = findings.all[0]
    row = {
        "blamed": first.cause,
        "right": is_right(first.cause, mutant.blamed),
        "before": raw.module_text.count(" = "),
        "instructions": first.instructions,
        "probes": first.probes,
        "triage_s": round(time.perf_counter() - begin, 1),
    }
    following = range(raw.number + 1, raw.number + 1 + MORE_PROGRAMS)
    again = _raws(config, place.parent / "again", following, banned)[:MOST_FAILURES]
    for other in again:
        findings.add(other)
        if len(findings.all) >= MOST_BUNDLES:
            break
    # What shows in a process of its own, where nothing is planted, is another bug.
    planted = [finding for finding in findings.all if not finding.verified]
    texts = [(place / finding.bundle / "module.hlo").read_text(encoding="utf-8") for finding in planted]
    kinds = [{"cause": f.cause, "verdict": f.verdict, "text": t} for f, t in zip(planted, texts, strict=True)]
    return row | {"failures_after": len(again), "bundles": len(planted), "kinds": kinds}


def _raws(config, folder, numbers, banned):
    """What goes wrong of those programs, not reduced."""
    folder.mkdir()
    arguments = {
        "factory": config.factory,
        "engines": config.engines,
        "drawing": Generated(PROFILE).drawing(config, banned),
        "folder": str(folder),
        "numbers": list(numbers),
    }
    with Worker() as worker:
        worker.run("xlabench.fuzzing.fuzz_jobs:batch", arguments, timeout_s=240.0)
    return list(left_in(folder))


def is_right(cause, wanted):
    """Whether the step is the planted one; of a kernel, whether one of the opcodes stands in it."""
    stage, _, step = wanted.partition("/")
    if stage != "kernel" or not step:
        return cause.startswith(wanted)
    return cause.startswith("kernel/") and bool(set(step.split("+")) & set(cause.removeprefix("kernel/").split("+")))


def table(folder):
    """Write what all rows come to."""
    rows = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    rows.pop("mutants", None)
    found = {name: row for name, row in rows.items() if row["found"]}
    triaged = [row for row in found.values() if "right" in row]
    right = [row for row in triaged if row["right"]]
    single = [row for row in triaged if row["bundles"] == 1]
    sizes, probes = ([row[key] for row in triaged] for key in ("instructions", "probes"))
    summary = {
        "mutants": len(rows),
        "found": len(found),
        "triaged": len(triaged),
        "blamed_rightly": len(right),
        "one_bundle": len(single),
        "median_instructions": statistics.median(sizes) if sizes else None,
        "most_instructions": max(sizes, default=None),
        "most_probes": max(probes, default=None),
        "median_cpu_s": statistics.median([row["cpu_s"] for row in found.values()]) if found else None,
    }
    text = json.dumps({"summary": summary, "rows": rows}, indent=1) + "\n"
    (folder / "mutants.json").write_text(text, encoding="utf-8")
    (folder / "README.md").write_text(_markdown(summary, rows), encoding="utf-8")
    return summary


def _markdown(summary, rows):
    text = f"""# Planted bugs, looked for by campaigns

Profile `{PROFILE}`, seed {SEED}, one worker per mutant.  Seconds are the worker's CPU time until the finding is known,
its start included, {CPU_LIMIT_S:g} at most (60 s on two cores); made by `tests/mutants/campaigns.py`.

{summary["found"]} of {summary["mutants"]} found; of {summary["triaged"]} of those that were reduced
{summary["blamed_rightly"]} are blamed on the right step and
{summary["one_bundle"]} in one bundle; reduced to {summary["median_instructions"]} instructions (median),
{summary["most_instructions"]} at most, in at most {summary["most_probes"]} probes.

| mutant | CPU s | programs | verdict | blamed | right | instructions | probes | bundles |
|---|---|---|---|---|---|---|---|---|"""
    lines = text.splitlines()
    for name, row in rows.items():
        if not row["found"]:
            lines.append(f"| `{name}` | not in {row['cpu_s']} | {row['programs']} | | | | | | |")
            continue
        if "right" not in row:
            lines.append(f"| `{name}` | {row['cpu_s']} | {row['programs']} | {row['verdict']} | | | | | |")
            continue
        mark = "yes" if row["right"] else f"no: {row['blamed_should']}"
        cells = (row[key] for key in ("cpu_s", "programs", "verdict"))
        after = f"`{row['blamed']}` | {mark} | {row['instructions']} | {row['probes']} | {row['bundles']}"
        lines.append(f"| `{name}` | {' | '.join(map(str, cells))} | {after} |")
    return "\n".join(lines) + "\n"


def main():
    """Measure what is not measured yet, each mutant in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--out", type=Path, default=Path("mutants"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--find-only", action="store_true", help="reduce and blame nothing")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.one:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = measure(given.names[0], given.out, reducing=not given.find_only)
        (given.out / f"{given.names[0]}.json").write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
        return
    left = [name for name in given.names or ALL if not (given.out / f"{name}.json").exists()]
    for engines in {ALL[name].engines for name in left}:
        support_of(engines, given.out)
    path = os.pathsep.join([*sys.path[:2], os.environ.get("PYTHONPATH", "")])

    def one(name):
        command = [sys.executable, __file__, "--one", "--out", str(given.out), name]
        command += ["--find-only"] * given.find_only
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
        row = given.out / f"{name}.json"
        sys.stdout.write(f"{name} {row.read_text('utf-8') if row.exists() else done.stderr[-2000:]}\n")
        sys.stdout.flush()

    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(one, left))
    sys.stdout.write(json.dumps(table(given.out), indent=1) + "\n")


if __name__ == "__main__":
    main()
