"""Flags of XLA's: those that it knows are told from those that nobody knows."""

import re

import pytest

from compiler import environment_options
from compiler.xla_flags import XLA_FLAGS


def test_flags_are_spelled_as_on_a_command_line_and_once():
    assert {flag for flag in XLA_FLAGS if not re.fullmatch(r"--xla_[a-z0-9_]+", flag)} == set()
    assert {flag for flag in XLA_FLAGS if flag.startswith("--xla_xla_")} == set()


@pytest.mark.parametrize("flag", ["--xla_gpu_ftz", "--xla_cpu_use_acl", "--xla_gpu_autotune_level"])
def test_a_flag_that_xla_knows_is_said_to_be_xlas(flag):
    (known,) = environment_options({"XLA_FLAGS": f"{flag}=1"}).notes
    (unknown,) = environment_options({"XLA_FLAGS": f"{flag}x=1"}).notes
    assert known.replace(flag, "") != unknown.replace(f"{flag}x", "")
    assert flag in known
