"""What a campaign runs is one value, of plain data, that says what each of its fields means."""

import json
from dataclasses import asdict, fields
from pkgutil import resolve_name

from xlabench.fuzzing.config import Config


def test_every_field_is_told_of():
    assert Config.__doc__
    told = Config.__doc__.partition("Attributes:")[2]
    assert [line.strip().partition(":")[0] for line in told.splitlines() if line.strip()] == [
        field.name for field in fields(Config)
    ]


def test_it_is_stored_with_the_summary_as_it_is():
    config = Config(("cpu", "nvptx:sim"), seed=3, budget_s=1.5)
    stored = json.loads(json.dumps(asdict(config)))
    assert Config(**stored | {"engines": tuple(stored["engines"])}) == config


def test_without_more_engines_are_ours_and_there_is_no_end():
    config = Config(("reference",))
    assert (config.count, config.budget_s) == (None, None)
    assert resolve_name(config.factory)("reference").spec == "reference"
