"""`isolate` on the command line: every instruction on the values that it really gets."""

import json

import pytest
from one_program import run_command

from xlabench import jobs
from xlabench.commands import progress


@pytest.mark.slow
def test_isolate_lists_every_instruction(file, monkeypatch):
    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    assert "3/3" in run_command("isolate", file).stderr
    done = run_command("isolate", file, "--json")
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert (done.exit_code, report["first"]) == (0, None)
    assert [row["opcode"] for row in report["instructions"]] == ["tanh", "negate", "add"]


@pytest.mark.slow
def test_isolate_without_values_of_the_reference_cannot_decide(file):
    done = run_command("isolate", file, "--timeout", 1e-6)
    assert done.exit_code == 125, done.output
    assert "the reference gave no values" in done.stderr


@pytest.mark.slow
def test_isolate_of_what_the_engine_does_not_do_cannot_decide(file, monkeypatch, mutants):
    monkeypatch.setattr(jobs, "ENGINES", "fake_engines:refusing")
    done = run_command("isolate", file)
    assert done.exit_code == 125, done.output
    assert "none of 3 instructions could be judged" in done.stdout


def test_an_engine_of_graphs_has_no_instructions(file):
    done = run_command("isolate", file, "--engine", "clusters:on=cpu")
    assert done.exit_code == 2
    assert "runs graphs, and isolate runs instructions: give --engine cpu, or ask bisect" in done.stderr
