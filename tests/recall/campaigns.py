"""How many bugs that nobody planted by hand a campaign finds: mutants by rule, drawn by a seed; `tox -e recall`.

    python tests/recall/campaigns.py --seed N [--count 100] [--out DIR] [--jobs 2] [--limit 120] [--longer 2400]

Each mutant (`recall.rules`, `recall.sites`) is looked for by a campaign as `xlabench fuzz` runs it, first for `--limit`
CPU seconds (120 are a minute of two cores), then up to `--longer` (2,400 are 20 minutes of them).  `DIR/NAME.json` says
what came of it as soon as that is known, and is not measured again; `recall.json` and `README.md` are about all.

With `--profile graphs` they are of the folders by which graphs are read, lowered and clustered, and campaigns of graphs
look for them; nothing is on record of these, so that tests alone say whether one that is not found changes anything.

Of a mutant that is not found programs on record, and then the tests of its file, say whether it changes anything.  It
counts if results of some program become wrong; that none do is no proof, so what is left is listed.  Choose a seed that
nobody has used, so that nothing can have been tuned to its sample.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from recall import blamed, planting, record, sites, table
from recall.measure import IMPORTED, name_of
from recall.record import ROOT
from recall.sites import Site
from searching.search import CPU_LIMIT_S, support_of

from xlabench.commands.fuzz import ENGINES
from xlabench.fuzzing.generate import PROFILES
from xlabench.fuzzing.graphs import cases as graphs
from xlabench.nursery import share_of_cores
from xlabench.startup import without_helpers

LONGER_S = 2400.0
_TESTS = Path(__file__).parents[1]
_TESTS_S = 300  # of wall time, for the tests of one file
_LONGEST_S = 4 * 3600


def given():
    """What is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True, help="draws the mutants, and seeds the campaigns")
    parser.add_argument(
        "--count", type=int, default=100, help="mutants to draw; more of a seed begins with fewer of it"
    )
    parser.add_argument("--out", type=Path, default=Path("recall"))
    parser.add_argument("--jobs", type=int, default=2, help="mutants at once")
    parser.add_argument("--limit", type=float, default=CPU_LIMIT_S, help="CPU seconds of the first limit")
    parser.add_argument("--longer", type=float, default=LONGER_S, help="CPU seconds of the second; 0 for none")
    parser.add_argument(
        "--folder",
        action="append",
        choices=[*sites.FOLDERS, *sites.GRAPH_FOLDERS],
        help="draw from this folder only; repeatable",
    )
    parser.add_argument("--profile", choices=[*PROFILES, graphs.NAME], default="ratchet")
    following = parser.add_mutually_exclusive_group()
    following.add_argument("--find-only", action="store_true", help="reduce and blame nothing")
    following.add_argument(
        "--follow-up", type=float, default=0.0, metavar="S", help="CPU seconds that go on behind a finding, for bundles"
    )
    parser.add_argument("--no-tests", action="store_true", help="do not run the tests of what nothing else tells")
    parser.add_argument("--table", action="store_true", help="measure nothing, only write what all rows come to")
    parser.add_argument("--list", action="store_true", help="only print the mutants")
    return parser.parse_args()


def main():
    """Measure what is not measured yet, each mutant in a process of its own."""
    asked = given()
    is_of_graphs = asked.profile == graphs.NAME
    folders = sites.GRAPH_FOLDERS if is_of_graphs else sites.FOLDERS
    drawn = sites.sample(ROOT, asked.seed, asked.count, asked.folder or folders)
    if asked.list:
        for site in drawn:
            sys.stdout.write("{}  {} -> {}\n".format(site, *sites.shown(ROOT, site)))
        return
    asked.out.mkdir(parents=True, exist_ok=True)
    if not asked.table:
        if not is_of_graphs:
            support_of(" ".join(ENGINES), asked.out, asked.profile)
        _each([site for site in drawn if not _stored(site, asked).exists()], asked, _search)
        if not is_of_graphs:
            record.keep(asked.out / ".record", ENGINES)
        _each([site for site in drawn if _is_open(site, asked)], asked, _look_up)
    sys.stdout.write(json.dumps(table.write(asked.out, drawn, vars(asked)), indent=1) + "\n")


def _each(left, asked, work):
    """Do something about each mutant, and say what came of it."""
    running, free = {}, list(range(asked.jobs))
    while left or running:
        if left and free:
            site, job = left.pop(0), free.pop()
            child = os.fork()
            if not child:
                os.sched_setaffinity(0, share_of_cores(job, asked.jobs))
                work(site, asked)
                os._exit(0)
            running[child] = site, job
            continue
        child, _ = os.wait()
        site, job = running.pop(child)
        free.append(job)
        is_known = _stored(site, asked).exists()
        said = table.line(_row(site, asked)) if is_known else f"failed  {site}: see {_log(site, asked)}"
        sys.stdout.write(f"{said}\n")
        sys.stdout.flush()


def _stored(site, asked):
    return asked.out / f"{name_of(site)}.json"


def _row(site, asked):
    return json.loads(_stored(site, asked).read_text(encoding="utf-8"))


def _is_open(site, asked):
    """Whether it was not found, and not yet looked up."""
    if not _stored(site, asked).exists():
        return False
    return table.kind(_row(site, asked)) == "pending"


def _search(site, asked):
    """Search for one mutant; one with which the compiler cannot be imported is stillborn."""
    step = "search" if asked.find_only else "reduce"
    _in_process(site, asked, step, asked.limit, asked.longer, asked.profile, asked.seed, asked.follow_up)
    if _stored(site, asked).exists():
        return
    said = _log(site, asked).read_text(encoding="utf-8", errors="replace").strip().splitlines()
    if IMPORTED in said:
        return
    old, new = sites.shown(ROOT, site)
    row = {"site": str(site), "folder": site.folder, "old": old, "new": new, "stillborn": (said or ["ended"])[-1]}
    _stored(site, asked).write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")


def _look_up(site, asked):
    """Look one mutant up in the programs on record, then in the tests of its file."""
    _in_process(site, asked, "look-up")
    row = _row(site, asked)
    if table.kind(row) == "open" and not asked.no_tests:
        row["tests"] = tests_of(site)
        _stored(site, asked).write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")


def _log(site, asked):
    return _stored(site, asked).with_suffix(".log")


def _in_process(site, asked, step, *given):
    """Take a step in a process that has the mutant; what it prints is left where it fails."""
    log = _log(site, asked)
    with log.open("wb") as output:
        command = [sys.executable, "-P", "-m", "recall.measure", step, str(asked.out), *map(str, given)]
        try:
            done = subprocess.run(
                command, stdout=output, stderr=output, env=_environment(site), timeout=_LONGEST_S, check=False
            )
        except subprocess.TimeoutExpired:
            output.write(b"it took too long")
            return
    if not done.returncode:
        log.unlink()


def _environment(site):
    """That of a process with a mutant, which finds our packages where this one does."""
    made = without_helpers(planting.environment(site, os.environ))
    return made | {"PYTHONPATH": os.pathsep.join([made["PYTHONPATH"], str(ROOT)])}


def tests_of(site):
    """The first test of a mutant's file, or the folder's, that fails with it; "" where none does."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *map(str, mirrored(site.file))]
    try:
        done = subprocess.run(
            command, cwd=_TESTS.parent, env=_environment(site), capture_output=True, timeout=_TESTS_S, check=False
        )
    except subprocess.TimeoutExpired:
        return ""
    failed = [
        line for line in done.stdout.decode(errors="replace").splitlines() if line.startswith(("FAILED", "ERROR"))
    ]
    return failed[0].partition(" ")[2] if failed else ""


def mirrored(file):
    """The tests of a source file: those that mirror it, those of passes that use it, else the nearest folder's."""
    path = Path(file)
    names = {path.stem.replace("_", "-"), *blamed.passes_with(ROOT, Site(file, 0, "", 0).module)}
    found = [_TESTS / path.parent / f"test_{path.stem}.py"]
    found += [_TESTS / "compiler" / "passes" / f"test_{name.replace('-', '_')}.py" for name in sorted(names)]
    found += [_TESTS / "filetests" / "passes" / name for name in sorted(names)]
    found = [place for place in dict.fromkeys(found) if place.exists()]
    folders = (_TESTS / folder for folder in path.parents)
    return found or [next(folder for folder in folders if folder.exists())]


if __name__ == "__main__":
    main()
