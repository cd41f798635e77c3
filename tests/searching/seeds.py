"""Chooses the seeds of campaigns: the programs by which every branch of the compiler is run that any of ours runs.

    python tests/searching/seeds.py [--texts FOLDER] [--drawn 400] [--cache FOLDER] [--out suites/seeds]
    python tests/searching/seeds.py --add FILE [--cache FOLDER] [--out suites/seeds]

A greedy cover: again and again the program is taken by which the most code is newly run, for the CPU time that it
takes, until none runs any that is not run yet.  In this order campaigns plant them, so that what much code hangs on
comes first.  File tests of passes, and of runs, follow whatever they reach: each was written for a condition that no
count of branches knows.  The engines of a campaign agree about a seed on values of every kind; what they do not agree
about is printed, and is to be looked into.

Beside the programs is written what they come to (`reached.txt`), and by which rules each is rewritten (`rules.txt`, a
line for each).  What each candidate reaches is kept in `--cache`, for the sources as they are.  With `--add` nothing is
chosen: the programs of a file are put among the seeds that there are, one behind every so many.
"""

import argparse
import hashlib
import heapq
import json
import pickle
import sys
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from searching import branches

MARKED = branches.install(branches.LOOKED_AT)

import numpy as np  # noqa: E402
from recall.sites import UNUSED  # noqa: E402
from searching.branches import ROOT  # noqa: E402 - nothing that is marked may be imported before that
from searching.candidates import candidates  # noqa: E402
from searching.forked import forked, read  # noqa: E402

import compiler  # noqa: E402
from xlabench.engines import build, engine, execute  # noqa: E402
from xlabench.fuzzing.fuzz_jobs import FINE  # noqa: E402
from xlabench.fuzzing.reached import keys_of  # noqa: E402
from xlabench.fuzzing.values import KINDS, make_inputs  # noqa: E402
from xlabench.judging.judge import judge  # noqa: E402

ENGINES = ("cpu:opt=0", "cpu:fusion=off,opt=0", "nvptx:sim,opt=0", "nvptx:sim,opt=0,arch=sm_90a,share_all=on")
"""A campaign's, as quickly compiled as they can be: what they write themselves is the same."""
_PROCESSORS, _CALLS_IN_SIMULATOR = 2, 2  # a call of the simulator takes longer than all others
_DRAWS = 3
"""How often a seed is held to values of each kind: a matrix that is nearly singular is none at another draw."""
_MOST_S = 1.5
_LEAST_S = 0.02
_RULE = "rule "
_SEPARATOR = "// -----\n"
_APART = 24
"""Seeds between two that are added: no block of a campaign, which has one variant, is to have all of them."""


def given():
    """What is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, help="a folder of what tests read (searching/texts.py)")
    parser.add_argument("--drawn", type=int, default=400, help="programs of campaigns to choose from too")
    parser.add_argument("--cache", type=Path, default=Path(".seeds"), help="what is known of candidates")
    parser.add_argument("--add", type=Path, help="a file of programs that are seeds as well, whatever they reach")
    parser.add_argument("--part", default="1/1", help="ask only every so manieth candidate, and choose none")
    parser.add_argument("--out", type=Path, default=ROOT / "suites" / "seeds")
    return parser.parse_args()


def main():
    """Ask every candidate, choose, and write what was chosen."""
    asked = given()
    asked.cache /= MARKED.digest
    asked.cache.mkdir(parents=True, exist_ok=True)
    warm()
    if asked.add:
        add(asked)
        return
    number, of = map(int, asked.part.split("/"))
    found = list(candidates(asked.texts, asked.drawn))
    sys.stderr.write(f"{len(found)} candidates\n")
    for module, _ in found[number - 1 :: of]:
        known(module, asked.cache)
    if of == 1:
        write(found, asked)


def warm():
    """Have run what every program runs once only: it is no program's own."""
    work([compiler.parse("ENTRY main { x = f32[4] parameter(0) ROOT y = f32[4] add(x, x) }"), ["tame"]], lambda _: None)


def known(module, cache):
    """What a candidate reaches: numbers of branches, keys of decisions, CPU seconds; none of one that fails."""
    text = compiler.to_text(module)
    place = cache / hashlib.sha256(text.encode()).hexdigest()[:20]
    if not place.exists():
        MARKED.clear()
        row = asked_apart(module, ["tame"], cache)
        place.write_bytes(pickle.dumps(row))
    return pickle.loads(place.read_bytes())


def asked_apart(module, kinds, cache):
    """Run a program in a process of its own."""
    said = cache / f".stage-{time.monotonic_ns()}"
    ending, _, spent_s = forked(partial(_told, module, kinds, said), said, timeout_s=_MOST_S)
    row = {"branches": frozenset(), "keys": frozenset(), "cpu_s": spent_s, "said": ending}
    if ending == "answered":
        row |= {"branches": frozenset(MARKED.reached()), "keys": frozenset(json.loads(read(said.with_suffix(".keys"))))}
    elif ending == "raised":
        row["said"] = (read(said.with_suffix(".log")).splitlines() or [ending])[-1]
    for left in cache.glob(f"{said.name}*"):
        left.unlink()
    return row


def _told(module, kinds, said, say):
    say("run")
    said.with_suffix(".keys").write_text(json.dumps(sorted(work([module, kinds], say))), encoding="utf-8")


def work(asked, say):
    """Compile a program on all engines, and hold their results on values of some kinds against the reference's."""
    module, kinds = asked
    rng = np.random.default_rng(1)
    with compiler.generate.watching() as decided:
        executables = [(subject, program) for subject in map(engine, ENGINES) if (program := _built(subject, module))]
    for place, kind in enumerate(kinds):
        say(kind)
        made = make_inputs(module, rng, kind)
        expected = compiler.interpret(module, *made)
        for subject, program in executables[: None if place < _CALLS_IN_SIMULATOR else _PROCESSORS]:
            verdict = judge(module, made, expected, execute(subject, program, made).results).verdict
            if verdict not in FINE:
                raise ValueError(f"{subject.spec} is {verdict} on {kind} values")
    return keys_of(decided)


def _built(subject, module):
    """A program compiled, None where an engine does not support it; the first of a campaign has to."""
    try:
        return build(subject, module)
    except compiler.UnsupportedError:
        if subject.spec == ENGINES[0]:
            raise
        return None


def write(found, asked):
    """Choose, and write the files."""
    rows = [known(module, asked.cache) for module, _ in found]
    chosen = cover(found, rows, asked.cache)
    count = len(chosen)
    chosen += [
        n for n, (_, is_kept) in enumerate(found) if is_kept and n not in chosen and agreed(found[n][0], asked.cache)
    ]
    keys = {key for number in chosen for key in rows[number]["keys"]}
    save(asked.out, [found[number][0] for number in chosen], [rules_of(rows[number]) for number in chosen], keys)
    sys.stdout.write(f"{count} seeds run all branches that are known, {len(chosen) - count} more are file tests\n")


def add(asked):
    """Put programs among the seeds, with what they reach."""
    texts, rules, keys = (
        (asked.out / name).read_text(encoding="utf-8") for name in ("programs.hlo", "rules.txt", "reached.txt")
    )
    seeds = list(zip(texts.split(_SEPARATOR), rules.splitlines(), strict=True))
    found = set(keys.splitlines())
    for place, text in enumerate(asked.add.read_text(encoding="utf-8").split(_SEPARATOR)):
        module = compiler.parse(text)
        row = known(module, asked.cache)
        if row["said"] != "answered" or not agreed(module, asked.cache):
            raise SystemExit(f"no seed: {row['said']}\n{text}")
        seeds.insert(_APART * (place + 1), (compiler.to_text(module), rules_of(row)))
        found |= row["keys"]
    modules = [compiler.parse(text) for text, _ in seeds]
    save(asked.out, modules, [fired for _, fired in seeds], found)
    sys.stdout.write(f"{len(seeds)} seeds\n")


def rules_of(row):
    """By which rules a program is rewritten."""
    return "; ".join(sorted(key.removeprefix(_RULE) for key in row["keys"] if key.startswith(_RULE)))


def save(folder, modules, rules, keys):
    """Write the files of the seeds."""
    for place, module in enumerate(modules):
        module.name = f"seed_{place}"
    files = {"programs.hlo": _SEPARATOR.join(map(compiler.to_text, modules)), "rules.txt": "\n".join(rules) + "\n"}
    files["reached.txt"] = "\n".join(sorted(keys)) + "\n"
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def worth(number):
    """How much code a branch is: nothing where it ends by raising, or where no campaign comes."""
    branch = MARKED.all[number]
    return 0 if branch.is_error or branch.function.startswith(UNUSED) else branch.lines


def cover(found, rows, cache):
    """The numbers of programs that run all branches that any of them runs, in the order in which they are taken.

    What a program would newly run only gets less, so that one whose turn it is by what it was thought to run is looked
    at again, and taken if it is still the first.
    """
    left = {number: row["branches"] for number, row in enumerate(rows) if row["branches"]}
    value = {branch: worth(branch) for branches in left.values() for branch in branches}
    done, chosen = set(), []

    def gain(number):
        new = sum(value[branch] for branch in left[number] - done)
        return new / (_LEAST_S + rows[number]["cpu_s"]) if new else 0.0

    heap = [(-gain(number), number) for number in left]
    heapq.heapify(heap)
    while heap:
        _, number = heapq.heappop(heap)
        now = gain(number)
        if heap and -now > heap[0][0]:
            heapq.heappush(heap, (-now, number))
        elif now and agreed(found[number][0], cache):
            done |= left[number]
            chosen.append(number)
    return chosen


def agreed(module, cache):
    """Whether engines agree about a program on values of every kind."""
    place = cache / f"{hashlib.sha256(compiler.to_text(module).encode()).hexdigest()[:20]}.agreed"
    if not place.exists():
        place.write_text(asked_apart(module, list(KINDS) * _DRAWS, cache)["said"], encoding="utf-8")
    said = read(place)
    if said != "answered":
        sys.stderr.write(f"left out: {said}\n{compiler.to_text(module)}\n")
    return said == "answered"


if __name__ == "__main__":
    main()
