"""Where it is asked for, `tensorflow` is ours, under its modules' names too; what is not there says what to do."""

import importlib
import sys

import pytest

import xlabench.tensorflow as ours
from xlabench.tensorflow import importing


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    kept = dict(sys.modules)
    importing.install()
    importing.install()
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "tensorflow"]:
        del sys.modules[name]
    sys.modules.update(kept)


@pytest.mark.usefixtures("installed")
def test_a_module_is_ours_under_both_names():
    assert importlib.import_module("tensorflow") is ours
    assert importlib.import_module("tensorflow.python.client.timeline").__name__.startswith("xlabench.")
    assert importlib.import_module("tensorflow.python.client.device_lib").list_local_devices()
    assert importlib.import_module("tensorflow.nn").relu is ours.nn.relu
    assert sum(isinstance(one, importing.Finder) for one in sys.meta_path) == 1


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("keras", "Keras is not there"),
        ("contrib.tensorboard.plugins", "projections are not written"),
        ("lite", "it is not there under"),
    ],
)
def test_what_is_not_there_is_said_with_what_to_do(name, said):
    with pytest.raises(ModuleNotFoundError, match=said):
        importlib.import_module(f"tensorflow.{name}")


@pytest.mark.usefixtures("installed")
def test_others_modules_are_left_alone():
    assert importing.Finder().find_spec("tensorflows", None) is None
