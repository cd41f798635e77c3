"""Events are read as they were written; a file that is cut off ends before, one that is damaged is said."""

import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def path(tmp_path):
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        for step in range(3):
            written = tf.Summary()
            written.value.add(tag="loss", simple_value=step / 2)
            writer.add_summary(written, step)
    [found] = tmp_path.iterdir()
    return found


def values(path):
    return [
        (event.step, one.simple_value) for event in tf.train.summary_iterator(str(path)) for one in event.summary.value
    ]


def test_events_are_those_that_were_written(path):
    assert values(path) == [(0, 0.0), (1, 0.5), (2, 1.0)]
    assert next(tf.train.summary_iterator(path)).file_version == "brain.Event:2"


def test_a_last_event_that_is_not_whole_is_left_out(path):
    path.write_bytes(path.read_bytes()[:-1])
    assert values(path) == [(0, 0.0), (1, 0.5)]


def test_a_damaged_event_is_said(path):
    data = bytearray(path.read_bytes())
    data[-6] ^= 1
    path.write_bytes(data)
    with pytest.raises(tf.errors.DataLossError, match="corrupted record at"):
        values(path)
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        values(path.parent / "other")
