"""`bisect` on the command line: which pass, kernel or rewrite is to blame, and by which commands one sees it."""

import shlex

import pytest
from one_program import run_command

from xlabench import jobs
from xlabench.commands import progress


@pytest.fixture
def sliced(tmp_path, monkeypatch, mutants):
    """A program that a planted bug of CSE breaks."""
    monkeypatch.setattr(jobs, "ENGINES", "mutants:cse_slice")
    path = tmp_path / "sliced.hlo"
    path.write_text(mutants["cse_slice"].text)
    return path


@pytest.mark.slow
def test_bisect_prints_the_last_good_and_the_first_bad_command(sliced, monkeypatch):
    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    done = run_command("bisect", sliced)
    assert done.exit_code == 0, done.output
    assert "rewrite 2: merge with equal at main/b" in done.stdout
    assert "after cse (pass run" in done.stderr
    assert f"last good: xlabench run {sliced} --engine cpu:fuel=1\n" in done.stdout
    assert f"first bad: xlabench run {sliced} --engine cpu:fuel=2\n" in done.stdout


@pytest.mark.slow
def test_of_a_pass_that_no_engine_can_leave_out_the_modules_around_it_are_kept(tmp_path, monkeypatch, dumping):
    monkeypatch.setattr(jobs, "ENGINES", "dumping_engines:engine")
    path = tmp_path / "m.hlo"
    path.write_text(dumping.RIGHT)
    arguments = ["bisect", path, "--engine", "cpu:opt=0"]
    assert "--out DIR keeps both as bundles" in run_command(*arguments).stdout
    lines = run_command(*arguments, "--out", tmp_path / "out of it").stdout.splitlines()
    told = dict(line.split(": ", 1) for line in lines if line.startswith(("last good", "first bad")))
    codes = {name: run_command(*shlex.split(line)[1:]).exit_code for name, line in told.items()}
    assert codes == {"last good": 0, "first bad": 1}


@pytest.mark.slow
def test_the_commands_that_bisect_prints_are_those_of_a_shell_and_whole(sliced, tmp_path):
    file = tmp_path / "of mine" / "sliced.hlo"
    file.parent.mkdir()
    sliced.rename(file)
    given = ["--seed", "3", "--reference", "reference:wide"]
    lines = run_command("bisect", file, *given).stdout.splitlines()
    (line,) = [line for line in lines if line.startswith("last good: ")]
    assert shlex.split(line)[2:] == ["xlabench", "run", str(file), *given, "--engine", "cpu:fuel=1"]
