"""Checkpoints: every type of tensor, and what is said of those that cannot be read."""

import graphs
import numpy as np
import pytest
from checkpoints import write_checkpoint

import compiler
from compiler.graph.types import of_element_type
from compiler.varint import varint

pytest.importorskip("google.protobuf", reason="protobuf is not installed")

from compiler.graph.bundle import Bundle
from compiler.graph.messages import CLASSES

ONE = {"w": (1, np.arange(6, dtype=np.float32).reshape(2, 3))}


def test_tensors_of_every_type_are_read(tmp_path):
    arrays = {
        f"{element_type}/{number}": (of_element_type(element_type).number, array)
        for element_type in graphs.element_types()
        for number, array in enumerate(graphs.arrays(element_type))
    }
    write_checkpoint(tmp_path / "v", arrays, CLASSES)
    bundle = Bundle(tmp_path / "v")
    assert list(bundle) == sorted(arrays)
    for key, (number, array) in arrays.items():
        read = bundle.array(key)
        assert (read.dtype, read.shape, read.tobytes()) == (array.dtype, array.shape, array.tobytes())
        assert (bundle.type(key).number, bundle.dims(key)) == (number, array.shape)


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"offset": 1}, compiler.InputError, "it ends at byte 25 of .*, which has 24"),
        ({"offset": -1}, compiler.InputError, "it ends at byte"),
        ({"size": 23}, compiler.InputError, r"\[2, 3\] of float32 take 24 bytes, not 23"),
        ({"shard_id": 7}, compiler.InputError, "data-00007-of-00001: cannot be read"),
        ({"dtype": 7}, compiler.UnsupportedError, "of string .* its elements are no numbers"),
        ({"dtype": 99}, compiler.UnsupportedError, "of type 99"),
    ],
)
def test_what_cannot_be_read_is_said_with_the_tensor(tmp_path, changes, error, said):
    write_checkpoint(tmp_path / "v", ONE, CLASSES, **changes)
    with pytest.raises(error, match=f"v.index, tensor 'w'.*{said}"):
        Bundle(tmp_path / "v").array("w")


def test_sizes_that_are_not_known_and_slices_are_refused(tmp_path):
    for kind, said in (("shape", "not all known"), ("slices", "stored in 1 slices")):
        entry = CLASSES["BundleEntryProto"](dtype=1, size=4)
        if kind == "shape":
            entry.shape.dim.add(size=-1)
        else:
            entry.slices.add()
        write_checkpoint(tmp_path / kind, ONE, CLASSES)
        bundle = Bundle(tmp_path / kind)
        bundle._entries["w"] = entry
        with pytest.raises(compiler.CompilerError, match=said):
            bundle.array("w")


def test_numbers_with_the_highest_byte_first_are_refused(tmp_path):
    write_checkpoint(tmp_path / "v", ONE, CLASSES, endianness=1)
    with pytest.raises(compiler.UnsupportedError, match="highest byte first"):
        Bundle(tmp_path / "v")


def test_a_key_that_is_not_there_is_said(tmp_path):
    write_checkpoint(tmp_path / "v", ONE, CLASSES)
    with pytest.raises(compiler.InputError, match="no tensor 'q'"):
        Bundle(tmp_path / "v").array("q")


def test_a_table_that_holds_other_things_is_refused(tmp_path):
    write_checkpoint(tmp_path / "v", ONE, {**CLASSES, "BundleEntryProto": CLASSES["BundleEntryProto"]})
    from_file = (tmp_path / "v.index").read_bytes()
    (tmp_path / "v.index").write_bytes(from_file[:-3])
    with pytest.raises(compiler.InputError, match="no table: at byte"):
        Bundle(tmp_path / "v")


TEXTS = [b"", b"word", b"x" * 200]


def stored(lengths, texts=TEXTS, behind=b""):
    """Strings as TensorFlow stores them, and what may be wrong about it."""
    encoded = b"".join(map(varint, lengths)) + bytes(4) + b"".join(texts) + behind
    return np.frombuffer(encoded, np.uint8)


def test_strings_are_read(tmp_path):
    write_checkpoint(tmp_path / "v", {"w": (7, stored(map(len, TEXTS)))}, CLASSES, shape=[3])
    assert Bundle(tmp_path / "v").texts("w").tolist() == TEXTS


@pytest.mark.parametrize(
    ("data", "dims", "said"),
    [
        (stored(map(len, TEXTS), behind=b"x"), [3], "its strings end at byte"),
        (stored([1 << 40, 0, 0]), [3], "its strings end at byte"),
        (np.full(3, 255, np.uint8), [3], "the bytes end in the middle of a number"),
        (stored(map(len, TEXTS)), [1 << 40], "of string do not fit into"),
    ],
    ids=range(4),
)
def test_strings_that_do_not_fit_are_refused(tmp_path, data, dims, said):
    write_checkpoint(tmp_path / "v", {"w": (7, data)}, CLASSES, shape=dims)
    with pytest.raises(compiler.InputError, match=said):
        Bundle(tmp_path / "v").texts("w")
