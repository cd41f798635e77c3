"""Collections are called as programs spell them: TensorFlow's words, in small letters but for one."""

from xlabench.tensorflow.framework.keys import GraphKeys

KEYS = {name: value for name, value in vars(GraphKeys).items() if name.isupper()}
OTHERWISE = {"GLOBAL_VARIABLES": "variables"}


def test_a_key_is_its_name_in_small_letters():
    assert KEYS
    assert {name: value for name, value in KEYS.items() if value != name.lower()} == OTHERWISE


def test_only_an_older_name_means_what_another_does():
    assert {name for name, value in KEYS.items() if list(KEYS.values()).count(value) > 1} == {
        "GLOBAL_VARIABLES",
        "VARIABLES",
    }
