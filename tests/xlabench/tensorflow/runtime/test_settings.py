"""Devices are those whose engines the environment names, the host first."""

import pytest

from xlabench.tensorflow.runtime.settings import DEFAULTS, VARIABLE, devices


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch):
    for kind in DEFAULTS:
        monkeypatch.delenv(f"{VARIABLE}{kind}", raising=False)
    monkeypatch.delenv("TF_XLA_FLAGS", raising=False)


def found():
    return {one.device_type: (one.spec, one.cluster_spec) for one in devices().values()}


def test_without_anything_said_there_are_the_usual_ones():
    assert found() == {"CPU": ("cpu", "cpu"), "XLA_CPU": ("cpu", "cpu"), "XLA_GPU": ("nvptx:sim", "nvptx:sim")}
    assert next(iter(devices().values())).is_host


def test_a_variable_names_an_engine_or_takes_the_device_away(monkeypatch):
    monkeypatch.setenv(f"{VARIABLE}GPU", "nvptx:sim")
    monkeypatch.setenv(f"{VARIABLE}XLA_CPU", "reference")
    monkeypatch.setenv(f"{VARIABLE}XLA_GPU", "")
    assert found() == {
        "CPU": ("cpu", "reference"),
        "GPU": ("nvptx:sim", "nvptx:sim"),
        "XLA_CPU": ("reference", "reference"),
    }


def test_only_compiling_devices_compile_everything():
    assert {one.device_type for one in devices().values() if one.compiles} == {"XLA_CPU", "XLA_GPU"}
    assert all(name == one.name for name, one in devices().items())


def test_a_flag_takes_the_devices_away_that_compile_everything_and_no_others(monkeypatch):
    monkeypatch.setenv(f"{VARIABLE}GPU", "reference")
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_enable_xla_devices=false")
    assert found() == {"CPU": ("cpu", "cpu"), "GPU": ("reference", "reference")}
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_enable_xla_devices")
    assert list(found()) == ["CPU", "GPU", "XLA_CPU", "XLA_GPU"]
