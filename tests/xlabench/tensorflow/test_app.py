import sys

import pytest

from xlabench.tensorflow import app, flags


@pytest.fixture
def values(monkeypatch):
    made = flags.FlagValues()
    monkeypatch.setattr(flags, "FLAGS", made)
    return made


def test_flags_are_read_when_one_is_asked_for(values, monkeypatch):
    flags.DEFINE_string("name", "x", "")
    flags.DEFINE_integer("count", 1, "")
    flags.DEFINE_float("rate", 0.5, "")
    flags.DEFINE_boolean("quick", default=False)
    flags.DEFINE_bool("slow", default=True)
    flags.DEFINE_list("words", "a,b", "")
    flags.DEFINE_enum("kind", "one", ["one", "two"], "")
    given = ["prog", "--name=y", "--count", "3", "-quick", "--noslow", "--kind=two", "left"]
    monkeypatch.setattr(sys, "argv", given)
    assert (values.name, values.count, values.rate, values.quick, values.slow) == ("y", 3, 0.5, True, False)
    assert (values.words, values.kind) == (["a", "b"], "two")
    values.name = "z"
    assert values.flag_values_dict()["name"] == "z"
    assert values(["prog", "--", "--count"]) == ["prog", "--count"]


@pytest.mark.parametrize(
    ("argument", "error"),
    [
        ("--nothing", flags.UnrecognizedFlagError),
        ("--count=x", flags.IllegalFlagValueError),
        ("--quick=perhaps", flags.IllegalFlagValueError),
        ("--count", flags.Error),
    ],
)
def test_flags_that_make_no_sense_are_errors(values, argument, error):
    flags.DEFINE_integer("count", 1)
    flags.DEFINE_boolean("quick", default=False)
    with pytest.raises(error):
        values(["prog", argument])
    with pytest.raises(AttributeError):
        _ = values.nothing


def test_a_program_ends_with_what_its_main_gives(values):
    flags.DEFINE_integer("count", 1)
    seen = []
    with pytest.raises(SystemExit) as stop:
        app.run(main=lambda argv: seen.append(argv) or 3, argv=["prog", "--count=2", "left"])
    assert stop.value.code == 3
    assert seen == [["prog", "left"]]
    assert values.count == 2
