"""What code of the compiler and of the judge no program of a campaign comes to, by function and by branch.

    python tests/searching/reach.py --seed N [--count 300] [--profile ratchet] [--out DIR]

A bug in code that no program comes to is found by no campaign, so these are holes of the generator, or dead code.  The
programs, engines and jobs are a campaign's; each batch runs in a process of its own, since some of a search end it.
Needs `coverage`, and takes three times as long as a campaign.  `reach.json` has every function with the lines and
branches that were not come to, `README.md` those that were never called, by file.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

import coverage
from searching.search import BATCH, support_of

import compiler
from xlabench.commands.fuzz import ENGINES
from xlabench.engines import engine
from xlabench.fuzzing import fuzz_jobs
from xlabench.fuzzing.config import Config
from xlabench.fuzzing.fuzz import Generated
from xlabench.fuzzing.generate import PROFILES
from xlabench.jobs import ENGINES as FACTORY

ROOT = Path(compiler.__file__).resolve().parents[1]
LOOKED_AT = (
    "compiler/passes", "compiler/analysis", "compiler/expansion", "compiler/codegen", "compiler/backends",
    "compiler/ops", "compiler/wide", "compiler/interpreter.py", "compiler/pipeline.py", "xlabench/judging",
)  # fmt: skip
"""What a campaign is there to find bugs in."""


def given():
    """What is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=300, help="programs")
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
    include = [f"{ROOT / place}{'' if place.endswith('.py') else '/*'}" for place in LOOKED_AT]
    with tempfile.TemporaryDirectory(prefix="reach-") as scratch:
        data = Path(scratch) / "coverage"
        for first in range(0, asked.count, BATCH):
            child = os.fork()
            if not child:
                _batch(list(range(first, min(first + BATCH, asked.count))), drawing, data, include)
            os.waitpid(child, 0)
            sys.stderr.write(f"{first + BATCH} programs\n")
        whole = coverage.Coverage(str(data), branch=True, include=include, config_file=False)
        whole.combine([scratch])
        whole.json_report(outfile=str(asked.out / "whole.json"), ignore_errors=True, omit=[])
    found = functions(json.loads((asked.out / "whole.json").read_text(encoding="utf-8")))
    (asked.out / "whole.json").unlink()
    (asked.out / "reach.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (asked.out / "README.md").write_text(page(found, asked), encoding="utf-8")
    sys.stdout.write((asked.out / "README.md").read_text(encoding="utf-8"))


def _batch(numbers, drawing, data, include):
    """What a process does: a batch, and a record of the lines that it comes to."""
    record = coverage.Coverage(str(data), data_suffix=True, branch=True, include=include, config_file=False)
    folder = tempfile.mkdtemp(dir=data.parent)
    arguments = {"factory": FACTORY, "engines": ENGINES, "drawing": drawing, "folder": folder, "numbers": numbers}
    record.start()
    try:
        fuzz_jobs.batch(arguments, lambda _: None)
    finally:
        record.stop()
        record.save()
        os._exit(0)


def functions(report):
    """For each function of the report: how many lines and branches it has, and those that were not come to."""
    found = []
    for file, parts in report["files"].items():
        for name, part in parts["functions"].items():
            counts = part["summary"]
            if name and counts["num_statements"]:
                place = str(Path(file).resolve().relative_to(ROOT)) if Path(file).is_absolute() else file
                found.append(
                    {
                        "function": f"{place}:{name}",
                        "lines": counts["num_statements"],
                        "missing": part["missing_lines"],
                        "branches": counts["num_branches"],
                        "never": part["missing_branches"],
                    }
                )
    return found


def page(found, asked):
    """What was come to, by folder, and the functions that were not, by file."""
    rows, never = {}, {}
    for one in found:
        file, _, name = one["function"].partition(":")
        counts = rows.setdefault(str(Path(file).parent), [0] * 6)
        is_called = len(one["missing"]) < one["lines"]
        for place, number in enumerate((
            1, is_called, one["lines"], one["lines"] - len(one["missing"]),
            one["branches"], one["branches"] - len(one["never"]),
        )):  # fmt: skip
            counts[place] += number
        if not is_called:
            never.setdefault(file, []).append(name)
    lines = [
        "# What no program came to",
        "",
        f"{asked.count} programs of the profile `{asked.profile}`, seed {asked.seed}, on `{'`, `'.join(ENGINES)}`.",
        "",
        "| folder | functions | called | lines | run | branches | taken |",
        "|---|---|---|---|---|---|---|",
        *(f"| `{folder}` | {' | '.join(map(str, counts))} |" for folder, counts in sorted(rows.items())),
        "",
        "## Never called",
        "",
        *(f"- `{file}`: {', '.join(f'`{name}`' for name in names)}" for file, names in sorted(never.items())),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
