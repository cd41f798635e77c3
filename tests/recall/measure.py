"""Looks for one mutant, in the process that has it: started by `campaigns`, with the mutant in its environment.

    python -m recall.measure search OUT LIMIT LONGER PROFILE SEED
    python -m recall.measure reduce OUT LIMIT LONGER PROFILE SEED FOLLOW_UP
    python -m recall.measure look-up OUT

A mutant with which one of the engines is right on no small program is stillborn.  Any other is searched for, and what
is found is reduced and blamed where that is asked for.  Of one that was not found the programs on record say whether
it changes any result at all.
"""

import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

import op_programs
from recall import blamed, planting, record, sites
from recall.record import ROOT
from recall.unmutated import Unmutated
from searching.forked import forked, read
from searching.search import Search, support_of, use_forked_workers

import compiler
from xlabench.cases import inputs
from xlabench.commands.fuzz import ENGINES
from xlabench.diagnosis.probe import FAILURES
from xlabench.engines import build, engine, execute
from xlabench.fuzzing.config import Config
from xlabench.fuzzing.fuzz import Generated
from xlabench.fuzzing.graphs import cases as graphs
from xlabench.fuzzing.graphs.source import Graphs
from xlabench.judging.judge import judge

IMPORTED = "imported"

_FIRST = (
    "add", "broadcast", "compare", "concatenate", "constant", "convert", "dot", "iota", "multiply", "reduce",
    "reshape", "select", "slice", "subtract", "transpose", "while",
)  # fmt: skip


def stillborn(scratch):
    """The engine that is right on no small program, "" where each is right on some."""
    return next((spec for spec in ENGINES if not any(_is_right(opcode, spec, scratch) for opcode in _FIRST)), "")


def _is_right(opcode, spec, scratch):
    def work(say):
        say(spec)
        module, subject = compiler.parse(op_programs.program(opcode)), engine(spec)
        made = inputs.generate(module, 1)
        actual = execute(subject, build(subject, module), made).results
        verdict = judge(module, made, compiler.interpret(module, *made), actual).verdict
        if verdict in FAILURES:
            raise ValueError(f"{spec} is {verdict} on {opcode}")

    ending, _, _ = forked(work, scratch / "stage")
    return ending == "answered"


def search(site, out, limits, profile, seed, *, follow_up_s):
    """The row of one mutant, after a search; what is found is followed up where it is said for how long."""
    old, new = sites.shown(ROOT, site)
    row = {"site": str(site), "folder": site.folder, "old": old[:300], "new": new[:300], "profile": profile}
    reached = planting.planted().reached
    with tempfile.TemporaryDirectory(prefix="recall-") as folder, Unmutated(folder) as unmutated:
        if profile != graphs.NAME and (unborn := stillborn(Path(folder))):
            return row | {"stillborn": f"{unborn} is right on no small program"}
        before, config = reached.times, Config(engines_of(profile), seed=seed)
        drawing = drawing_of(profile, config, out)
        kept = out / ".begun" / f"{name_of(site)}.json"
        begun = Search(config, drawing, Path(folder), kept, lambda raw: unmutated.is_right(raw, drawing))
        raw = begun.first(limits[0])
        row |= {"limit_s": limits[0], "found_in_limit": raw is not None}
        if raw is None and limits[1] > limits[0]:
            raw = begun.first(limits[1])
        is_called = record.function_of(ROOT, site)  # else it is run once, as its module is loaded
        row |= begun.row(raw) | {"reached": reached.times - before if is_called else None}
        if raw is not None and follow_up_s is not None:
            row |= begun.triaged(raw, lambda cause: blamed.is_right(ROOT, site, cause), follow_up_s=follow_up_s)
    return row


def engines_of(profile):
    """The engines of a campaign; of one of graphs those that one engine makes."""
    return graphs.engines_for(ENGINES[:1]) if profile == graphs.NAME else ENGINES


def drawing_of(profile, config, out):
    """What a campaign draws by."""
    if profile == graphs.NAME:
        return Graphs().drawing(config, {})
    return Generated(profile).drawing(config, support_of(" ".join(ENGINES), out, profile))


def look_up(site, out):
    """What a mutant changes of the programs on record, of which none is a graph."""
    if site.folder in sites.GRAPH_FOLDERS:
        return {"changed": None, "moved": None}
    with tempfile.TemporaryDirectory(prefix="recall-") as folder, Unmutated(folder) as unmutated:
        changed, moved = record.changed_by(site, out / ".record", Path(folder), unmutated)
    return {"changed": changed, "moved": moved}


def name_of(site):
    """A name for the files about a mutant."""
    return str(site).removesuffix(".py").replace("/", ".").replace(":", "-")


def main():
    use_forked_workers(ENGINES)
    sys.stdout.write(f"{IMPORTED}\n")  # what ends the process from here on is not that it cannot be imported
    sys.stdout.flush()
    step, out, *given = sys.argv[1:]
    site, out = sites.Site.of(os.environ[planting.VARIABLE]), Path(out)
    stored = out / f"{name_of(site)}.json"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if step == "look-up":
            row = json.loads(read(stored)) | look_up(site, out)
        else:
            limit, longer, profile, seed, *follow_up = given
            limits, follow_up_s = (float(limit), float(longer)), float(follow_up[0]) if step == "reduce" else None
            row = search(site, out, limits, profile, int(seed), follow_up_s=follow_up_s)
    stored.write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
