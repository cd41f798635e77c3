"""A program's digest names all that it is made of, and the reference runs each file once."""

import pytest

from xlabench.cases.subject import Subject, by_variant, digest_of
from xlabench.cases.suite import SuiteProgram, Variant

PROGRAM = "ENTRY e { x = f32[2] parameter(0)  ROOT y = f32[2] negate(x) }"


@pytest.fixture
def program(suite_folder):
    (suite_folder / "one.hlo").write_text(PROGRAM)
    (suite_folder / "one.sim.hlo").write_text(PROGRAM)
    cut = Variant(suite_folder / "one.sim.hlo", "smaller")
    return SuiteProgram("one", suite_folder / "one.hlo", {"nvptx:sim": cut})


def test_engines_are_grouped_by_the_file_that_they_run(program):
    groups = by_variant(program, ["cpu", "reference", "nvptx:sim"])
    assert [engines for _, engines in groups] == [["cpu", "reference"], ["nvptx:sim"]]
    assert groups[1][0].path.name == "one.sim.hlo"


def test_the_digest_changes_with_any_file_of_the_case(program, suite_folder):
    first = digest_of(program, ["cpu"])
    assert digest_of(program, ["reference"]) == first
    assert digest_of(program, ["nvptx:sim"]) != first
    (suite_folder / "one.hlo").write_text(PROGRAM + "\n")
    assert digest_of(program, ["cpu"]) != first


def test_without_a_recipe_inputs_follow_from_the_parameters(program):
    subject = Subject.load(program.variant("cpu"), seed=3)
    assert [one.shape for one in subject.inputs] == [(2,)]
    again = Subject.load(program.variant("cpu"), seed=3)
    assert [one.tobytes() for one in subject.inputs] == [one.tobytes() for one in again.inputs]
