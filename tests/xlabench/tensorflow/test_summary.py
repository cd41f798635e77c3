"""Events files: what ops give is what TensorFlow's give, byte for byte, and the files are what it reads."""

import struct
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

import xlabench.tensorflow as tf
from compiler.graph.checksum import crc32c, masked

pytest.importorskip("google.protobuf")
pytestmark = pytest.mark.usefixtures("graph")
SCALAR = b"\n\x0b\n\x04loss\x15\x00\x00\x00@"
HISTOGRAM = (
    b"\n\xb0\x01\n\nlayer/my_w*\xa1\x01\t\x00\x00\x00\x00\x00\x00\xf0\xbf\x11\x00\x00\x00\x00\x00\x00\x08@\x19"
    b"\x00\x00\x00\x00\x00\x00\x10@!\x00\x00\x00\x00\x00\x00\x00@)\x00\x00\x00\x00\x00\x00$@28+\x14\xfa\xcd\xbe$"
    b"\xf0\xbf\x08\x99i\x19\x15Z\xed\xbf\x00\x00\x00\x00\x00\x00\x00\x00\x11\xea-\x81\x99\x97q=h\xbc\x105\x9a\x07"
    b"\x07@\r\x9c\xc5\xa0)U\t@\xff\xff\xff\xff\xff\xff\xef\x7f:8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    b"\x00\xf0?\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00@\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    b"\x00\x00\x00\x00\xf0?\x00\x00\x00\x00\x00\x00\x00\x00"
)
"""What TensorFlow 2.21 gives for the graph of `both`."""


def both() -> list[tf.Tensor]:
    one = tf.summary.scalar("loss", tf.constant(2.0))
    with tf.name_scope("layer"):
        other = tf.summary.histogram("my w", tf.constant([-1.0, 0.0, 0.0, 3.0]))
    return [one, other, tf.summary.merge_all()]


def run(fetches):
    with tf.Session() as session:
        return session.run(fetches)


def test_summaries_are_those_of_tensorflow():
    made = both()
    assert [one.op.name for one in made] == ["loss", "layer/my_w", "Merge/MergeSummary"]
    assert run(made) == [SCALAR, HISTOGRAM, SCALAR + HISTOGRAM]


def test_a_histogram_of_nothing_is_one_empty_bucket():
    made = tf.Summary.FromString(run(tf.summary.histogram("none", tf.zeros([0]))))
    [value] = made.value
    assert (value.histo.num, list(value.histo.bucket)) == (0, [0])


@pytest.mark.parametrize(("value", "said"), [(np.nan, "Nan in"), (np.inf, "Infinity in"), (-np.inf, "Infinity in")])
def test_a_histogram_of_what_is_not_finite_is_refused(value, said):
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{said} summary histogram for: h"):
        run(tf.summary.histogram("h", tf.constant([1.0, value])))


def test_a_tag_stands_once():
    one = tf.summary.scalar("a", 1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Duplicate tag a found"):
        run(tf.summary.merge([one, one]))


def test_there_may_be_nothing_to_merge():
    assert tf.summary.merge_all() is None
    assert tf.summary.scalar("a", 1.0, collections=["mine"]) in tf.get_collection("mine")
    assert tf.summary.merge_all() is None


IMAGES = {
    "in put": (np.linspace(-1, 3, 12).reshape(2, 2, 3, 1).astype(np.float32), 1),
    "two": (np.array([0, 1, 2, np.nan, 4, 5, np.inf, 7, 8, 9, 10, 11], np.float32).reshape(2, 2, 1, 3), 3),
    "u8": (np.arange(16, dtype=np.uint8).reshape(1, 2, 2, 4), 3),
    "z": (np.array([0, 1e-7, -1e-7, 0], np.float16).reshape(1, 2, 2, 1), 3),
}
PIXELS = {
    "in_put/image": [1, 47, 93, 139, 185, 231],
    "two/image/0": [0, 127, 255, 255, 0, 0],
    "two/image/1": [255, 0, 0, 208, 231, 255],
    "u8/image/0": list(range(16)),
    "z/image/0": [128] * 4,
}
"""What TensorFlow 2.21 gives for `IMAGES`."""


def test_images_are_those_of_tensorflow():
    made = tf.Summary.FromString(
        run(tf.summary.merge([tf.summary.image(name, *given) for name, given in IMAGES.items()]))
    )
    found = {one.tag: np.asarray(Image.open(BytesIO(one.image.encoded_image_string))) for one in made.value}
    assert {tag: image.reshape(-1).tolist() for tag, image in found.items()} == PIXELS
    assert [(one.image.height, one.image.width, one.image.colorspace) for one in made.value][:2] == [
        (2, 3, 1),
        (2, 1, 3),
    ]


@pytest.mark.parametrize("shape", [(1, 2, 2, 2), (2, 2, 1)])
def test_what_is_no_image_is_refused(shape):
    with pytest.raises(tf.errors.InvalidArgumentError, match="4-D with last dim 1, 3, or 4"):
        run(tf.summary.image("q", np.zeros(shape, np.float32)))


def records(data: bytes) -> list[bytes]:
    """The records of a file, their checksums seen to be right."""
    found, at = [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        head, body = data[at : at + 8], data[at + 12 : at + 12 + length]
        assert struct.unpack_from("<I", data, at + 8)[0] == masked(crc32c(head))
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked(crc32c(body))
        found.append(body)
        at += 16 + length
    return found


def test_a_file_holds_events(tmp_path):
    made = both()
    with tf.summary.FileWriter(tmp_path / "log", tf.get_default_graph()) as writer:
        writer.add_summary(run(made[2]), 7)
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="own", simple_value=0.5)]), 8)
        assert writer.get_logdir() == str(tmp_path / "log")
        metadata = tf.RunMetadata()
        with tf.Session() as session:
            session.run(made[0], options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
        writer.add_run_metadata(metadata, "step", 9)
        with pytest.raises(ValueError, match="already used"):
            writer.add_run_metadata(metadata, "step")
    writer.reopen()
    writer.add_summary(SCALAR)
    writer.close()
    [path] = (tmp_path / "log").iterdir()
    assert path.name.startswith("events.out.tfevents.")
    events = [tf.Event.FromString(one) for one in records(path.read_bytes())]
    assert events[0].file_version == "brain.Event:2"
    assert b"my_w" in events[1].graph_def
    traced = events.pop(4)
    assert (traced.step, traced.tagged_run_metadata.tag) == (9, "step")
    assert b"ScalarSummary(loss/tags, Const)" in traced.tagged_run_metadata.run_metadata
    assert [(one.step, [value.tag for value in one.summary.value]) for one in events[2:]] == [
        (7, ["loss", "layer/my_w"]),
        (8, ["own"]),
        (0, ["loss"]),
    ]


@pytest.mark.parametrize("name", ["audio", "text", "tensor_summary", "nothing"])
def test_what_is_not_there_is_said(name):
    with pytest.raises(AttributeError, match=rf"tf\.summary\.{name}: .* not"):
        getattr(tf.summary, name)
