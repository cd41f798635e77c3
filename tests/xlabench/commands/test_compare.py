"""`compare` on the command line."""

import pytest
from one_program import run_command


@pytest.mark.parametrize("arguments", [["gone"], ["gone", "gone"], [".", "gone"]])
def test_what_cannot_be_compared_because_it_is_not_there_is_said(arguments):
    done = run_command("compare", *arguments)
    assert done.exit_code == 2
    if arguments[0] == "gone":
        assert "gone: cannot be read: No such file or directory; give a folder of `xlabench nightly`" in done.stderr
