"""`verify`: every finding is listed, for people and for programs."""

import json

import pytest
from click.testing import CliRunner

from compiler.__main__ import cli
from compiler.commands.ending import BAD_INPUT

ADD = "ENTRY main {\n  x = f32[3] parameter(0)\n  y = f32[3] parameter(1)\n  ROOT s = f32[3] add(x, y)\n}\n"
WRONG = "ENTRY main {\n  x = f32[3] parameter(0)\n  a = f32[4] negate(x)\n  ROOT b = s32[3] abs(x)\n}\n"


def call(*arguments, text=ADD):
    return CliRunner(catch_exceptions=False).invoke(cli, [str(a) for a in arguments], input=text)


def test_verify_lists_every_finding_and_ends_with_2():
    result = call("verify", "-", text=WRONG)
    assert result.exit_code == BAD_INPUT
    assert len(result.stdout.splitlines()) == 2
    assert call("verify", "-").stdout == "-: valid\n"


def _object(*arguments, text=ADD):
    """What a call prints with --json, and its exit code: one object alone, of numbers that JSON has."""
    done = call(*arguments, "--json", text=text)
    return json.loads(done.stdout, parse_constant=pytest.fail), done.exit_code


def test_findings_are_the_same_ones():
    told, code = _object("verify", "-", text=WRONG)
    assert (told["valid"], code) == (False, BAD_INPUT)
    written = [f"{one['where']}: {one['message']} [{one['rule']}]" for one in told["findings"]]
    assert written == call("verify", "-", text=WRONG).stdout.splitlines()
