"""Lines of text in sessions: made of tensors, and written where the node says."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

raw_ops = tf.raw_ops
pytestmark = pytest.mark.usefixtures("graph")


def printed(template="x={} of {}", **attributes):
    x = tf.constant(np.array([1, 2.5], np.float32))
    line = raw_ops.StringFormat(inputs=[x, tf.shape(x)], template=template, placeholder="{}", summarize=3)
    return raw_ops.PrintV2(input=line, **attributes)


@pytest.mark.parametrize(("stream", "is_out"), [("stdout", True), ("stderr", False), ("log(warning)", False)])
def test_a_line_goes_where_the_node_says(capsys, stream, is_out):
    with tf.Session() as session:
        session.run(printed(output_stream=stream, end=";"))
    found = capsys.readouterr()
    assert (found.out, found.err) == (("x=[1 2.5] of [2];", "") if is_out else ("", "x=[1 2.5] of [2];"))


def test_lines_are_added_to_a_file(tmp_path):
    written = printed(output_stream=f"file://{tmp_path / 'log'}")
    with tf.Session() as session:
        session.run(written)
        session.run(written)
    assert (tmp_path / "log").read_text() == "x=[1 2.5] of [2]\n" * 2


@pytest.mark.parametrize(
    ("attributes", "said"),
    [({"template": "{}"}, "must match: 1 vs. 2"), ({"output_stream": "paper"}, "Unknown output stream: paper")],
)
def test_what_makes_no_sense_is_refused(attributes, said):
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=said):
        session.run(printed(**attributes))
