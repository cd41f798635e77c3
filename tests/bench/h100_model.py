"""Kernels of programs beside the least that they could take, on an H100 by the model: `python h100_model.py FILE...`.

What it prints hangs on no machine; the tables in `reports/measured/*-h100-model` are of it.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import compiler
from compiler.backends.nvptx.target import newest_for

FACTOR = 2.5
"""Times the least from which on a kernel has a line."""
HEAD = "| program | kernel | strategy | us by the model | us at least | rule | times | limit of the longest launch |"


@dataclass(frozen=True, slots=True)
class Row:
    """A kernel: where it is, what it takes and what decides that."""

    program: str
    name: str
    strategy: str
    us: float
    least_us: float
    rule: str
    limit: str

    @property
    def times(self):
        """How often the least it takes."""
        return self.us / self.least_us

    def __str__(self):
        shares = f"{self.us:,.1f} | {self.least_us:,.1f} | {self.rule} | {self.times:.1f}"
        return f"| `{self.program}` | {self.name} | {self.strategy} | {shares} | {self.limit} |"


def rows_of(program, text):
    """The rows of the kernels of a program."""
    module = compiler.parse(text)
    compiler.settle_elided(module, 1)
    decisions = compiler.decide(module, "nvptx", compiler.CompileOptions(arch=newest_for(90))).to_json()
    for kernel in decisions["kernels"]:
        launches = [launch for launch in kernel["modelled"].values() if "time_ns" in launch]
        if launches:
            least, rule = kernel["on"].split(" by a model, ")[1].rstrip(")").split(" at least (")
            name = f"`{kernel['instruction'].split('/')[-1]}`, {kernel['kind']}"
            us, least_us = kernel["cost_ns"] / 1e3, float(least.replace(",", "")) / 1e3
            limit = max(launches, key=lambda launch: launch["time_ns"])["limit"]
            yield Row(program, name, kernel["strategy"], us, least_us, rule, limit)


def main(paths):
    """Print the table of the kernels of these files, the worst first."""
    rows = [row for path in map(Path, paths) for row in rows_of(path.stem, path.read_text(encoding="utf-8"))]
    rows.sort(key=lambda row: -row.times)
    count = f"{len(rows)} kernels, {sum(row.times > 3 for row in rows)} above 3 times the least"
    lines = [count, "", HEAD, "|---" * (HEAD.count("|") - 1) + "|", *(row for row in rows if row.times >= FACTOR)]
    sys.stdout.write("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main(sys.argv[1:])
