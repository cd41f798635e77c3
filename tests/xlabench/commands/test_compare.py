"""`compare` on the command line."""

import pytest
from click.testing import CliRunner

from xlabench.cli import cli


def _run(*arguments):
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.mark.parametrize("arguments", [["gone"], ["gone", "gone"], [".", "gone"]])
def test_what_cannot_be_compared_because_it_is_not_there_is_said(arguments):
    done = _run("compare", *arguments)
    assert done.exit_code == 2
    if arguments[0] == "gone":
        assert "gone: cannot be read: No such file or directory; give a folder of `xlabench nightly`" in done.stderr
