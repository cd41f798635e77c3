"""Configs of tfcompile, as files have them."""

import pytest

from compiler.aot.config import Feed, Fetch, Variable
from compiler.aot.files import parse_config, read_config
from compiler.diagnostics import InputError
from compiler.graph import BY_NAME, PartialShape

TEXT = """
feed { id { node_name: "x" output_index: 2 } shape { dim { size: 3 } } name: "given" type: DT_FLOAT }
feed { id { node_name: "y" } shape { unknown_rank: true } }
fetch { id { node_name: "z" } name: "got" }
variable { node_name: "v" readonly: true }
"""


def test_every_field_of_a_config_is_read():
    config = parse_config(TEXT, "f")
    assert config.feeds == (
        Feed("x:2", "given", PartialShape((3,)), BY_NAME["float32"]),
        Feed("y:0", "", PartialShape(None), None),
    )
    assert config.fetches == (Fetch("z:0", "got"),)
    assert config.variables == (Variable("v", is_constant=True),)


def test_a_file_is_its_text(tmp_path):
    path = tmp_path / "c.pbtxt"
    path.write_text(TEXT)
    assert read_config(path) == parse_config(TEXT, "f")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('feed { id { node_name: "x" } shape { dim { size: -3 } } } fetch { id { node_name: "z" } }', "feed 'x:0'"),
        ("fed { }", "f:1:1"),
    ],
)
def test_what_makes_no_sense_is_placed(text, said):
    with pytest.raises(InputError, match=said):
        parse_config(text, "f")
