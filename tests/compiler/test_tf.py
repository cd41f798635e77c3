"""What the front door has for TensorFlow: every name that is promised, and no other."""

from types import ModuleType

from compiler import tf


def test_every_promised_name_is_there_and_no_other():
    public = {
        name for name, value in vars(tf).items() if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert public == set(tf.__all__)


def test_names_stand_once():
    assert len(tf.__all__) == len(set(tf.__all__))
