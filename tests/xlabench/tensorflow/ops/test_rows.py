"""A row names an op that has a record, and arguments that the op has."""

import pytest

from compiler.tf import RECORDS
from xlabench.tensorflow.ops.generated import arguments_of
from xlabench.tensorflow.ops.rows import ROWS, names, rows


@pytest.mark.parametrize("name", rows())
def test_a_row_is_of_an_op_and_of_its_inputs_and_attributes(name):
    op, word, text = rows()[name]
    signature = RECORDS[op].signature
    ports = {port.name for port in signature.inputs}
    assert word
    for argument in arguments_of(RECORDS[op], text):
        assert argument.port in ports | set(signature.attributes) | {"name"}
    assert ports <= {argument.port for argument in arguments_of(RECORDS[op], text)}


def test_no_name_stands_twice():
    written = [
        name for line in ROWS.strip().replace("\n ", " ").splitlines() for name in line.partition(" = ")[0].split()
    ]
    assert len(written) == len(set(written)) == len(names())
