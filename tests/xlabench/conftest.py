"""Planted bugs for tests that look into failures."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def unspoilt():
    """A process that no engine has spoilt, as a worker's is: broken ones run in that of the tests."""
    if "broken_engines" in sys.modules:
        sys.modules["broken_engines"].SPOILT_BY.clear()


@pytest.fixture
def mutants(monkeypatch):
    """The catalogue of planted bugs; worker processes find it as well, as the engine factories `mutants:NAME`."""
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    monkeypatch.syspath_prepend(HERE)
    return import_module("mutants").MUTANTS


@pytest.fixture
def dumping(monkeypatch):
    """Engines that leave files between their passes, as the engine factory `dumping_engines:engine`."""
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    monkeypatch.syspath_prepend(HERE)
    return import_module("dumping_engines")


@pytest.fixture(scope="module")
def fake_engines():
    """Scripted engines, which worker processes find as the engine factory `fake_engines:engine`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(HERE))
        yield


@pytest.fixture
def suite_folder(tmp_path):
    """A folder for the programs of a suite."""
    folder = tmp_path / "suite"
    folder.mkdir()
    return folder
