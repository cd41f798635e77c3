import copy

import pytest

import xlabench.tensorflow as tf


def test_options_lie_in_messages_that_are_made_when_asked_for():
    config = tf.ConfigProto(allow_soft_placement=True, device_count={"GPU": 0})
    config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
    config.gpu_options.allow_growth = True
    assert config.graph_options.optimizer_options.global_jit_level == 1
    assert "optimizer_options {\n    global_jit_level: 1\n  }" in str(config)
    assert config.HasField("graph_options")
    assert not tf.ConfigProto().HasField("graph_options")


def test_messages_of_the_same_fields_are_the_same():
    one = tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0))
    other = tf.GraphOptions()
    other.CopyFrom(one)
    assert one == other == copy.deepcopy(one)
    other.optimizer_options.opt_level = tf.OptimizerOptions.L1
    assert one != other
    with pytest.raises(TypeError, match="must be instance of same class"):
        one.CopyFrom(tf.ConfigProto())


WRONG = {
    "a field that is set": (lambda config: setattr(config, "nothing", 1), AttributeError),
    "a field that is asked for": (lambda config: config.nothing, AttributeError),
    "a message that is replaced": (lambda config: setattr(config, "gpu_options", 1), AttributeError),
    "a value of another kind": (lambda config: setattr(config.gpu_options, "allow_growth", "yes"), TypeError),
    "a field that is given": (lambda _: tf.ConfigProto(nothing=1), ValueError),
    "no message": (lambda _: tf.GraphOptions(optimizer_options=1), TypeError),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_option_is_an_error(what):
    change, error = WRONG[what]
    with pytest.raises(error):
        change(tf.ConfigProto())


def test_a_session_takes_no_other_options():
    with pytest.raises(TypeError, match=r"must be a tf\.ConfigProto, but got 'dict'"):
        tf.Session(config={})
    with pytest.raises(NotImplementedError, match="sessions of other processes"):
        tf.Session("grpc://host")
