import pytest

import xlabench.tensorflow as tf


def test_what_is_so_in_any_case_may_be_said():
    tf.disable_v2_behavior()
    tf.disable_eager_execution()
    assert not tf.executing_eagerly()
    with pytest.raises(NotImplementedError, match="build a graph and run it in a session"):
        tf.enable_eager_execution()


def test_a_program_may_log(caplog):
    tf.logging.set_verbosity(tf.logging.INFO)
    for say in (tf.logging.debug, tf.logging.info, tf.logging.warn, tf.logging.error):
        say("step %d", 3)
    assert [one.levelname for one in caplog.records] == ["INFO", "WARNING", "ERROR"]
    tf.logging.set_verbosity(tf.logging.FATAL)
    assert tf.logging.DEBUG < tf.logging.WARN < tf.logging.ERROR
