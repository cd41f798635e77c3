"""The catalogue of planted bugs as such; `tox -e mutants` looks for every one of them."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def mutants(monkeypatch):
    """Where the catalogue is, for this process and others."""
    folder = Path(__file__).parents[1] / "xlabench"
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.syspath_prepend(folder)


@pytest.fixture
def catalogue(mutants):
    return importlib.import_module("mutants").ALL


def test_there_are_enough_of_all_kinds(catalogue):
    stages = [mutant.blamed.partition("/")[0] for mutant in catalogue.values()]
    assert len(catalogue) >= 60
    assert {"pass", "kernel", "program", "llvm"} <= set(stages)


def test_every_change_of_the_text_finds_its_place(mutants):
    for patch in importlib.import_module("planted_text").PATCHES.values():
        compile(patch.changed(), patch.where, "exec")


@pytest.mark.slow
def test_every_damage_finds_what_it_damages(mutants):
    program = "import mutants\nfor mutant in mutants.MUTANTS.values(): mutant.plant()"
    subprocess.run([sys.executable, "-c", program], check=True)
