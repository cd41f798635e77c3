"""What came of mutants is told apart, counted by folder, and listed where there is something to be learnt."""

import json

import pytest
from recall import table
from recall.sites import Site

SITES = [Site("compiler/ops/sorting.py", line, "boundary", 0) for line in range(1, 7)]
SEARCHED = {"programs": 40, "cpu_s": 3.0, "reached": 1200, "found_in_limit": False, "found": False}
MET = {"program": "sorts", "engine": "cpu:opt=0", "verdict": "wrong"}
FOUND = {"found": True, "found_in_limit": True, "verdict": "wrong"}
REDUCED = {"blamed": "kernel/sort", "right": False, "bundles": 1}
WHAT = {
    "found": [
        SEARCHED | FOUND | REDUCED | {"instructions": 3},
        SEARCHED | FOUND | REDUCED | {"found_in_limit": False},
    ],
    "missed": [SEARCHED | {"changed": MET, "moved": None}],
    "moved": [SEARCHED | {"changed": None, "moved": MET | {"verdict": "within"}}],
    "open": [SEARCHED | {"changed": None, "moved": None, "tests": "tests/test_sorting.py::test_ties"}],
    "pending": [],
    "stillborn": [{"stillborn": "NameError"}],
}
ROWS = [row for rows in WHAT.values() for row in rows]


@pytest.fixture
def folder(tmp_path):
    for site, row in zip(SITES, ROWS, strict=True):
        about = {"site": str(site), "folder": site.folder, "old": "a < b", "new": "a <= b"}
        (tmp_path / f"{site.line}.json").write_text(json.dumps(about | row), encoding="utf-8")
    return tmp_path


def written(folder, drawn=SITES):
    asked = {"seed": 5, "count": 6, "limit": 120.0, "longer": 2400.0, "profile": "ratchet", "jobs": 2}
    return table.write(folder, drawn, asked)


def test_what_was_not_looked_up_is_pending():
    assert table.kind(SEARCHED) == "pending"


@pytest.mark.parametrize("kind", [kind for kind, rows in WHAT.items() if rows])
def test_kinds_are_told_apart(kind):
    assert {table.kind(row) for row in WHAT[kind]} == {kind}


def test_a_mutant_counts_if_it_makes_results_wrong(folder):
    said = written(folder)
    assert (said["mutants"], said["counted"], said["found"], said["found_in_limit"]) == (6, 3, 2, 1)
    assert (said["share_in_limit"], said["share"]) == (0.33, 0.67)
    assert (said["triaged"], said["blamed_rightly"], said["one_bundle"], said["median_instructions"]) == (2, 0, 2, 3)


def test_the_table_names_seed_folders_and_all_that_is_not_found(folder):
    written(folder)
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert "Seed 5 draws 6 mutants" in text
    assert "| `compiler/ops` | 6 | 1 | 0 | 3 | 1 | 2 | 0.67 | 0.4 | 0 of 2 | 2 of 2 | 3 |" in text
    assert "- `compiler/ops/sorting.py:3:boundary:0`: `a < b` becomes `a <= b`; run 1,200 times in 40 programs;" in text
    assert "`sorts` on cpu:opt=0: wrong" in text
    assert "the test tests/test_sorting.py::test_ties fails" in text
    assert "(NameError)" in text


def test_figures_are_there_as_json_and_only_of_the_sample(folder):
    written(folder, SITES[:2])
    stored = json.loads((folder / "recall.json").read_text(encoding="utf-8"))
    assert stored["asked"] == {"seed": 5, "count": 6, "limit": 120.0, "longer": 2400.0, "profile": "ratchet"}
    assert stored["summary"] == stored["folders"]["compiler/ops"]
    assert [row["site"] for row in stored["rows"]] == list(map(str, SITES[:2]))
    assert stored["folders"]["compiler/wide"]["share"] is None


@pytest.mark.parametrize("kind", [kind for kind, rows in WHAT.items() if rows])
def test_a_mutant_is_a_line(kind):
    row = WHAT[kind][0]
    said = table.line({"site": str(SITES[0]), "old": "a", "new": "b"} | row)
    assert said.startswith(f"{table.kind(row)}  {SITES[0]}  a -> b")
    assert "\n" not in said
