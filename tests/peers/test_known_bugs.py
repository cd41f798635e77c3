"""The bundles of XLA's bugs: each still shows, or is fixed in the version that is installed; none is undecided."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from xlabench.commands.recheck import command

pytest.importorskip("jaxlib", reason="jaxlib is not installed")

FOLDER = Path(__file__).resolve().parents[2] / "suites" / "regressions" / "xla"


def test_every_bundle_is_decided_here():
    done = CliRunner().invoke(command, [str(FOLDER), "--json"])
    states = {entry["path"]: entry["state"] for entry in json.loads(done.stdout)["bundles"]}
    assert set(states) == {path.parent.name for path in FOLDER.glob("*/manifest.json")}
    assert set(states.values()) <= {"shows", "fixed"}
