"""A command is asked by how it ends; one that cannot be asked is said."""

import numpy as np
import pytest

import compiler
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.script import Script, script
from xlabench.errors import BenchError

CASE = Case(compiler.parse("ENTRY e { ROOT x = f32[] parameter(0) }"), (np.float32(0),))


def test_a_line_is_taken_apart_as_a_shell_does():
    assert script("run 'a b' c", 3.0) == Script(("run", "a b", "c"), 3.0)


@pytest.mark.parametrize(("text", "message"), [("", "is no command"), ("  ", "is no command"), ("a 'b", "quote it")])
def test_what_is_no_command_is_refused(text, message):
    with pytest.raises(BenchError, match=message):
        script(text, 1.0)


@pytest.mark.parametrize(("words", "status"), [("true", 0), ("false", 1), ("grep -q parameter", 0)])
def test_a_command_is_given_the_program_and_tells_by_its_status(words, status, tmp_path):
    assert script(words, 60.0).status(CASE, tmp_path / "m.hlo") == status


def test_one_that_is_not_there_is_said(tmp_path):
    with pytest.raises(BenchError, match=r"'\./gone': cannot be run: No such file"):
        script("./gone", 60.0).status(CASE, tmp_path / "m.hlo")
