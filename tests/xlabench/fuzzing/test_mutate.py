"""Campaigns of changed programs: right engines have no findings, a planted bug is found and its change is named."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from compiler import ParseError
from xlabench.bundles import bundle
from xlabench.commands.mutate import command
from xlabench.errors import BenchError
from xlabench.fuzzing import campaign, corpus
from xlabench.fuzzing.config import Config
from xlabench.fuzzing.mutate import Mutated

HERE = Path(__file__).resolve().parents[1]
SMOKE = HERE.parents[1] / "suites" / "smoke"
CONFIG = Config(("right",), count=40, max_probes=0, factory="broken_engines:engine", timeout_s=60)
PROGRAM = """
HloModule small
ENTRY main {
  x = f32[6,5] parameter(0)
  y = f32[5,4] parameter(1)
  z = f32[6,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[6,4] sine(z)
  ROOT r = f32[6,4] add(s, z)
}
"""


@pytest.fixture(autouse=True)
def _findable_engines(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH", "")])))


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "small.hlo"
    path.write_text(PROGRAM)
    return path


def run(config, folder, *paths, most=4):
    source = Mutated(corpus.find([str(path) for path in paths], ()), most)
    return campaign.run(config, source, folder, observe=lambda *_: None)


@pytest.mark.slow
def test_a_right_engine_has_no_findings(tmp_path, program):
    summary = run(CONFIG, tmp_path / "campaign", program, SMOKE / "fma_reduce_1k.hlo")
    assert summary["findings"] == []
    assert summary["verdicts"] == {"right bitwise": 40}
    assert summary["coverage"]["reached"] > 20


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["drops", "falls"])
def test_a_finding_names_the_change_that_brings_it_about(tmp_path, program, engine):
    summary = run(replace(CONFIG, engines=(engine,), count=40), tmp_path / "campaign", program, most=6)
    assert summary["findings"]
    for finding in summary["findings"]:
        assert finding["note"].partition("the last ")[2].split()[0] in ("reverse-pair", "in-another-view")
        assert finding["note"] in bundle.load(tmp_path / "campaign" / finding["bundle"]).message


@pytest.mark.slow
def test_the_reference_is_held_to_every_bit(tmp_path, program):
    config = replace(CONFIG, engines=("reference:off",), count=60)
    found = run(config, tmp_path / "campaign", program)["findings"]
    assert {finding["verdict"] for finding in found} == {"wrong"}


@pytest.mark.slow
def test_a_campaign_is_resumed_and_no_other_is_taken_for_it(tmp_path, program):
    whole = run(CONFIG, tmp_path / "whole", program)
    run(replace(CONFIG, count=20), tmp_path / "parts", program)
    resumed = run(CONFIG, tmp_path / "parts", program)
    assert resumed["coverage"] == whole["coverage"]
    with pytest.raises(BenchError, match="another campaign"):
        run(CONFIG, tmp_path / "parts", SMOKE / "matmul_64.hlo")


@pytest.mark.slow
def test_what_the_reference_does_not_evaluate_is_left_out(tmp_path, program):
    other = tmp_path / "other.hlo"
    other.write_text('ENTRY main { x = f32[2] parameter(0) ROOT y = f32[2] custom-call(x), custom_call_target="far" }')
    assert "far" in run(replace(CONFIG, count=20), tmp_path / "c", program, other)["coverage"]["skipped"]["other.hlo"]
    with pytest.raises(BenchError, match=r"no program of the corpus; other\.hlo"):
        run(CONFIG, tmp_path / "d", other)


def test_a_corpus_is_files_folders_and_suites(tmp_path, program):
    names = [entry.name for entry in corpus.find([str(tmp_path), "smoke", str(program)], ("nvptx:sim,opt=0",))]
    assert names.count("small.hlo") == 1
    assert "softmax_1k.sim.hlo" in names
    (tmp_path / "empty").mkdir()
    with pytest.raises(BenchError, match=r"there is no program in it"):
        corpus.find([str(tmp_path / "empty")], ())


@pytest.mark.slow
def test_what_cannot_be_read_of_a_folder_is_left_out(tmp_path, program):
    (tmp_path / "more" / "closed.hlo").mkdir(parents=True)
    (tmp_path / "more" / program.name).write_text("HloModule ?")
    skipped = run(replace(CONFIG, count=20), tmp_path / "c", tmp_path)["coverage"]["skipped"]
    assert skipped.keys() == {str(tmp_path / "more" / program.name), "closed.hlo"}
    assert "expected" in skipped[str(tmp_path / "more" / program.name)]
    with pytest.raises(ParseError):
        corpus.find([str(tmp_path / "more" / program.name)], ())


def test_a_folder_that_one_may_not_look_into_is_said(tmp_path, program, monkeypatch):
    def denied(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", denied)  # the user who runs tests may be allowed everything
    with pytest.raises(BenchError, match="cannot be looked into: Permission denied"):
        corpus.find([str(tmp_path)], ())
    with pytest.raises(BenchError, match="cannot be looked into: File name too long"):
        corpus.find(["x" * 300], ())


@pytest.mark.slow
def test_the_command_leaves_a_summary_and_a_page(tmp_path, program):
    arguments = [
        str(program),
        "--out",
        str(tmp_path / "c"),
        "--count",
        "20",
        "--json",
        "--engines",
        "reference cpu:opt=0",
    ]
    done = CliRunner().invoke(command, arguments)
    summary = json.loads(done.stdout)
    assert done.exit_code == 0, summary["findings"]
    assert summary["config"]["most_changes"] == 6
    page = (tmp_path / "c" / "index.html").read_text()
    assert "mutating 1 programs" in page
    assert "$" not in page
