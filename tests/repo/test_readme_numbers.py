"""The README's numbers are those of the records that are kept, and of the bars that benchmarks hold."""

from __future__ import annotations

import ast
import json
import re
import statistics
from pathlib import Path

import pytest

from reports.summary import summarise

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = README[README.index("<!-- performance table: begin -->") : README.index("<!-- performance table: end -->")]
WORDS = " ".join(BLOCK.split())
RECORDS = ROOT / "reports" / "measured" / "2026-11-23-cpu-over-xla" / "results.json"
MEDIANS = json.loads(
    (ROOT / "reports" / "measured" / "2026-11-26-over-xla" / "medians.json").read_text(encoding="utf-8")
)

BARS = {
    "NEVER_SLOWER": ("test_corpus.py", "every program at least {:g} times as fast as XLA's"),
    "MEAN_OVER_XLA": ("test_corpus.py", "and {:g} times in the geometric mean"),
    "OURS_OVER_XLA": ("test_compile.py", "in at most {:g} of XLA's time in the geometric mean"),
    "LONGEST_S": ("test_compile.py", "and {:g} s at most"),
    "WARM_OVER_COLD": ("test_compile.py", "in at most {:g} of the time of compiling it"),
    "MOST_OVERHEAD": ("test_fuzz_rate.py", "in at most {:g} of a fuzzing worker's time"),
}
"""Constants of benchmarks, and what the README says of them."""


def constants(name: str) -> dict[str, object]:
    """The literals that a benchmark gives names to."""
    found: dict[str, object] = {}
    for node in ast.parse((ROOT / "tests" / "bench" / name).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            pairs = zip(target.elts, value.elts, strict=True) if isinstance(target, ast.Tuple) else [(target, value)]
            found |= {t.id: v.value for t, v in pairs if isinstance(t, ast.Name) and isinstance(v, ast.Constant)}
    return found


@pytest.mark.parametrize("name", BARS)
def test_a_bar_is_the_benchmarks(name: str) -> None:
    file, said = BARS[name]
    assert said.format(constants(file)[name]) in WORDS


@pytest.mark.parametrize(
    ("bar", "said"), [("1e-6", "addition in 1 us"), ("0.3", "`xlabench --help` in 0.3 s")], ids=["call", "help"]
)
def test_what_calls_cost_is_the_benchmarks(bar: str, said: str) -> None:
    assert said in WORDS
    assert re.search(rf"\b{bar}\b", (ROOT / "tests" / "bench" / "test_overheads.py").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", MEDIANS["rows"], ids=lambda row: row["words"])
def test_a_row_of_the_table_is_what_was_recorded(row: dict[str, object]) -> None:
    """A row has how much longer XLA takes for each program, by medians, in seconds of both."""
    ratios = {name: xla / ours for name, (ours, xla) in row["seconds"].items()}
    mean, least = statistics.geometric_mean(ratios.values()), min(ratios, key=lambda name: ratios[name])
    slower = sum(ratio < 1 for ratio in ratios.values())
    cells = [row["words"], len(ratios), f"{mean:.2f}", f"{ratios[least]:.2f} `{least}`", slower]
    assert f"| {' | '.join(map(str, cells))} |" in BLOCK


@pytest.mark.slow
def test_the_chart_is_said_as_it_was_recorded() -> None:
    found = summarise(json.loads(RECORDS.read_text(encoding="utf-8")))
    timed = {program.name: program.speedup for program in found.programs if program.speedup}
    mean, least = found.geometric_mean, min(timed, key=lambda name: timed[name].estimate)
    assert mean is not None
    assert f"its {len(found.programs)} programs {len(timed)} are in the chart" in WORDS
    assert all(f"`{program.name}`" in WORDS for program in found.programs if not program.speedup)
    assert f"Geometric mean {mean.estimate:.2f} ({mean.low:.2f} to {mean.high:.2f})" in WORDS
    said = f"the least, {timed[least].estimate:.2f} ({timed[least].low:.2f} at worst), is of `{least}`"
    assert said in WORDS


def test_no_other_number_is_claimed_beside_them() -> None:
    """A figure that nothing measures again goes stale unseen."""
    rest = " ".join(line for line in BLOCK.splitlines() if not line.startswith("|"))
    for known in (
        r"jaxlib \d+\.\d+\.\d+",
        r"AVX-512",
        r"\]\([^)]*\)",
        r"`[^`]*`",
        r"Geometric mean [^;]*;",
        r"beyond 1x",
    ):
        rest = re.sub(known, "", rest)
    figures = re.findall(r"\d+(?:\.\d+)?", rest)
    assert set(figures) <= {"65", "64", "1.10", "1.03", "0.95", "2.5", "1.25", "3", "0.25", "1", "0.3"}


def test_planted_bugs_are_counted_as_they_were_found() -> None:
    stored = ROOT / "reports" / "measured" / "2026-11-23-mutants" / "mutants.json"
    found = json.loads(stored.read_text(encoding="utf-8"))["summary"]
    words = " ".join((ROOT / "xlabench" / "README.md").read_text(encoding="utf-8").split())
    assert found["blamed_rightly"] == found["found"]
    assert f"Of {found['of']}, {found['found']} were found" in words
    assert f"all of them blamed on the right step and {found['one_bundle']} in one bundle" in words
    assert f"(median) and {found['most_instructions']} at most" in words
