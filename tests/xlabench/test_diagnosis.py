"""Who looks into a failure is told the line of the user's source that it comes from; nothing where nothing is known."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import compiler
from xlabench import jobs
from xlabench.bundles import bundle
from xlabench.cases import inputs
from xlabench.cli import cli
from xlabench.diagnosis import blame
from xlabench.diagnosis.blame import Blame
from xlabench.fuzzing.case_failure import CaseFailure
from xlabench.fuzzing.findings import Findings

PROGRAM = """HloModule jit_step

FileNames
1 "model.py"

FunctionNames
1 "step"
2 "flipped"

FileLocations
1 {file_name_id=1 function_name_id=1 line=12}
2 {file_name_id=1 function_name_id=2 line=7}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}

flip {
  p = f32[6,10] parameter(0)
  ROOT rev = f32[6,10] reverse(p), dimensions={0}, metadata={op_name="rev"}
}

ENTRY main {
  w = f32[6,10] parameter(0), metadata={op_name="w"}
  t = f32[6,10] tanh(w), metadata={op_name="jit(step)/tanh" stack_frame_id=1}
  f = f32[6,10] call(t), to_apply=flip, metadata={op_name="jit(step)/jit(_flip)" stack_frame_id=2}
  n = f32[6,10] negate(f)
  ROOT r = f32[6,10] multiply(n, t), metadata={op_name="jit(step)/mul" source_file="other.py" source_line=3}
}
"""
LINE = "model.py:7 (flipped)"
KERNEL, PASS = "reverse_rows", "reverse_dropped"
"""Planted bugs: the machine code of reverse, and a pass that forgets one."""


def _run(*arguments):
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "m.hlo"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def without(tmp_path):
    """The same program, of which nothing says where it comes from."""
    path = tmp_path / "without.hlo"
    path.write_text(compiler.to_text(compiler.edit.plain(compiler.parse(PROGRAM)).module))
    return path


@pytest.mark.slow
def test_every_instruction_alone_is_listed_with_its_line(file, mutants, monkeypatch):
    monkeypatch.setattr(jobs, "ENGINES", f"mutants:{KERNEL}")
    assert KERNEL in mutants
    shown = _run("isolate", file)
    assert shown.exit_code == 1, shown.output
    rows = {line.split()[0]: line for line in shown.stdout.splitlines() if "main/" in line or "flip/" in line}
    assert rows["flip/rev"].rstrip().endswith(LINE)
    assert rows["main/t"].rstrip().endswith("model.py:12 (step)")
    assert rows["main/r"].rstrip().endswith("other.py:3")
    assert "bitwise" in rows["main/n"]
    assert ".py" not in rows["main/n"]
    assert f"the first that diverges: flip/rev, {LINE}: " in shown.stdout
    content = json.loads(_run("isolate", file, "--json").stdout)
    sources = {row["place"]: row.get("source") for row in content["instructions"]}
    assert sources == {"flip/rev": LINE, "main/t": "model.py:12 (step)", "main/n": None, "main/r": "other.py:3"}


@pytest.mark.slow
def test_where_nothing_is_known_nothing_is_shown(without):
    shown = _run("isolate", without, "--engine", "reference")
    assert "instruction" in shown.stdout
    assert "source" not in shown.stdout


@pytest.mark.slow
@pytest.mark.parametrize("planted", [KERNEL, PASS])
def test_the_line_of_the_guilty_instruction_is_named(file, mutants, monkeypatch, planted):
    monkeypatch.setattr(jobs, "ENGINES", f"mutants:{planted}")
    assert planted in mutants
    shown = _run("bisect", file)
    assert shown.exit_code == 0, shown.output
    assert f"\nsource: {LINE}\n" in shown.stdout
    assert json.loads(_run("bisect", file, "--json").stdout)["sources"] == [LINE]


@pytest.mark.slow
@pytest.mark.usefixtures("mutants")
def test_without_notes_the_guilty_instruction_has_no_line(without, monkeypatch):
    monkeypatch.setattr(jobs, "ENGINES", f"mutants:{PASS}")
    shown = _run("bisect", without)
    assert "rewrite " in shown.stdout
    assert "source: " not in shown.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("mutants")
def test_bundles_of_a_reduced_program_say_whence_it_came(file, tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "ENGINES", f"mutants:{PASS}")
    reduced = _run("reduce", file, "--out", tmp_path / "out", "--max-probes", 40)
    assert reduced.exit_code == 0, reduced.output
    assert bundle.load(tmp_path / "out").message.endswith(
        f"pass/data-movement-simplification/reverse_nothing from {LINE}"
    )


@pytest.mark.slow
@pytest.mark.usefixtures("mutants")
def test_findings_of_a_campaign_say_whence_the_program_came(tmp_path):
    module = compiler.parse(PROGRAM)
    arrays = inputs.generate(module, 1)
    expected = compiler.interpret(module, *arrays)
    raw = CaseFailure(
        3, "cpu", "wrong", "60 are wrong", "0", PROGRAM, arrays, expected, [np.zeros((6, 10), np.float32)], "seed 3"
    )
    findings = Findings(tmp_path / "findings", max_probes=20, factory=f"mutants:{PASS}")
    findings.add(raw)
    [found] = findings.all
    assert found.note == f"seed 3; from {LINE}"
    assert f"; from {LINE}" in bundle.load(tmp_path / "findings" / found.name).message


def test_where_a_rewrite_is_unnamed_the_lines_of_all_that_the_pass_changed_are():
    found = Blame("pass", "cse", "wrong", before=PROGRAM, after=PROGRAM.replace("tanh(w)", "negate(w)"))
    assert blame._changed(found, "") == ("model.py:12 (step)",)


def test_a_report_lists_a_few_of_many_lines():
    sources = tuple(f"a.py:{line}" for line in range(1, 8))
    assert Blame("pass", "p", "wrong", sources=sources).source == "a.py:1, a.py:2, a.py:3, a.py:4 and 3 more"
    assert Blame("pass", "p", "wrong", sources=sources[:4]).summary == "pass/p from a.py:1, a.py:2, a.py:3, a.py:4"
    assert Blame("pass", "p", "wrong").summary == "pass/p"
