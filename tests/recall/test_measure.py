"""A mutant is found by a campaign, or known from a program on record, or neither, each in a process of its own."""

import ast
import json
import os
import subprocess
import sys

import pytest
from recall import blamed, campaigns, planting, record
from recall.measure import name_of
from recall.record import ROOT
from recall.sites import Site, named
from searching.search import support_of

from xlabench.commands.fuzz import ENGINES

PERMUTED = "(first[d] for d in second)"
TRANSPOSED = """ENTRY main { x = f32[2,3,4] parameter(0) t = f32[3,4,2] transpose(x), dimensions={1,2,0}
  ROOT r = f32[3,2,4] transpose(t), dimensions={0,2,1} }"""
ADDED = "ENTRY main { x = f32[4] parameter(0) ROOT r = f32[4] add(x, x) }"


def site_of(file, rule, old):
    """The site of a rule in a file at which something stands."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return next(site for site, edit in named(tree, file) if site.rule == rule and ast.unparse(edit.old) == old)


@pytest.fixture(scope="module")
def site():
    """Where one transpose takes the place of two, with the permutations composed the other way around."""
    return site_of("compiler/passes/data_movement_simplification.py", "inverse-permutation", PERMUTED)


def taken(step, site, out, *given):
    """The row that a step leaves."""
    stored = out / f"{name_of(site)}.json"
    environment = planting.environment(site, os.environ)
    environment["PYTHONPATH"] = os.pathsep.join([environment["PYTHONPATH"], str(ROOT)])
    command = [sys.executable, "-P", "-m", "recall.measure", step, str(out), *given]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(stored.read_text(encoding="utf-8"))


@pytest.fixture
def out(tmp_path):
    """A folder that knows what engines do not support: nothing, as far as this is about."""
    (tmp_path / ".support").mkdir()
    name = f"ratchet-{'+'.join(ENGINES).translate(str.maketrans(':,=', '---'))}.json"
    (tmp_path / ".support" / name).write_text('{"banned": [], "fatal": []}', encoding="utf-8")
    assert support_of(" ".join(ENGINES), tmp_path, "ratchet") == {"banned": [], "fatal": []}
    return tmp_path


@pytest.mark.slow
def test_a_campaign_finds_a_mutant(out):
    every_difference = site_of("compiler/codegen/scalar/rules.py", "emitted-operation", "'fsub'")
    row = taken("search", every_difference, out, "90", "0", "ratchet", "77")
    assert row["found"]
    assert row["found_in_limit"]
    assert row["reached"] is None  # it is run as the module is loaded
    assert row["verdict"] == "wrong", row["message"]
    assert row["genuine_bugs_on_the_way"] == 0


@pytest.mark.slow
def test_a_mutant_with_which_nothing_works_is_stillborn(out):
    endless = site_of("compiler/backends/cpu/program.py", "skip-call", "builder.ret()")
    row = taken("search", endless, out, "60", "0", "ratchet", "77")
    assert row["stillborn"] in (f"{spec} is right on no small program" for spec in ENGINES[:2])
    assert "found" not in row


@pytest.mark.slow
@pytest.mark.parametrize(("text", "verdict"), [(TRANSPOSED, "wrong"), (ADDED, None)])
def test_a_program_on_record_shows_a_mutant_or_does_not(monkeypatch, out, site, text, verdict):
    made = [record.np.arange(24, dtype="f4").reshape(2, 3, 4)] if text is TRANSPOSED else [record.np.ones(4, "f4")]
    monkeypatch.setattr(record, "programs", lambda: [("it", text, made)])
    record.keep(out / ".record", ENGINES[:1])
    (out / f"{name_of(site)}.json").write_text('{"found": false}', encoding="utf-8")
    row = taken("look-up", site, out)
    assert row["found"] is False
    assert row["moved"] is None
    shown_by = {"program": "it", "engine": ENGINES[0], "verdict": verdict}
    assert row["changed"] == (shown_by if verdict else None)


def test_programs_that_never_call_the_mutated_function_are_not_run(site):
    assert record.function_of(ROOT, site).startswith(f"{site.file}:")
    outside = site_of("xlabench/judging/wrongness.py", "wrong-constant", "64")
    assert record.function_of(ROOT, outside) == ""


@pytest.mark.parametrize(
    ("file", "cause", "right"),
    [
        ("compiler/passes/cse.py", "pass/cse/merge", True),
        ("compiler/passes/cse.py", "pass/dce", False),
        ("compiler/passes/cse.py", "kernel/add", False),
        ("compiler/expansion/wiring.py", "pass/device-expander/all_reduce", True),
        ("compiler/codegen/access.py", "kernel/add", True),
        ("compiler/ops/sorting.py", "kernel/sort", False),
        ("compiler/ops/sorting.py", "judge/sort", True),
        ("compiler/expansion/sized.py", "reference/ValueError in sized.py:_fitted", True),
        ("compiler/expansion/sized.py", "reference/ValueError in outsized.py:_fitted", False),
        ("compiler/ops/sorting.py", 'Traceback\n  File "/somewhere/compiler/ops/sorting.py", line 3', True),
    ],
)
def test_who_is_to_blame_follows_from_the_file(file, cause, right):
    assert blamed.is_right(ROOT, Site(file, 1, "boundary", 0), cause) is right


def test_tests_of_a_file_are_those_that_mirror_it_or_its_folder():
    names = [[path.name for path in campaigns.mirrored(f"compiler/passes/{name}.py")] for name in ("cse", "dce")]
    assert names == [["test_cse.py", "cse"], ["dce"]]
    assert [path.name for path in campaigns.mirrored("compiler/wide/sums.py")] == ["test_sums.py"]
    assert [path.name for path in campaigns.mirrored("compiler/codegen/windows.py")] == ["codegen"]
    of_users = [path.name for path in campaigns.mirrored("compiler/expansion/wiring.py")]
    assert {"test_device_expander.py", "device-expander"} <= set(of_users)
