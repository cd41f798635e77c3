"""What code of the compiler and of the judge no program of a campaign comes to, by function and by branch.

    python tests/searching/reach.py --seed N [--count 400] [--profile ratchet] [--out DIR]

A bug in code that no program comes to is found by no campaign, so these are holes of the generator, or dead code.  The
programs, engines and jobs are a campaign's; each batch runs in a process of its own, since some of a search end it.
`reach.json` has every function with its branches that were not come to, and how many programs of it were done when the
others were; `README.md` has the functions that were never called, and the most of the others that was not run.
"""

import argparse
import json
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from searching import branches

MARKED = branches.install(branches.LOOKED_AT)

from recall.sites import UNUSED  # noqa: E402 - nothing that is marked may be imported before that
from searching.forked import forked  # noqa: E402
from searching.search import BATCH, support_of  # noqa: E402

from xlabench.commands.fuzz import ENGINES  # noqa: E402
from xlabench.engines import engine  # noqa: E402
from xlabench.fuzzing import blocks, fuzz_jobs  # noqa: E402
from xlabench.fuzzing.config import Config  # noqa: E402
from xlabench.fuzzing.fuzz import Generated  # noqa: E402
from xlabench.fuzzing.generate import PROFILES  # noqa: E402
from xlabench.jobs import ENGINES as FACTORY  # noqa: E402

_MOST_S = 240.0
_SHOWN = 150


def given():
    """What is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=400, help="programs")
    parser.add_argument("--profile", choices=PROFILES, default="ratchet")
    parser.add_argument("--out", type=Path, default=Path("reach"))
    return parser.parse_args()


def main():
    """Run the programs, and write what they did not come to."""
    asked = given()
    asked.out.mkdir(parents=True, exist_ok=True)
    support = support_of(" ".join(ENGINES), asked.out, asked.profile)
    for spec in ENGINES:
        engine(spec)
    drawing = Generated(asked.profile).drawing(Config(ENGINES, seed=asked.seed), support)
    first_at, spent_s = {}, 0.0
    with tempfile.TemporaryDirectory(prefix="reach-") as scratch:
        for first in range(0, asked.count, BATCH):
            numbers, packs = blocks.in_order(range(first, min(first + BATCH, asked.count)))
            folder = tempfile.mkdtemp(dir=scratch)
            arguments = {"factory": FACTORY, "engines": ENGINES, "drawing": drawing}
            arguments |= {"folder": folder, "numbers": numbers, "packs": packs}
            ending, _, cpu_s = forked(partial(fuzz_jobs.batch, arguments), Path(folder) / "stage", _MOST_S)
            spent_s += cpu_s
            for number in MARKED.reached():
                first_at.setdefault(number, first + BATCH)
            sys.stderr.write(f"{first + BATCH} programs, {ending}, {spent_s:.0f} s, {len(first_at)} branches\n")
    found = functions(MARKED.all, first_at)
    (asked.out / "reach.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (asked.out / "README.md").write_text(page(found, asked, spent_s), encoding="utf-8")
    sys.stdout.write((asked.out / "README.md").read_text(encoding="utf-8"))


def functions(known, first_at):
    """For each function: how many lines and branches it has, those that were not come to, and when the first was."""
    found = {}
    for number, branch in enumerate(known):
        if branch.function.startswith(UNUSED) or branch.is_error:
            continue
        one = found.setdefault(branch.function, {"lines": 0, "branches": 0, "missing": 0, "never": [], "at": None})
        one["lines"] += branch.lines
        one["branches"] += 1
        if number in first_at:
            one["at"] = min(first_at[number], one["at"] or first_at[number])
        else:
            one["missing"] += branch.lines
            one["never"].append(f"{branch.line}:{branch.column}")
    return [{"function": name} | one for name, one in found.items()]


def page(found, asked, spent_s):
    """What was come to, by folder, and the functions that were not, by file."""
    rows, never = {}, {}
    for one in found:
        file, _, name = one["function"].partition(":")
        counts = rows.setdefault(str(Path(file).parent), [0] * 6)
        for place, number in enumerate((
            1, one["at"] is not None, one["lines"], one["lines"] - one["missing"],
            one["branches"], one["branches"] - len(one["never"]),
        )):  # fmt: skip
            counts[place] += number
        if one["at"] is None:
            never.setdefault(file, []).append(f"`{name}` ({one['lines']})")
    partly = [one for one in found if one["at"] is not None and one["missing"]]
    partly = sorted(partly, key=lambda one: (-one["missing"], one["function"]))[:_SHOWN]
    whole = [sum(counts[place] for counts in rows.values()) for place in range(6)]
    lines = [
        "# What no program came to",
        "",
        f"{asked.count} programs of the profile `{asked.profile}`, seed {asked.seed}, on `{'`, `'.join(ENGINES)}`,",
        f"in {spent_s:.0f} s of CPU time, marks included.  Lines are statements; what ends by raising is left out.",
        "",
        "| folder | functions | called | lines | run | branches | taken |",
        "|---|---|---|---|---|---|---|",
        *(f"| `{folder}` | {' | '.join(map(str, counts))} |" for folder, counts in sorted(rows.items())),
        f"| all | {' | '.join(map(str, whole))} |",
        "",
        "## Never called",
        "",
        *(f"- `{file}`: {', '.join(names)}" for file, names in sorted(never.items())),
        "",
        "## Called, and the most not run",
        "",
        *(f"- `{one['function']}`: {one['missing']} of {one['lines']}, at {', '.join(one['never'])}" for one in partly),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
